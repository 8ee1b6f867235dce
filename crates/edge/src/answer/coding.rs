//! Content codings: how a client asks for one, the ETag of a body in it, and the coded bytes.

use std::io::Write;

use axum::body::Bytes;
use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use flate2::Compression;
use flate2::write::GzEncoder;

use super::problem::Problem;
use crate::limit::budget::{Budget, Text};

/// Level of gzip, from 1 (fast) to 9 (small).
const GZIP_LEVEL: u32 = 5;
/// Level of Zstandard, from 1 (fast) to 22 (small).
const ZSTD_LEVEL: i32 = 3;

/// A content coding of responses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Coding {
    /// Zstandard, RFC 8878.
    Zstd,
    /// Gzip, RFC 1952.
    Gzip,
}

impl Coding {
    /// All codings, the preferred one of equals first.
    const ALL: [Self; 2] = [Self::Zstd, Self::Gzip];

    /// Name of the coding in headers.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Zstd => "zstd",
            Self::Gzip => "gzip",
        }
    }

    /// The coding that a client prefers to none.
    #[must_use]
    pub fn preferred(headers: &HeaderMap) -> Option<Self> {
        let accepted = Accepted::read(headers, header::ACCEPT_ENCODING);
        let identity = accepted.weight("identity").unwrap_or(0.0);
        let mut best = None;
        for coding in Self::ALL {
            let weight = accepted.weight_or_any(coding.name());
            if weight > 0.0 && weight >= identity && best.is_none_or(|(least, _)| weight > least) {
                best = Some((weight, coding));
            }
        }
        best.map(|(_, coding)| coding)
    }

    /// The ETag of the body in this coding; none for a weak one, which holds for every coding.
    pub fn tag(self, plain: &HeaderValue) -> Option<HeaderValue> {
        let digest = plain.to_str().ok()?.strip_prefix('"')?.strip_suffix('"')?;
        HeaderValue::from_str(&format!("\"{digest}-{}\"", self.name())).ok()
    }

    /// The ETag of the plain body, for that of the body in any coding.
    #[must_use]
    pub fn plain_tag(tag: &str) -> String {
        let suffixes = Self::ALL.map(|coding| format!("-{}\"", coding.name()));
        let plain = suffixes.iter().find_map(|suffix| tag.strip_suffix(suffix));
        plain.map_or_else(|| tag.to_owned(), |plain| format!("{plain}\""))
    }

    /// Compresses a text within the memory budget.
    pub fn compress(self, plain: &[u8], budget: &Budget) -> Result<Bytes, Problem> {
        let mut text = Text::new(budget)?;
        text.write_with(|text| match self {
            Self::Gzip => {
                let mut encoder = GzEncoder::new(text, Compression::new(GZIP_LEVEL));
                encoder.write_all(plain)?;
                encoder.finish().map(drop)
            }
            Self::Zstd => {
                let mut encoder = zstd::stream::write::Encoder::new(text, ZSTD_LEVEL)?;
                // A small body then takes a small window.
                encoder.set_pledged_src_size(Some(plain.len() as u64))?;
                encoder.include_contentsize(true)?;
                encoder.write_all(plain)?;
                encoder.finish().map(drop)
            }
        })?;
        text.finish()
    }
}

/// Values that a header of a client accepts, with their weights.
pub(super) struct Accepted<'a>(Vec<(&'a str, f32)>);

impl<'a> Accepted<'a> {
    /// The values of a header such as `Accept` or `Accept-Encoding`.
    pub(super) fn read(headers: &'a HeaderMap, name: HeaderName) -> Self {
        let lists = headers.get_all(name).into_iter();
        let lists = lists.filter_map(|value| value.to_str().ok());
        let value = |text: &'a str| {
            let mut parts = text.split(';').map(str::trim);
            let name = parts.next()?;
            let weight = parts.find_map(|part| {
                let (name, weight) = part.split_once('=')?;
                name.trim()
                    .eq_ignore_ascii_case("q")
                    .then_some(weight.trim())
            });
            Some((name, weight.map_or(Ok(1.0), str::parse).ok()?))
        };
        Self(
            lists
                .flat_map(|list| list.split(','))
                .filter_map(value)
                .collect(),
        )
    }

    /// The greatest weight of a value that is named.
    pub(super) fn weight(&self, name: &str) -> Option<f32> {
        let named = self.0.iter();
        let named = named.filter(|(accepted, _)| accepted.eq_ignore_ascii_case(name));
        named.map(|(_, weight)| *weight).reduce(f32::max)
    }

    fn weight_or_any(&self, name: &str) -> f32 {
        self.weight(name)
            .or_else(|| self.weight("*"))
            .unwrap_or(0.0)
    }
}

/// Size in bytes of the body that a 304 stands for.
#[derive(Debug, Clone, Copy)]
pub struct SizeOfBody(pub u64);

#[cfg(test)]
mod tests {
    use super::*;

    fn preferred(accept: &'static str) -> Option<Coding> {
        let value = HeaderValue::from_static(accept);
        Coding::preferred(&HeaderMap::from_iter([(header::ACCEPT_ENCODING, value)]))
    }

    #[test]
    fn the_coding_follows_the_weights_of_the_client() {
        use Coding::{Gzip, Zstd};
        for (accept, coding) in [
            ("gzip", Some(Gzip)),
            ("gzip, deflate, br, zstd", Some(Zstd)),
            ("GZIP;Q=0.5, zstd;q=0.4", Some(Gzip)),
            ("*", Some(Zstd)),
            ("*, zstd;q=0", Some(Gzip)),
            ("gzip;q=0", None),
            ("gzip;q=0.3, identity;q=0.8", None),
            ("identity", None),
            ("br, deflate", None),
            ("gzip;q=much", None),
            ("", None),
        ] {
            assert_eq!(preferred(accept), coding, "{accept}");
        }
        assert_eq!(Coding::preferred(&HeaderMap::new()), None);
    }

    #[test]
    fn every_coding_has_a_tag_of_its_own_that_leads_back_to_the_plain_one() {
        let plain = HeaderValue::from_static("\"abc-gz\"");
        for coding in Coding::ALL {
            let tag = coding.tag(&plain).unwrap();
            assert_ne!(tag, plain);
            assert_eq!(Coding::plain_tag(tag.to_str().unwrap()), "\"abc-gz\"");
        }
        assert_eq!(Coding::plain_tag("\"abc\""), "\"abc\"");
        assert_eq!(
            Coding::Gzip.tag(&HeaderValue::from_static("W/\"abc\"")),
            None
        );
    }

    #[test]
    fn compressed_bodies_are_counted_and_limited_by_the_budget() {
        let budget = Budget::new(1024 * 1024, 0);
        // Nothing repeats, so that nothing becomes smaller.
        let mut state = 1_u64;
        let noise = (0..2 * 1024 * 1024).map(|_| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (state >> 56) as u8
        });
        let noise: Vec<u8> = noise.collect();
        for coding in Coding::ALL {
            assert_eq!(coding.compress(&noise, &budget).unwrap_err().status, 503);
            let kept = coding.compress(&noise[..200_000], &budget).unwrap();
            assert!(budget.used().0 >= kept.len(), "{coding:?}");
            drop(kept);
            assert_eq!(budget.used().0, 0, "{coding:?}");
        }
    }
}

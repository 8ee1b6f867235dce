//! Several documents that are one snapshot of a catalog, such as the files of its sellers.

use jiff::Timestamp;

use super::entries::{CatalogError, CatalogFormat, Contents, read};
use super::united::Offers;
use unroof_base::input::cancel::CancelToken;
use unroof_base::input::json;
use unroof_price_sheet::history::UNKNOWN_START;

/// Separator of the documents of one body, as in a JSON text sequence (RFC 7464). No document has it: in JSON it is escaped.
pub const DOCUMENT_SEPARATOR: u8 = 0x1e;

/// Parses the documents of one catalog.
///
/// # Errors
/// One of them is not a catalog, they have several formats, or together they exceed a limit.
pub(crate) fn read_parts(
    text: impl AsRef<[u8]>,
    format: Option<CatalogFormat>,
    provider: Option<&str>,
    observed_at: Timestamp,
    wanted: &CancelToken,
) -> Result<Contents, CatalogError> {
    if !text.as_ref().contains(&DOCUMENT_SEPARATOR) {
        return read(text, format, provider, observed_at, wanted);
    }
    let parts = text.as_ref().split(|byte| *byte == DOCUMENT_SEPARATOR);
    let parts = parts.filter(|part| !part.trim_ascii().is_empty());
    let mut joined: Option<(Contents, Offers)> = None;
    let mut without_provider = None;
    for part in parts {
        let contents = match read(part, format, provider, observed_at, wanted) {
            Ok(contents) => contents,
            Err(error @ CatalogError::NoProvider(_)) => {
                without_provider = Some(error);
                continue;
            }
            Err(error) => return Err(error),
        };
        match &mut joined {
            None => {
                let seen = contents.seen();
                joined = Some((contents, seen));
            }
            Some((first, seen)) => first.join(contents, observed_at, seen)?,
        }
    }
    let (contents, _) = joined.ok_or(
        without_provider.unwrap_or_else(|| CatalogError::unrecognized("there is no document")),
    )?;
    Ok(contents)
}

/// Name of the format of a published catalog, of which several documents can be one snapshot; none for any other text.
#[must_use]
pub fn published_format(stated: Option<CatalogFormat>, text: &[u8]) -> Option<&'static str> {
    let recognised = || {
        let (document, _) = json::parse_catalog(text, &CancelToken::default()).ok()?;
        CatalogFormat::of(&document)
    };
    let format = stated.or_else(recognised)?;
    matches!(format, CatalogFormat::Published(_)).then(|| format.name())
}

impl Contents {
    /// The entries of each offer.
    fn seen(&self) -> Offers {
        let mut seen = Offers::new();
        for (place, one) in self.sheets.iter().enumerate() {
            let start = one.sheet.valid_from.unwrap_or(UNKNOWN_START);
            seen.entry((one.offer_id(), start)).or_default().add(place);
        }
        seen
    }

    /// Adds the contents of another document of the catalog.
    fn join(
        &mut self,
        other: Self,
        observed_at: Timestamp,
        seen: &mut Offers,
    ) -> Result<(), CatalogError> {
        if self.format.name() != other.format.name() {
            return Err(CatalogError::SeveralFormats(
                self.format.name(),
                other.format.name(),
            ));
        }
        self.entries += other.entries;
        self.refused.extend(other.refused);
        for one in other.sheets {
            self.add(one.entry, one.sheet, observed_at, seen)?;
        }
        self.take_out_contradicted();
        Ok(())
    }
}

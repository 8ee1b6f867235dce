//! Locates the prices of a model: in one entry, or in separate ones for short and long prompts.

use super::offer::TierName;
use super::{MARK, has_mark};
use unroof_base::input::cursor::Cursor;
use unroof_base::input::json::Json;

/// The price lists of a model: one for all prompts, or one up to and one beyond a length.
pub(super) struct Parts<'a> {
    pub(super) model: String,
    /// The lists in use; of two for the same prompts, the first.
    pub(super) used: Vec<Part<'a>>,
    /// Lists with another threshold than the largest one.
    pub(super) unused: Vec<Part<'a>>,
}

pub(super) struct Part<'a> {
    pub(super) name: String,
    /// Prompt length from which the prices apply, in tokens.
    pub(super) threshold: u32,
    /// Prefix of its field names under `unmapped`.
    pub(super) path: String,
    pub(super) cursor: Cursor<'a>,
}

impl<'a> Parts<'a> {
    /// Finds the lists in an entry, or in a whole file under the names of the model.
    pub(super) fn find(name: &str, cursor: &Cursor<'a>) -> Option<Self> {
        if has_mark(cursor.json) {
            let tier = TierName::parse(name);
            return Some(Self {
                model: tier.map_or(name, |tier| tier.model).to_owned(),
                used: vec![Part {
                    name: name.to_owned(),
                    threshold: tier.map_or(0, TierName::threshold),
                    path: String::new(),
                    cursor: cursor.clone(),
                }],
                unused: Vec::new(),
            });
        }
        let tiers = tiers_of(name, cursor.json);
        let longest = tiers.iter().map(|(_, tier)| tier.length).max();
        let plain = std::iter::once((name, 0, longest));
        let tiers = tiers
            .iter()
            .map(|(name, tier)| (*name, tier.threshold(), Some(tier.length)));
        let (mut used, mut unused) = (Vec::new(), Vec::new());
        for (name, threshold, length) in tiers.chain(plain) {
            let Some(cursor) = cursor.at(name) else {
                continue;
            };
            let parts = if length == longest {
                &mut used
            } else {
                &mut unused
            };
            parts.push(Part {
                name: name.to_owned(),
                threshold,
                path: format!("{name}/"),
                cursor,
            });
        }
        if used.is_empty() {
            return cursor.refuse(
                format!("the field `{MARK}` is missing"),
                "send the entry of Portkey's provider file unchanged, such as {\"pricing_config\": {…}}",
            );
        }
        Some(Self {
            model: name.to_owned(),
            used,
            unused,
        })
    }
}

/// The names in a file for ranges of a model's prompt lengths.
fn tiers_of<'f>(model: &str, file: &'f Json) -> Vec<(&'f str, TierName<'f>)> {
    let Json::Object(fields) = file else {
        return Vec::new();
    };
    let mut tiers = Vec::new();
    for (mark, _) in TierName::MARKS {
        let start = format!("{model}{mark}");
        let names = fields.starting_at(&start).map(|(name, _)| name);
        let names = names.take_while(|name| name.starts_with(&start));
        let read = names.filter_map(|name| Some((name, TierName::parse(name)?)));
        tiers.extend(read.filter(|(_, tier)| tier.model == model));
    }
    tiers
}

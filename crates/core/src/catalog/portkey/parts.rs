//! Where the prices of one model stand: in one entry, or in several for prompts up to and beyond a length.

use super::offer::TierName;
use super::{MARK, has_mark};
use crate::input::cursor::Cursor;
use crate::input::json::Json;

/// The lists of prices of one model: one for all prompts, or one for those up to and one for those beyond a length.
pub(super) struct Parts<'a> {
    pub(super) model: String,
    /// Of two that speak of the same prompts the first one counts.
    pub(super) used: Vec<Part<'a>>,
    /// What speaks of another length; the longest one counts.
    pub(super) unused: Vec<Part<'a>>,
}

pub(super) struct Part<'a> {
    pub(super) name: String,
    /// The prompt length from which on its prices hold.
    pub(super) threshold: u32,
    /// What stands before the names of its fields under `unmapped`.
    pub(super) path: String,
    pub(super) cursor: Cursor<'a>,
}

impl<'a> Parts<'a> {
    /// The entry itself, or in a file all that stands under the name of the model.
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
        let found = tiers.chain(plain).filter_map(|(name, threshold, length)| {
            let part = Part {
                name: name.to_owned(),
                threshold,
                path: format!("{name}/"),
                cursor: cursor.at(name)?,
            };
            Some((part, length == longest))
        });
        let (used, unused): (Vec<_>, Vec<_>) = found.partition(|(_, is_used)| *is_used);
        if used.is_empty() {
            cursor.fault(
                format!("the field `{MARK}` is missing"),
                "send the entry as it stands in Portkey's file of the provider, such as {\"pricing_config\": {…}}",
            );
            return None;
        }
        let parts =
            |found: Vec<(Part<'a>, bool)>| found.into_iter().map(|(part, _)| part).collect();
        Some(Self {
            model: name.to_owned(),
            used: parts(used),
            unused: parts(unused),
        })
    }
}

/// The names in a file that stand for prompts of some lengths of a model.
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

//! Names in messages: shortened, and the known ones that are similar.

/// Longest name of a provider, model, region and the like, in characters.
pub const LONGEST_NAME: usize = 255;

/// The text, or as much of it as a message needs.
#[must_use]
pub fn shortened(text: &str) -> String {
    if text.chars().count() <= 60 {
        text.to_owned()
    } else {
        text.chars().take(60).chain(['…']).collect()
    }
}

/// The hint "did you mean `x`?" if a known name is similar, and the known names.
#[must_use]
pub fn one_of_hint(text: &str, known: &[&str]) -> String {
    let nearest = nearest_names(text, known);
    let mut listed = known.to_vec();
    listed.sort_unstable();
    let list = listed.join(", ");
    match nearest.as_slice() {
        [] => format!("known here: {list}"),
        names => format!("did you mean {}? known here: {list}", quoted(names)),
    }
}

fn quoted(names: &[&str]) -> String {
    names
        .iter()
        .map(|name| format!("`{name}`"))
        .collect::<Vec<_>>()
        .join(" or ")
}

/// Similar known names, nearest first, three at most.
#[must_use]
pub fn nearest_names<'n>(text: &str, known: &[&'n str]) -> Vec<&'n str> {
    if text.chars().count() > LONGEST_NAME {
        return Vec::new();
    }
    let text = text.to_lowercase();
    let mut scored: Vec<(f64, &str)> = known
        .iter()
        .map(|name| (strsim::jaro_winkler(&text, &name.to_lowercase()), *name))
        .filter(|(score, _)| *score > 0.8)
        .collect();
    scored.sort_by(|left, right| right.0.total_cmp(&left.0).then(left.1.cmp(right.1)));
    scored.into_iter().take(3).map(|(_, name)| name).collect()
}

//! Keys of a catalog that occur twice in one object.

use super::Json;

/// Keys that occur twice with different values.
#[derive(Default)]
pub(super) struct Repeated {
    /// Place of the value being read.
    pub(super) path: Vec<String>,
    /// Places (RFC 6901) of the keys.
    pub(super) contradicted: Vec<String>,
}

impl Repeated {
    /// The entries, each key once; where two values differ, none.
    pub(super) fn settle(&mut self, mut entries: Vec<(Box<str>, Json)>) -> Vec<(Box<str>, Json)> {
        entries.sort_by(|left, right| left.0.cmp(&right.0));
        let mut kept: Vec<(Box<str>, Json)> = Vec::with_capacity(entries.len());
        let mut last_contradicted: Option<Box<str>> = None;
        for (name, value) in entries {
            if last_contradicted.as_ref() == Some(&name) {
                continue;
            }
            let is_equal = match kept.last() {
                Some((before, known)) if *before == name => Some(known.is_same_as(&value)),
                _ => None,
            };
            match is_equal {
                None => kept.push((name, value)),
                Some(true) => {}
                Some(false) => {
                    kept.pop();
                    let path = self.path.iter().map(String::as_str).chain([&*name]);
                    self.contradicted.push(pointer(path));
                    last_contradicted = Some(name);
                }
            }
        }
        kept
    }
}

/// Place in a document by keys (RFC 6901).
fn pointer<'a>(path: impl Iterator<Item = &'a str>) -> String {
    let escaped = path.map(|key| format!("/{}", key.replace('~', "~0").replace('/', "~1")));
    escaped.collect()
}

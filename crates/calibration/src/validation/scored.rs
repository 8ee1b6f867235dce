//! The fixed lists of models whose scores are compared, whatever models are added.

use std::sync::LazyLock;

use serde::Deserialize;

use unroof_roofline::reference::RecordSetting;

/// A row of `data/scored_models.csv`.
#[derive(Debug, Deserialize)]
struct Row {
    model: String,
    pooled_hosts: String,
    author_alone: String,
}

static ROWS: LazyLock<Vec<Row>> = LazyLock::new(|| {
    let text = include_str!("../../data/scored_models.csv");
    csv::Reader::from_reader(text.as_bytes())
        .deserialize()
        .map(|row| row.unwrap_or_else(|error| panic!("data/scored_models.csv: {error}")))
        .collect()
});

impl Row {
    fn lists(&self, setting: RecordSetting) -> bool {
        let mark = match setting {
            RecordSetting::AuthorAlone => &self.author_alone,
            _ => &self.pooled_hosts,
        };
        mark == "yes"
    }
}

/// The models whose scores are compared in a setting.
pub fn scored_models(setting: RecordSetting) -> impl Iterator<Item = &'static str> {
    let listed = ROWS.iter().filter(move |row| row.lists(setting));
    listed.map(|row| row.model.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lists_are_those_of_the_first_tables() {
        let number = |setting| scored_models(setting).count();
        assert_eq!(number(RecordSetting::PooledHosts), 77);
        assert_eq!(number(RecordSetting::AuthorAlone), 49);
        let all: Vec<&str> = scored_models(RecordSetting::PooledHosts).collect();
        assert!(scored_models(RecordSetting::AuthorAlone).all(|name| all.contains(&name)));
    }
}

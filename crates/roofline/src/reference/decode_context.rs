//! Mean contexts while decoding, from published traces and disclosures.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;

static FIT: LazyLock<DecodeContexts> = LazyLock::new(|| DecodeContexts::fit(decode_context_rows()));

embedded_tables! {
    /// Published traces and disclosures of what a service decodes.
    decode_context_rows: DecodeContextRow = "decode_contexts.csv";
}

/// Traffic of one service: the mean context of a generated token.
#[derive(Debug, Clone, Deserialize)]
pub struct DecodeContextRow {
    /// Provider that served it; the rows of one provider count as one.
    pub provider: String,
    /// Kind of traffic, such as conversations.
    pub traffic: String,
    /// Month of the measurement, as in ISO 8601.
    pub date: String,
    /// Mean length of a prompt, in tokens.
    pub mean_prompt_tokens: Option<f64>,
    /// Mean length of an answer, in tokens.
    pub mean_answer_tokens: Option<f64>,
    /// Mean over generated tokens of the tokens before them.
    pub mean_decode_context_tokens: f64,
    /// `trace` where it is computed from requests, else `reported` or `derived` from reported means.
    pub basis: String,
    /// Whether the traffic is sold, and the fit uses it.
    pub is_sold: bool,
    /// Source of the figures.
    pub source: String,
    /// Remarks on the row.
    pub note: String,
}

/// Normal distribution of log `L_mean` over providers.
#[derive(Debug, Clone, Copy)]
pub struct DecodeContexts {
    /// Mean of the logarithm.
    pub log_mean: f64,
    /// Standard deviation of the logarithm over providers.
    pub log_sd: f64,
}

impl DecodeContexts {
    fn fit(rows: &[DecodeContextRow]) -> Self {
        let mut providers: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
        for row in rows.iter().filter(|row| row.is_sold) {
            let log = row.mean_decode_context_tokens.ln();
            providers.entry(&row.provider).or_default().push(log);
        }
        let means: Vec<f64> = providers.values().map(|logs| mean(logs)).collect();
        let log_mean = mean(&means);
        let squares: f64 = means.iter().map(|log| (log - log_mean).powi(2)).sum();
        #[expect(clippy::cast_precision_loss, reason = "a handful of providers")]
        let log_sd = (squares / (means.len() as f64 - 1.0)).sqrt();
        Self { log_mean, log_sd }
    }
}

fn mean(logs: &[f64]) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "a handful of rows")]
    let count = logs.len() as f64;
    logs.iter().sum::<f64>() / count
}

/// The mean context of decoding over providers: the mean of each provider's rows, then their mean and spread.
#[must_use]
pub fn decode_contexts() -> DecodeContexts {
    *FIT
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_has_a_source_and_a_context_that_its_lengths_allow() {
        assert!(decode_context_rows().len() >= 8);
        for row in decode_context_rows() {
            assert!(!row.source.is_empty(), "{}", row.traffic);
            assert!(row.mean_decode_context_tokens > 0.0, "{}", row.traffic);
            assert!(["trace", "reported", "derived"].contains(&row.basis.as_str()));
        }
    }

    #[test]
    fn the_median_is_a_few_thousand_tokens_and_uncertain_by_a_factor_of_two_to_three() {
        let fitted = decode_contexts();
        let median = fitted.log_mean.exp();
        assert!((2_500.0..5_500.0).contains(&median), "{median}");
        assert!((0.7..1.2).contains(&fitted.log_sd), "{}", fitted.log_sd);
    }
}

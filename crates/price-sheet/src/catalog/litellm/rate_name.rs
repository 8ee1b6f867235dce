//! The names of token rates: `{meter}[_above_{1hr|12hr}][_above_{N}k_tokens][_{service tier}]`.

use crate::catalog::meter::Meter;
use crate::catalog::values::thousands;

const METERS: [(&str, Meter); 6] = [
    ("input_cost_per_token", Meter::Input),
    ("output_cost_per_token", Meter::Output),
    ("output_cost_per_reasoning_token", Meter::Reasoning),
    ("cache_read_input_token_cost", Meter::CacheRead),
    (
        "explicit_cache_read_input_token_cost",
        Meter::CacheReadExplicit,
    ),
    ("cache_creation_input_token_cost", WRITE),
];

/// A cache write without a lifetime in its name: 5 minutes at most providers, 30 minutes for `OpenAI` models.
pub(super) const WRITE: Meter = Meter::CacheWrite(None);

const SERVICE_TIERS: [(&str, &str); 7] = [
    ("", "standard"),
    ("_batches", "batch"),
    ("_flex", "flex"),
    ("_priority", "priority"),
    ("_balanced", "balanced"),
    ("_ultrafast", "ultrafast"),
    ("_decisions", "decisions"),
];

/// A parsed rate name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct RateName {
    /// Whether it applies off peak only, which the name does not say.
    pub(super) is_off_peak: bool,
    pub(super) service_tier: &'static str,
    pub(super) min_prompt_tokens: u32,
    pub(super) meter: Meter,
}

impl RateName {
    /// The cell of the rate.
    pub(super) fn cell(self) -> (&'static str, u32, bool) {
        (self.service_tier, self.min_prompt_tokens, self.is_off_peak)
    }

    /// Parses a name. None unless it follows the grammar to its end.
    pub(super) fn parse(name: &str) -> Option<Self> {
        let (meter, rest) = METERS
            .iter()
            .find_map(|(written, meter)| Some((*meter, name.strip_prefix(written)?)))?;
        let (meter, rest) = split_lifetime(meter, rest);
        let (min_prompt_tokens, rest) = split_threshold(rest)?;
        let (_, service_tier) = SERVICE_TIERS.iter().find(|(written, _)| *written == rest)?;
        Some(Self {
            is_off_peak: false,
            service_tier,
            min_prompt_tokens,
            meter,
        })
    }
}

fn split_lifetime(meter: Meter, rest: &str) -> (Meter, &str) {
    let lifetimes = [("_above_1hr", 3_600), ("_above_12hr", 43_200)];
    let stated = lifetimes.into_iter().find_map(|(written, lifetime_s)| {
        let rest = rest.strip_prefix(written)?;
        Some((Meter::CacheWrite(Some(lifetime_s)), rest))
    });
    stated.filter(|_| meter == WRITE).unwrap_or((meter, rest))
}

fn split_threshold(rest: &str) -> Option<(u32, &str)> {
    let Some(rest) = rest.strip_prefix("_above_") else {
        return Some((0, rest));
    };
    let rest_of_unit = rest.find("k_tokens")? + 1;
    let (length, rest) = rest.split_at(rest_of_unit);
    let tokens = thousands(length).filter(|_| !length.starts_with('0'))?;
    Some((tokens, rest.strip_prefix("_tokens")?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rate(meter: Meter, min_prompt_tokens: u32, service_tier: &'static str) -> RateName {
        RateName {
            is_off_peak: false,
            service_tier,
            min_prompt_tokens,
            meter,
        }
    }

    #[test]
    fn every_part_of_a_name_is_read() {
        let cases = [
            ("input_cost_per_token", rate(Meter::Input, 0, "standard")),
            (
                "output_cost_per_token_batches",
                rate(Meter::Output, 0, "batch"),
            ),
            (
                "output_cost_per_reasoning_token",
                rate(Meter::Reasoning, 0, "standard"),
            ),
            (
                "explicit_cache_read_input_token_cost",
                rate(Meter::CacheReadExplicit, 0, "standard"),
            ),
            (
                "cache_read_input_token_cost_above_272k_tokens_priority",
                rate(Meter::CacheRead, 272_000, "priority"),
            ),
            (
                "input_cost_per_token_above_7k_tokens",
                rate(Meter::Input, 7_000, "standard"),
            ),
            (
                "cache_creation_input_token_cost_above_1hr",
                rate(Meter::CacheWrite(Some(3_600)), 0, "standard"),
            ),
            (
                "cache_creation_input_token_cost_above_200k_tokens",
                rate(WRITE, 200_000, "standard"),
            ),
            (
                "cache_creation_input_token_cost_above_12hr_above_272k_tokens_ultrafast",
                rate(Meter::CacheWrite(Some(43_200)), 272_000, "ultrafast"),
            ),
        ];
        for (name, read) in cases {
            assert_eq!(RateName::parse(name), Some(read), "{name}");
        }
    }

    #[test]
    fn what_is_not_a_token_rate_is_left_alone() {
        let names = [
            "input_cost_per_token_cache_hit",
            "input_cost_per_audio_token",
            "input_cost_per_character_above_128k_tokens",
            "input_dbu_cost_per_token",
            "cache_read_input_audio_token_cost",
            "input_cost_per_token_above_1hr",
            "input_cost_per_token_batches_above_200k_tokens",
            "input_cost_per_token_above_200k_tokens_above_300k_tokens",
            "input_cost_per_token_above_0k_tokens",
            "input_cost_per_token_above_0200k_tokens",
            "input_cost_per_token_above_k_tokens",
            "input_cost_per_token_above_2147484k_tokens",
            "input_cost_per_token_above_99999999999k_tokens",
            "input_cost_per_token_",
            "xinput_cost_per_token",
            "",
        ];
        for name in names {
            assert_eq!(RateName::parse(name), None, "{name}");
        }
    }
}

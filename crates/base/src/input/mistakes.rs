//! Usual mistakes and their meaning: the hints of faults name the correction.

/// Names of fields in other formats: the field that is meant here, and what else differs.
const OTHER_NAMES: [(&str, &str, &str); 20] = [
    ("cache_creation", "cache_write", ""),
    ("cache_creation_input_token_cost", "cache_write", PER_TOKEN),
    ("cache_hit", "cache_read", ""),
    ("cache_read_input_token_cost", "cache_read", PER_TOKEN),
    ("cached", "cache_read", ""),
    ("cached_input", "cache_read", ""),
    ("cached_input_price", "cache_read", ""),
    ("cached_prompt", "cache_read", ""),
    ("completion", "output", OPENROUTER),
    ("completion_price", "output", ""),
    ("input_cache_read", "cache_read", OPENROUTER),
    ("input_cache_write", "cache_write", OPENROUTER),
    ("input_cost_per_token", "input", PER_TOKEN),
    ("input_price", "input", ""),
    ("output_cost_per_token", "output", PER_TOKEN),
    ("output_price", "output", ""),
    ("prompt", "input", OPENROUTER),
    ("prompt_price", "input", ""),
    ("context_window", "limits", ": {\"context\": tokens}"),
    ("prices", "rates", ""),
];

/// Names that fields of requests had before one name was chosen for each thing, and the new ones.
type Renamed = &'static [(&'static str, &'static str)];

/// Renamed fields whose object has the new one.
const RENAMED: Renamed = &[
    ("accelerators", "chips"),
    ("accepted_tokens_per_pass", "accepted_tokens_per_step"),
    ("cache_read_explicit_tokens", "explicit_cached_input_tokens"),
    ("cache_read_tokens", "cached_input_tokens"),
    ("cached_prompt_share", "cache_hit_rate"),
    ("cached_prompt_tokens", "cached_input_tokens"),
    ("cluster", "machine"),
    ("demand", "load"),
    ("expert_parallel_gpus", "expert_parallel_chips"),
    ("gpus", "chips"),
    ("gpus_per_stage", "chips_per_stage"),
    ("hardware", "machine"),
    ("hbm_bytes", "capacity_bytes"),
    ("hbm_bytes_per_second", "bandwidth_bytes_per_second"),
    ("kv_bytes_per_token", "kv_bytes_per_token_stored"),
    ("operating_point", "load"),
    ("prompt_tokens", "input_tokens"),
    ("provider_tokens_per_second", "tokens_per_second"),
    ("scale_up_domain", "domain_size"),
    ("traffic", "load"),
];

/// Fields that moved or mean a part of another one, by a field of the object that had them.
const MOVED: [(&str, Renamed); 7] = [
    (
        "kv_bytes_per_token_stored",
        &[
            ("active_experts", "experts.active"),
            ("context_tokens", "load.context_tokens"),
            ("experts_over_active", "quality.experts_over_active"),
            ("moe_layers", "experts.layers"),
            (
                "weight_bytes_per_parameter",
                "precision.weight_bytes_per_parameter",
            ),
            ("kv_bytes_per_element", "precision.kv_bytes_per_element"),
        ],
    ),
    (
        "mean_context_tokens",
        &[
            ("cached_input", "cached_input_tokens"),
            ("input", "input_tokens"),
            ("output", "output_tokens"),
        ],
    ),
    (
        "cached_input_tokens",
        &[
            ("fresh_input_tokens", "input_tokens"),
            ("uncached_input_tokens", "input_tokens"),
        ],
    ),
    (
        "user_activity",
        &[
            ("lifetime_days", "service.lifetime_days"),
            ("model_share", "service.model_share"),
            ("served_probability", "service.served_probability"),
        ],
    ),
    (
        "scale_out_bytes_per_second",
        &[
            ("name", "accelerator"),
            ("prefill_accelerator", "prefill_machine.accelerator"),
            ("prefill_chips", "prefill_machine.chips"),
            (
                "prefill_rental_usd_per_hour",
                "prefill_machine.rental_usd_per_hour",
            ),
            ("spread", "spread` beside `machine"),
            ("utilisation", "costs.utilisation"),
            (
                "weight_bytes_per_parameter",
                "precision.weight_bytes_per_parameter",
            ),
        ],
    ),
    (
        "chips_per_stage",
        &[("sequences_per_gpu", "load.batch_per_chip")],
    ),
    ("cache_writes", &[("cache_hit_rate", "cached_input_tokens")]),
];

const PER_TOKEN: &str = ", USD per million tokens: multiply a price per token by 1,000,000";
const OPENROUTER: &str = ", per million tokens: OpenRouter's prices are per token, so multiply them by 1,000,000, or send \
                          its entry with format `openrouter`";

/// Values of `unit` in other formats, and the factor to `per_1m_tokens`.
const OTHER_UNITS: [(&str, &str); 10] = [
    ("per_1_token", "1,000,000"),
    ("per_1000_tokens", "1,000"),
    ("per_1k", "1,000"),
    ("per_1k_token", "1,000"),
    ("per_1k_tokens", "1,000"),
    ("per_k_tokens", "1,000"),
    ("per_thousand_tokens", "1,000"),
    ("per_token", "1,000,000"),
    ("per_tokens", "1,000,000"),
    ("token", "1,000,000"),
];

/// The field that a field of another format means, in words.
pub(super) fn meant_field(name: &str, known: &[&str]) -> Option<String> {
    let lower = name.to_lowercase();
    let mut others = OTHER_NAMES.iter();
    let other = others.find(|(other, meant, _)| *other == lower && known.contains(meant));
    if let Some((_, meant, remark)) = other {
        return Some(format!("write `{meant}` instead{remark}"));
    }
    let new = new_name(&lower, known)?;
    let remark = if new == "input_tokens" {
        ": all tokens of the prompt, those found in a cache included"
    } else {
        ""
    };
    Some(format!("write `{new}` instead{remark}"))
}

/// The new name of a field, in an object with these fields.
fn new_name(name: &str, known: &[&str]) -> Option<&'static str> {
    let renamed = RENAMED
        .iter()
        .find(|(old, new)| *old == name && known.contains(new));
    let moved = MOVED.iter().filter(|(beside, _)| known.contains(beside));
    let mut moved = moved.flat_map(|(_, fields)| fields.iter());
    renamed
        .or_else(|| moved.find(|(old, _)| *old == name))
        .map(|(_, new)| *new)
}

/// The correction of a unit that is not per million tokens.
pub(super) fn meant_unit(text: &str, known: &[&str]) -> Option<String> {
    const OWN: &str = "per_1m_tokens";
    let lower = text.to_lowercase();
    let (_, factor) = OTHER_UNITS.iter().find(|(other, _)| *other == lower)?;
    known
        .contains(&OWN)
        .then(|| format!("multiply every price by {factor} and write `{OWN}`"))
}

/// A price whose zeros are written as letters; none where it has no digit, or other letters.
fn with_zeros(text: &str) -> Option<String> {
    let digits = text.replace(['O', 'o'], "0");
    let is_number = digits
        .chars()
        .all(|mark| mark.is_ascii_digit() || mark == '.');
    let has_digit = text.contains(|mark: char| mark.is_ascii_digit());
    (digits != text && has_digit && is_number && digits.matches('.').count() <= 1).then_some(digits)
}

/// The correction of a price with a letter O, a currency, a comma or blanks.
pub(super) fn meant_price(text: &str) -> Option<String> {
    let trimmed = text.trim();
    if let Some(digits) = with_zeros(trimmed) {
        return Some(format!(
            "write \"{digits}\", with the digit zero in place of the letter O"
        ));
    }
    let bare = trimmed.trim_matches(|mark: char| {
        mark.is_alphabetic() || mark.is_whitespace() || "$€£¥₹".contains(mark)
    });
    let is_bare = bare == trimmed;
    let is_written = |digits: &str| {
        !digits.is_empty()
            && digits
                .chars()
                .all(|digit| digit.is_ascii_digit() || ".,_' ".contains(digit))
            && digits.starts_with(|digit: char| digit.is_ascii_digit())
    };
    if !is_written(bare) {
        return None;
    }
    let currency = if is_bare {
        ""
    } else {
        "; the currency is a field of the sheet"
    };
    let (whole, fraction) = bare.rsplit_once(',').unwrap_or((bare, ""));
    if bare.contains(',') && !bare.contains('.') && !whole.contains(',') && fraction.len() == 3 {
        return Some(format!(
            "write \"{whole}{fraction}\" if the comma separates thousands, \"{whole}.{fraction}\" if it is a decimal \
             point{currency}"
        ));
    }
    let is_decimal_comma = bare.contains(',') && !bare.contains('.') && !whole.contains(',');
    let digits = if is_decimal_comma {
        format!("{whole}.{fraction}")
    } else {
        bare.replace([',', '_', '\'', ' '], "")
    };
    (digits != text).then(|| format!("write \"{digits}\"{currency}"))
}

/// The list that is meant where a field holds one value.
pub(super) fn meant_list(field: &str) -> Option<&'static str> {
    match field {
        "cache_write" => Some(
            "write a list with a price per time to live: [{\"ttl_seconds\": 300, \"price\": \"3.75\"}]; null where the time is \
             not published",
        ),
        "rates" => Some("write a list of cells: [{\"input\": \"1.25\", \"output\": \"10\"}]"),
        "sources" => Some(
            "write a list of publications: [{\"url\": \"https://…\", \"format\": \"official\"}]",
        ),
        _ => None,
    }
}

/// The number that a text means, as `200k`, `"128,000"`, or `200ms` in a field of seconds.
pub(super) fn meant_number(text: &str) -> Option<String> {
    const SUFFIXES: [(&str, f64); 13] = [
        ("", 1.0),
        ("tokens", 1.0),
        ("s", 1.0),
        ("k", 1e3),
        ("m", 1e6),
        ("b", 1e9),
        ("µs", 1e-6),
        ("us", 1e-6),
        ("ms", 1e-3),
        ("min", 60.0),
        ("h", 3600.0),
        ("gb", 1e9),
        ("tb", 1e12),
    ];
    let plain = text.trim().to_lowercase().replace([',', '_', ' '], "");
    let digits = plain.trim_end_matches(char::is_alphabetic);
    // An unknown unit has no hint: a number without it would be wrong.
    let (_, factor) = SUFFIXES
        .iter()
        .find(|(suffix, _)| *suffix == &plain[digits.len()..])?;
    let number: f64 = digits.parse().ok()?;
    // Of 200 thousandths, the nearest number is 0.2.
    let meant = if *factor < 1.0 {
        number / (1.0 / factor).round()
    } else {
        number * factor
    };
    meant
        .is_finite()
        .then(|| format!("write {meant}, a number without quotes"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_of_other_formats_are_named_by_what_they_mean() {
        let known = ["input", "output", "cache_read", "cache_write"];
        let hint = |name| meant_field(name, &known);
        assert_eq!(hint("cached_input").unwrap(), "write `cache_read` instead");
        assert!(
            hint("prompt")
                .unwrap()
                .starts_with("write `input` instead, per million")
        );
        assert!(hint("completion").unwrap().contains("openrouter"));
        assert_eq!(hint("rates"), None);
        assert_eq!(meant_field("prompt", &["model"]), None);
    }

    #[test]
    fn another_unit_is_multiplied() {
        let known = ["per_1m_tokens"];
        let hint = meant_unit("per_1k_tokens", &known).unwrap();
        assert_eq!(
            hint,
            "multiply every price by 1,000 and write `per_1m_tokens`"
        );
        assert!(
            meant_unit("per_token", &known)
                .unwrap()
                .contains("1,000,000")
        );
        assert_eq!(meant_unit("per_image", &known), None);
    }

    #[test]
    fn a_price_is_written_with_a_point_and_without_a_currency() {
        let hint = |text| meant_price(text).unwrap();
        assert_eq!(hint("3,00"), "write \"3.00\"");
        assert!(hint("1,000").contains("\"1000\"") && hint("1,000").contains("\"1.000\""));
        let currency = "write \"3.00\"; the currency is a field of the sheet";
        for text in ["$3.00", "3.00 USD", "€3,00", "USD 3.00"] {
            assert_eq!(hint(text), currency, "{text}");
        }
        for (text, price) in [("1O", "10"), ("2.5O", "2.50"), ("1o.O5", "10.05")] {
            let zero = format!("write \"{price}\", with the digit zero in place of the letter O");
            assert_eq!(hint(text), zero);
        }
        assert_eq!(hint("1,234.50"), "write \"1234.50\"");
        for text in ["", "free", "1e-6", "00.1", "-1", "1.2.3x4"] {
            assert_eq!(meant_price(text), None, "{text}");
        }
    }

    #[test]
    fn a_number_in_words_is_written_out() {
        let hint = |text| meant_number(text).unwrap();
        assert_eq!(hint("200k"), "write 200000, a number without quotes");
        assert_eq!(hint("128,000"), "write 128000, a number without quotes");
        assert_eq!(hint("1.05M"), "write 1050000, a number without quotes");
        assert_eq!(hint("200ms"), "write 0.2, a number without quotes");
        assert_eq!(hint("30 s"), "write 30, a number without quotes");
        assert_eq!(
            hint("141 GB"),
            "write 141000000000, a number without quotes"
        );
        for text in ["many", "200 parsecs"] {
            assert_eq!(meant_number(text), None, "{text}");
        }
    }
}

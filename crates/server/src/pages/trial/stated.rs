//! The assumptions of the form: read as numbers or intervals, as people write them.

use serde_json::{Map, Number, Value, json};

use super::form::Filled;
use super::placed::Placed;
use unroof_infer::evidence::quantity::Quantity;

/// Prefix of the figures of an accelerator.
pub(super) const OF_ACCELERATOR: &str = "accelerator.";
/// Prefix of the speeds of service tiers.
pub(super) const SPEED: &str = "speed_multiplier.";
/// The accelerator by its id.
pub(super) const ACCELERATOR: &str = "accelerator";
/// Assumptions that are not numbers.
pub(super) const ARCHITECTURE: &str = "architecture";
/// The day of the release.
pub(super) const RELEASE_DATE: &str = "release_date";

/// The object `assumptions` of what is stated. Names that no assumption has are left out: a form has none.
pub(super) fn assumptions(filled: &Filled) -> Result<Map<String, Value>, Vec<Placed>> {
    let mut object = Map::new();
    let mut misread = Vec::new();
    for (name, text) in &filled.stated {
        let value = match name.as_str() {
            ACCELERATOR | ARCHITECTURE | RELEASE_DATE => Ok(json!(text)),
            name if is_number(name) => number_or_interval(text),
            _ => continue,
        };
        let inserted = value
            .map_err(|hint| {
                let shown: String = text.chars().take(40).collect();
                (format!("`{shown}` is not a number"), hint)
            })
            .and_then(|value| insert(&mut object, name, value));
        if let Err((detail, hint)) = inserted {
            misread.push(Placed::of_control(name, detail, hint));
        }
    }
    if misread.is_empty() {
        Ok(object)
    } else {
        Err(misread)
    }
}

/// Whether an assumption of the form is a number.
fn is_number(name: &str) -> bool {
    let is = |quantity: Quantity, name: &str| quantity.name() == name;
    match (name.strip_prefix(OF_ACCELERATOR), name.strip_prefix(SPEED)) {
        (Some(figure), _) => Quantity::in_accelerator().any(|quantity| is(quantity, figure)),
        (None, Some(tier)) => !tier.is_empty(),
        (None, None) => Quantity::top_level().any(|quantity| is(quantity, name)),
    }
}

/// A fault, and what removes it.
type Misread = (String, &'static str);

/// Puts a value where its name belongs, unless an accelerator is chosen already.
fn insert(object: &mut Map<String, Value>, name: &str, value: Value) -> Result<(), Misread> {
    let inner = [(OF_ACCELERATOR, ACCELERATOR), (SPEED, "speed_multiplier")];
    let inner = inner
        .into_iter()
        .find_map(|(prefix, outer)| Some((outer, name.strip_prefix(prefix)?)));
    let Some((outer, key)) = inner else {
        object.insert(name.to_owned(), value);
        return Ok(());
    };
    let Value::Object(fields) = object.entry(outer).or_insert_with(|| json!({})) else {
        return Err((
            "an accelerator is chosen, and figures of one are stated".to_owned(),
            "choose the accelerator, or state its figures, not both",
        ));
    };
    fields.insert(key.to_owned(), value);
    Ok(())
}

/// A number, or two with `to` between them.
fn number_or_interval(text: &str) -> Result<Value, &'static str> {
    const HINT: &str =
        "write a number such as 7e10, 70B or 30%, or an interval such as 50B to 200B";
    let read = |text: &str| number(text).and_then(Number::from_f64).ok_or(HINT);
    match text.split_once(" to ") {
        Some((low, high)) => Ok(json!({"low": read(low)?, "high": read(high)?})),
        None => read(text).map(Value::Number),
    }
}

/// A number with or without a sign for its power of ten.
fn number(text: &str) -> Option<f64> {
    const POWERS: [(char, f64); 6] = [
        ('k', 1e3),
        ('M', 1e6),
        ('B', 1e9),
        ('G', 1e9),
        ('T', 1e12),
        ('%', 0.01),
    ];
    let text = text.trim();
    let power = POWERS.into_iter().find(|(sign, _)| text.ends_with(*sign));
    let digits = power.map_or(text, |(sign, _)| text.trim_end_matches(sign).trim_end());
    let number = digits.parse::<f64>().ok()?;
    Some(number * power.map_or(1.0, |(_, factor)| factor))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(pairs: &[(&str, &str)]) -> Result<Value, Vec<Placed>> {
        let stated = pairs
            .iter()
            .map(|(name, text)| ((*name).to_owned(), (*text).to_owned()));
        let filled = Filled {
            stated: stated.collect(),
            ..Filled::default()
        };
        assumptions(&filled).map(Value::Object)
    }

    #[test]
    fn numbers_are_read_as_people_write_them() {
        let object = read(&[
            ("active_parameters", "50B to 2e11"),
            ("utilisation", "30%"),
            ("accelerator.domain_size", "72"),
            ("speed_multiplier.fast", "2.5"),
            ("architecture", "dense"),
            ("unknown", "7"),
        ]);
        let expected = json!({
            "accelerator": {"domain_size": 72.0},
            "active_parameters": {"low": 5e10, "high": 2e11},
            "architecture": "dense",
            "speed_multiplier": {"fast": 2.5},
            "utilisation": 0.3,
        });
        assert_eq!(object, Ok(expected));
    }

    #[test]
    fn what_is_no_number_is_named_with_its_field() {
        for text in ["many", "1,000", "to 3", "NaN", "1e400", "--3"] {
            let misread = read(&[("chips", text)]).unwrap_err();
            assert_eq!(misread[0].control.as_deref(), Some("chips"), "{text}");
        }
        let both = [
            ("accelerator", "h100-sxm"),
            ("accelerator.domain_size", "8"),
        ];
        let wrong = read(&both).unwrap_err()[0].control.clone();
        assert_eq!(wrong.as_deref(), Some("accelerator.domain_size"));
    }
}

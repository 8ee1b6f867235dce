//! Memory estimate of a sheet during an import.

use serde_json::{Map, Value};

use super::listed::Listed;
use unroof_price_sheet::sheet::{Modifier, RateCell, Schedule, ServiceTier};

/// Approximate memory of a sheet while it is parsed and compared, in bytes.
pub(crate) fn bytes_of(listed: &Listed) -> usize {
    /// Bytes of a price, as a decimal and as its comparison key; also the overhead of a text, a name or a part.
    const PRICE: usize = 256;
    const TEXT: usize = 48;
    const PART: usize = 512;
    let sheet = &listed.sheet;
    let text = |text: &String| TEXT + text.len();
    let cell = |cell: &RateCell| {
        let prices = [
            &cell.input,
            &cell.output,
            &cell.reasoning,
            &cell.cache_read,
            &cell.cache_read_explicit,
            &cell.cache_storage_per_hour,
        ];
        let prices = prices.into_iter().flatten().count() + cell.cache_write.len();
        size_of::<RateCell>() + prices * (PRICE + cell.service_tier.len())
    };
    let tier = |(name, tier): (&String, &ServiceTier)| {
        let names = [&tier.aliases, &tier.excludes, &tier.stacks_with];
        let names = names.into_iter().flatten().map(text).sum::<usize>();
        PART + text(name) + names + bytes_of_fields(&tier.request)
    };
    let schedule = |(name, schedule): (&String, &Schedule)| {
        PART + text(name) + schedule.windows.len() * 2 * TEXT
    };
    let modifier = |modifier: &Modifier| {
        let applies_to = modifier.applies_to.iter().map(text).sum::<usize>();
        PART + modifier.name.len() + applies_to + bytes_of_fields(&modifier.when)
    };
    // Twice, for the entry's key and the index of the sheet.
    size_of::<Listed>()
        + 2 * (text(&listed.entry) + text(&sheet.provider) + text(&sheet.model))
        + sheet
            .aliases
            .iter()
            .chain(&sheet.notes)
            .map(text)
            .sum::<usize>()
        + sheet.rates.iter().map(cell).sum::<usize>()
        + sheet.service_tiers.iter().map(tier).sum::<usize>()
        + sheet.schedules.iter().map(schedule).sum::<usize>()
        + sheet.modifiers.iter().map(modifier).sum::<usize>()
        + sheet.other_meters.len() * PART
        + sheet.capacity_offers.len() * PART
        + sheet.sources.len() * PART
        + bytes_of_fields(&sheet.unmapped)
}

fn bytes_of_fields(fields: &Map<String, Value>) -> usize {
    /// Bytes of a field with its name and table slot.
    const FIELD: usize = 192;
    let fields = fields.iter();
    fields
        .map(|(name, value)| FIELD + name.len() + bytes_of_value(value))
        .sum()
}

fn bytes_of_value(value: &Value) -> usize {
    /// Bytes of the smallest list or object.
    const LIST: usize = 320;
    const OBJECT: usize = 448;
    match value {
        Value::String(text) => 16 + text.len(),
        Value::Array(items) => {
            LIST + items
                .iter()
                .map(|item| 72 + bytes_of_value(item))
                .sum::<usize>()
        }
        Value::Object(fields) => OBJECT + bytes_of_fields(fields),
        _ => 0,
    }
}

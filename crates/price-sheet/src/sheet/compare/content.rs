//! Pricing content, which identifies a sheet.

use std::fmt;

use serde::Serialize;
use sha2::{Digest, Sha256};
use uuid::Uuid;

use crate::sheet::{Limits, PriceSheet, ServiceTier};

/// Identity of a sheet's pricing content: the same content has the same id on every machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct SheetId(pub Uuid);

impl SheetId {
    /// A UUID (version 8) made of the first bytes of the SHA-256 of a text.
    #[must_use]
    pub fn digest(text: &[u8]) -> Uuid {
        let digest = Sha256::digest(text);
        let mut bytes = [0; 16];
        bytes.copy_from_slice(&digest[..16]);
        uuid::Builder::from_custom_bytes(bytes).into_uuid()
    }
}

impl fmt::Display for SheetId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

impl PriceSheet {
    /// The sheet reduced to its pricing content: without `sources`, `notes`, `aliases`, `unmapped`, `evidence` and measured
    /// speeds, with defaults filled in, normalised decimals and sorted rates.
    #[must_use]
    pub fn pricing_content(&self) -> Self {
        let mut content = self.evidence_content();
        for tier in content.service_tiers.values_mut() {
            tier.measured = None;
        }
        content.evidence.clear();
        content
    }

    /// The pricing content with measured speeds and public facts, which say something about the machine and the model, and
    /// change without the prices.
    #[must_use]
    pub fn evidence_content(&self) -> Self {
        let mut content = self.clone();
        content.aliases.clear();
        content.sources.clear();
        content.notes.clear();
        content.unmapped.clear();
        for cell in &mut content.rates {
            cell.source = None;
            for price in cell.single_prices().into_iter().flatten() {
                *price = price.normalized();
            }
            for write in &mut cell.cache_write {
                write.price = write.price.normalized();
            }
            cell.cache_write.sort_by_key(|write| write.ttl_seconds);
            content
                .service_tiers
                .entry(cell.service_tier.clone())
                .or_default();
        }
        content
            .rates
            .sort_by(|left, right| left.key().cmp(&right.key()));
        for tier in content.service_tiers.values_mut() {
            let speed = tier
                .speed_multiplier
                .as_mut()
                .and_then(|speed| speed.value.as_mut());
            for decimal in tier.price_multiplier.as_mut().into_iter().chain(speed) {
                *decimal = decimal.normalized();
            }
        }
        for modifier in &mut content.modifiers {
            modifier.multiplier = modifier.multiplier.normalized();
        }
        for meter in &mut content.other_meters {
            meter.price = meter.price.normalized();
        }
        for offer in &mut content.capacity_offers {
            offer.price_per_hour = offer.price_per_hour.normalized();
        }
        content
            .capacity_offers
            .sort_by(|left, right| left.name.cmp(&right.name));
        content
    }

    /// Identity of the pricing content.
    #[must_use]
    pub fn id(&self) -> SheetId {
        SheetId(digest(&self.pricing_content()))
    }

    /// Identity of the evidence: that of the pricing content, and of measured speeds and public facts where there are any.
    #[must_use]
    pub fn evidence_id(&self) -> String {
        let is_measured = |tier: &ServiceTier| tier.measured.is_some();
        if !self.evidence.is_empty() || self.service_tiers.values().any(is_measured) {
            return digest(&self.evidence_content()).to_string();
        }
        self.id().to_string()
    }

    /// Identity of the prices alone: without dates, announced retirement, limits and the names of the model.
    #[must_use]
    pub fn price_id(&self) -> Uuid {
        digest(&Self {
            canonical_model: None,
            upstream_provider: None,
            released: None,
            quantization: None,
            valid_from: None,
            valid_to: None,
            retires_at: None,
            status: None,
            limits: Limits::default(),
            ..self.pricing_content()
        })
    }
}

fn digest(content: &PriceSheet) -> Uuid {
    let content = serde_json::to_vec(content).expect("a sheet of texts and numbers serialises");
    SheetId::digest(&content)
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use crate::sheet::{
        MeasuredSpeed, OfferStatus, Percentiles, PriceSheet, RateCell, ServiceTier,
    };

    #[test]
    fn a_measured_speed_is_evidence_and_no_part_of_the_pricing_content() {
        let cell = RateCell {
            input: Some("1".parse().unwrap()),
            service_tier: RateCell::STANDARD.to_owned(),
            ..RateCell::default()
        };
        let sheet = PriceSheet::new("acme", "m-1", vec![cell]);
        let with_speed = |speed: f64| {
            let tier = ServiceTier {
                measured: Some(MeasuredSpeed {
                    output_tokens_per_second: Some(Percentiles {
                        p50: Some(speed),
                        ..Percentiles::default()
                    }),
                    ..MeasuredSpeed::default()
                }),
                ..ServiceTier::default()
            };
            let tiers = [(RateCell::STANDARD.to_owned(), tier)];
            PriceSheet {
                service_tiers: tiers.into(),
                ..sheet.clone()
            }
        };
        assert_eq!(with_speed(50.0).id(), sheet.id());
        assert_eq!(with_speed(50.0).price_id(), sheet.price_id());
        assert_eq!(with_speed(50.0).pricing_content(), sheet.pricing_content());
        assert_eq!(sheet.evidence_id(), sheet.id().to_string());
        assert_ne!(with_speed(50.0).evidence_id(), sheet.evidence_id());
        assert_ne!(
            with_speed(50.0).evidence_id(),
            with_speed(60.0).evidence_id()
        );
    }

    #[test]
    fn an_announced_retirement_is_another_sheet_of_the_same_prices() {
        let cell = |input: &str| RateCell {
            input: Some(input.parse().unwrap()),
            ..RateCell::default()
        };
        let sheet = PriceSheet::new("acme", "m-1", vec![cell("1")]);
        let retiring = PriceSheet {
            retires_at: Some(Timestamp::UNIX_EPOCH),
            status: Some(OfferStatus::Deprecated),
            ..sheet.clone()
        };
        assert_ne!(retiring.id(), sheet.id());
        assert_eq!(retiring.price_id(), sheet.price_id());
        let dearer = PriceSheet::new("acme", "m-1", vec![cell("2")]);
        assert_ne!(dearer.price_id(), sheet.price_id());
    }
}

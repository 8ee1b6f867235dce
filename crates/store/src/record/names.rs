//! Stored enums, each declared once: the names in the database, in JSON and in the API document.

use unroof_price_sheet::history::{Ending, SourceRank};
use unroof_price_sheet::sheet::OfferStatus;

/// A stored name that this program does not know.
#[derive(Debug, thiserror::Error)]
#[error("`{0}` is not one of the stored names")]
pub struct UnknownName(pub(crate) String);

/// An enum whose variants are stored under their names.
macro_rules! stored_names {
    ($(#[$about:meta])* $Type:ident { $($(#[$meaning:meta])* $Variant:ident = $name:tt,)* }) => {
        $(#[$about])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize, utoipa::ToSchema)]
        pub enum $Type {
            $($(#[$meaning])* #[serde(rename = $name)] $Variant,)*
        }

        impl $Type {
            /// All variants, in the order of the API document.
            pub const ALL: &'static [Self] = &[$(Self::$Variant,)*];

            /// Name of the variant, as it is stored.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$Variant => $name,)*
                }
            }
        }

        impl AsRef<str> for $Type {
            fn as_ref(&self) -> &str {
                self.name()
            }
        }

        impl TryFrom<String> for $Type {
            type Error = $crate::UnknownName;

            fn try_from(name: String) -> Result<Self, Self::Error> {
                let known = Self::ALL.iter().find(|known| known.name() == name);
                known.copied().ok_or($crate::UnknownName(name))
            }
        }
    };
}

pub(crate) use stored_names;

stored_names! {
    /// Kind of a change.
    ChangeKind {
        /// An offer has another price.
        PriceChanged = "price.changed",
        /// An offer will have another price.
        PriceScheduled = "price.scheduled",
        /// A source states an offer for the first time, and its sheet takes the place of another source's. No price has changed.
        SourceAdded = "source.added",
        /// An offer has its first price.
        OfferAdded = "offer.added",
        /// An offer is no longer listed by any catalog.
        OfferDelisted = "offer.delisted",
        /// An offer is listed again.
        OfferRelisted = "offer.relisted",
        /// An offer will end: its seller or a catalog states a date.
        OfferRetiring = "offer.retiring",
        /// An offer has other limits at the same prices.
        LimitsChanged = "limits.changed",
        /// Another name or form of an offer's model is known, at the same prices.
        IdentityChanged = "identity.changed",
        /// Prices or dates of the past are known that were not known before.
        HistoryBackfilled = "history.backfilled",
        /// The stated end of a price has come, and no other price is known.
        PriceExpired = "price.expired",
        /// A price was withdrawn.
        SheetWithdrawn = "sheet.withdrawn",
        /// A withdrawn price is in force again.
        SheetReinstated = "sheet.reinstated",
        /// An unchanged price has a new estimate.
        EstimateUpdated = "estimate.updated",
    }
}

stored_names! {
    /// Kind of a name.
    NameKind {
        /// A provider, as it bills.
        Provider = "provider",
        /// A canonical model, `author/model`.
        CanonicalModel = "canonical_model",
        /// A model as a provider spells it.
        Model = "model",
    }
}

/// Number of a source rank in the tables.
pub(crate) fn source_rank(source_rank: SourceRank) -> i64 {
    match source_rank {
        SourceRank::Catalog => 1,
        SourceRank::Entry => 2,
        SourceRank::Sheet => 3,
    }
}

/// Name of an announced state.
pub(crate) fn status_name(status: &OfferStatus) -> &'static str {
    match status {
        OfferStatus::Deprecated => "deprecated",
    }
}

/// Name of the reason for the end of a period.
pub(crate) fn ending(ending: Ending) -> &'static str {
    match ending {
        Ending::Replaced => "replaced",
        Ending::Expired => "expired",
        Ending::Delisted => "delisted",
        Ending::Withdrawn => "withdrawn",
    }
}

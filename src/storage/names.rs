//! Stored enums, each declared once: the names in the database, in JSON and in the API document.

/// A stored name that this program does not know.
#[derive(Debug, thiserror::Error)]
#[error("`{0}` is not one of the stored names")]
pub struct UnknownName(pub(super) String);

/// An enum whose variants are stored under their names.
macro_rules! stored_names {
    ($(#[$about:meta])* $Type:ident { $($(#[$meaning:meta])* $Variant:ident = $name:tt,)* }) => {
        $(#[$about])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, utoipa::ToSchema)]
        pub enum $Type {
            $($(#[$meaning])* #[serde(rename = $name)] $Variant,)*
        }

        impl $Type {
            /// All variants, in the order of the API document.
            pub const ALL: &'static [Self] = &[$(Self::$Variant,)*];

            /// Its name.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$Variant => $name,)*
                }
            }
        }

        impl TryFrom<String> for $Type {
            type Error = $crate::storage::UnknownName;

            fn try_from(name: String) -> Result<Self, Self::Error> {
                let known = Self::ALL.iter().find(|known| known.name() == name);
                known.copied().ok_or($crate::storage::UnknownName(name))
            }
        }
    };
}

pub(super) use stored_names;

stored_names! {
    /// Kind of a change.
    ChangeKind {
        /// An offer has its first price.
        SheetAdded = "sheet.added",
        /// An offer has another price.
        SheetChanged = "sheet.changed",
        /// An offer will have another price.
        SheetAnnounced = "sheet.announced",
        /// An announced price is in force from now on.
        SheetInForce = "sheet.in_force",
        /// A price was withdrawn.
        SheetWithdrawn = "sheet.withdrawn",
        /// A withdrawn price is in force again.
        SheetReinstated = "sheet.reinstated",
        /// A price has expired without a known successor.
        SheetExpired = "sheet.expired",
        /// The same price has a new estimate.
        EstimateUpdated = "estimate.updated",
    }
}

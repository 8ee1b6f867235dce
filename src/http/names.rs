//! Names in the reference data as enums of the OpenAPI document.

use std::borrow::Cow;

use serde::Serialize;
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::Schema;
use utoipa::{PartialSchema, ToSchema};

use unroof_core::calculator::layout::PRESETS;
use unroof_core::calculator::simulate::offered_tiers;
use unroof_core::input::schema::one_of_texts;
use unroof_core::reference::{accelerators, open_models, routed_laws};

macro_rules! names {
    ($($name:ident = $description:literal, $texts:expr;)*) => {$(
        #[doc = $description]
        #[derive(Serialize)]
        pub(super) struct $name;

        impl PartialSchema for $name {
            fn schema() -> RefOr<Schema> {
                one_of_texts($texts).description(Some($description)).into()
            }
        }

        impl ToSchema for $name {
            fn name() -> Cow<'static, str> {
                stringify!($name).into()
            }
        }
    )*};
}

names! {
    AcceleratorId = "id of `/reference/accelerators`", accelerator_ids();
    RackName = "`hopper-8`, `blackwell-72`, `rubin-72`, or the id of an accelerator of `/reference/accelerators`",
        PRESETS.into_iter().map(|(name, _)| name).chain(accelerator_ids());
    OpenModelName = "name of `/reference/open-models`, upper or lower case",
        open_models().iter().map(|model| &model.name);
    OfferedTierId = "id of `/reference/storage-tiers`, of a tier with known costs",
        offered_tiers().map(|tier| &tier.id);
    RoutingName = "routing of tokens to experts", routed_laws().iter().map(|law| &law.routing);
}

fn accelerator_ids() -> impl Iterator<Item = &'static str> {
    accelerators().iter().map(|row| row.id.as_str())
}

//! The object `assumptions`: its schema and its reader, both from the table of quantities.

use std::borrow::Cow;

use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{
    AdditionalProperties, KnownFormat, ObjectBuilder, OneOfBuilder, Schema, SchemaFormat, Type,
};
use utoipa::{PartialSchema, ToSchema};

use super::{Assumptions, Interval, SizeClass};
use crate::evidence::quantity::{Bounds, Quantity as Q};
use unroof_base::input::body::{Kind, Schemas, add_schema};
use unroof_base::input::cursor::{Cursor, nearest_names, one_of_hint, shortened};
use unroof_base::input::json::Json;
use unroof_roofline::reference::names::AcceleratorId;
use unroof_roofline::reference::{
    accelerator, accelerators, reported_compute_margin, vendors_with_compute_margin,
};

/// Limit of service tiers with a stated speed; a sheet has no more tiers.
const MOST_TIERS: usize = 64;

impl Assumptions {
    /// Reads the object `assumptions` of a request.
    #[must_use]
    pub fn read(object: &Cursor<'_>) -> Option<Self> {
        let fields = object.fields()?;
        let mut assumptions = Self::default();
        if let Some(field) = fields.get("accelerator") {
            assumptions.read_accelerator(&field);
        }
        for quantity in Q::top_level() {
            if let Some(field) = fields.get(quantity.name()) {
                let interval = match (quantity, field.json) {
                    (Q::ComputeMargin, Json::Text(vendor)) => read_reported(&field, vendor),
                    _ => read_interval(&field, quantity.row().bounds),
                };
                let stated = interval.map(|interval| (quantity, interval));
                assumptions.stated.extend(stated);
            }
        }
        if let Some(field) = fields.get("speed_multiplier") {
            assumptions.read_speeds(&field);
        }
        assumptions.architecture = fields
            .get("architecture")
            .and_then(|field| read_class(&field));
        assumptions.release_date = fields.get("release_date").and_then(|field| field.day());
        assumptions.check_parameters(object);
        fields.refuse_unknown();
        Some(assumptions)
    }

    fn read_speeds(&mut self, field: &Cursor<'_>) {
        let Some(tiers) = field.entries() else { return };
        if tiers.len() > MOST_TIERS {
            field.fault(
                format!("{} service tiers", tiers.len()),
                format!("state the speed of up to {MOST_TIERS}"),
            );
            return;
        }
        for (tier, speed) in tiers {
            let interval = read_interval(&speed, Bounds::SPEED);
            self.speed_multiplier
                .extend(interval.map(|interval| (tier.to_owned(), interval)));
        }
    }

    fn read_accelerator(&mut self, field: &Cursor<'_>) {
        match field.json {
            Json::Text(id) => match accelerator(id) {
                Some(known) => self.accelerator = Some(&known.id),
                None => field.fault(format!("`{}` is not a known accelerator", shortened(id)), accelerator_hint(id)),
            },
            Json::Object(_) => {
                let Some(fields) = field.fields() else { return };
                for quantity in Q::in_accelerator() {
                    if let Some(field) = fields.get(quantity.name()) {
                        let interval = read_interval(&field, quantity.row().bounds);
                        self.stated.extend(interval.map(|interval| (quantity, interval)));
                    }
                }
                fields.refuse_unknown();
            }
            other => field.fault(
                format!("expected an accelerator, found {}", other.kind()),
                "write an id such as \"h100-sxm\", or an object such as {\"compute_to_bandwidth\": 300}",
            ),
        }
    }

    fn check_parameters(&self, object: &Cursor<'_>) {
        if let (Some(active), Some(total)) = (
            self.stated.get(&Q::ActiveParameters),
            self.stated.get(&Q::TotalParameters),
        ) && active.high > total.high
        {
            object.fault(
                "`active_parameters` is above `total_parameters`",
                "state no more active than total parameters",
            );
        }
    }
}

/// The compute margin that is reported of a vendor.
fn read_reported(field: &Cursor<'_>, vendor: &str) -> Option<Interval> {
    let Some((low, high)) = reported_compute_margin(vendor) else {
        let vendors = vendors_with_compute_margin().join(", ");
        return field.refuse(
            format!("no compute margin is reported of `{}`", shortened(vendor)),
            format!("write a number, a range, or one of {vendors}"),
        );
    };
    Some(Interval::new(low, high))
}

fn read_class(field: &Cursor<'_>) -> Option<SizeClass> {
    let text = field.text()?;
    let class = SizeClass::ALL
        .into_iter()
        .find(|class| class.name() == text);
    class.or_else(|| {
        field.refuse(
            format!("`{}` is not a kind of architecture", shortened(&text)),
            "write \"dense\" or \"mixture\"",
        )
    })
}

fn accelerator_hint(id: &str) -> String {
    let ids: Vec<&str> = accelerators().iter().map(|row| row.id.as_str()).collect();
    if nearest_names(id, &ids).is_empty() {
        format!("write one of {}", ids.join(", "))
    } else {
        one_of_hint(id, &ids)
    }
}

fn read_interval(field: &Cursor<'_>, bounds: Bounds) -> Option<Interval> {
    let allowed = bounds.in_words();
    let read_end = |end: &Cursor<'_>| {
        let value = end.number()?;
        if !bounds.allow(end) {
            end.fault(
                format!("{value} is out of range"),
                format!("write {allowed}"),
            );
            return None;
        }
        Some(value)
    };
    match field.json {
        Json::Number(_) => read_end(field).map(|value| Interval::new(value, value)),
        Json::Object(_) => {
            let fields = field.fields()?;
            let low = fields
                .required("low", "write the lower end of a 90 % interval")
                .and_then(|end| read_end(&end));
            let high = fields
                .required("high", "write the upper end of a 90 % interval")
                .and_then(|end| read_end(&end));
            fields.refuse_unknown();
            let (low, high) = (low?, high?);
            if low > high {
                field.fault("`low` is above `high`", "write the lower end first");
                return None;
            }
            Some(Interval::new(low, high))
        }
        other => {
            field.fault(
                format!("expected a number or a range, found {}", other.kind()),
                format!("write {allowed}, or a 90 % interval {{\"low\": …, \"high\": …}}"),
            );
            None
        }
    }
}

fn number(bounds: Bounds) -> ObjectBuilder {
    ObjectBuilder::new()
        .schema_type(Type::Number)
        .minimum(Some(bounds.least))
        .maximum(Some(bounds.most))
}

fn closed(object: ObjectBuilder) -> ObjectBuilder {
    object.additional_properties(Some(AdditionalProperties::<Schema>::FreeForm(false)))
}

/// A number, or a 90 % interval.
fn number_or_interval(bounds: Bounds, description: &str) -> OneOfBuilder {
    let end = |description| number(bounds).description(Some(description));
    let interval = ObjectBuilder::new()
        .property(
            "low",
            end("Lower end, exceeded with a probability of 95 %."),
        )
        .property(
            "high",
            end("Upper end, exceeded with a probability of 5 %."),
        )
        .required("low")
        .required("high")
        .description(Some(format!("90 % interval of: {description}")));
    OneOfBuilder::new()
        .item(number(bounds).description(Some(description)))
        .item(closed(interval))
}

fn quantities(quantities: impl Iterator<Item = Q>) -> ObjectBuilder {
    quantities.fold(ObjectBuilder::new(), |object, quantity| {
        let schema = number_or_interval(quantity.row().bounds, &quantity.description());
        object.property(quantity.name(), schema)
    })
}

impl PartialSchema for Assumptions {
    fn schema() -> RefOr<Schema> {
        let accelerator = OneOfBuilder::new()
            .description(Some(
                "The accelerator: its id, or its figures. One that is not stated follows from the prices.",
            ))
            .item(AcceleratorId.schema())
            .item(closed(quantities(Q::in_accelerator())));
        let speed = number_or_interval(Bounds::SPEED, "output speed against the standard tier");
        let speeds = ObjectBuilder::new()
            .description(Some(
                "output speed by service tier, against the standard tier",
            ))
            .max_properties(Some(MOST_TIERS))
            .additional_properties(Some(Schema::from(speed)));
        let architecture = ObjectBuilder::new()
            .schema_type(Type::String)
            .enum_values(Some(SizeClass::ALL.map(SizeClass::name)))
            .description(Some("Whether the model is dense or a mixture of experts."));
        let release_date = ObjectBuilder::new()
            .schema_type(Type::String)
            .format(Some(SchemaFormat::KnownFormat(KnownFormat::Date)))
            .description(Some("The day on which the model was released."));
        let margin = Q::ComputeMargin;
        let reported = ObjectBuilder::new()
            .schema_type(Type::String)
            .enum_values(Some(vendors_with_compute_margin()))
            .description(Some("A vendor whose compute margin is reported."));
        let compute_margin = number_or_interval(margin.row().bounds, &margin.description())
            .description(Some(
                "1 − cost ÷ price of what paying users pay for, as a clue about output; none is assumed where it is not stated.",
            ))
            .item(reported);
        let object = quantities(Q::top_level())
            .property("compute_margin", compute_margin)
            .property("accelerator", accelerator)
            .property("architecture", architecture)
            .property("release_date", release_date)
            .property("speed_multiplier", speeds);
        closed(object)
            .description(Some(
                "Assumptions about the machine behind a sheet and its operator. A number fixes a value, `{\"low\", \"high\"}` is \
                 a 90 % interval.",
            ))
            .into()
    }
}

impl ToSchema for Assumptions {
    fn name() -> Cow<'static, str> {
        "Assumptions".into()
    }

    fn schemas(schemas: &mut Schemas) {
        add_schema::<AcceleratorId>(schemas);
    }
}

//! The API document: one list of routes is both the router and the document.

use std::sync::LazyLock;

use axum::body::Body;
use axum::http::{HeaderMap, Response};
use utoipa::openapi::schema::{
    AdditionalProperties, ArrayItems, ObjectBuilder, OneOfBuilder, Schema, SchemaType, Type,
};
use utoipa::openapi::{Components, OpenApi as Document, Ref, RefOr};
use utoipa::{OpenApi, PartialSchema, ToSchema};

use super::extract::NoQuery;
use super::extract::Query;
use super::names::AcceleratorId;
use super::polling::CachedBody;
use super::problem::Problem;
use unroof_core::estimate::row_columns;
use unroof_core::model::quantity::{Bounds, Quantity};

/// What the document says beyond the routes.
#[derive(OpenApi)]
#[openapi(
    info(
        title = "unroof",
        description = "Reads an LLM provider's public price sheet, inverts the serving roofline behind it, and says what \
                       the sheet reveals about the machine. POST a sheet to `/infer`; poll `/estimates/latest`.",
        license(name = "MIT OR Apache-2.0"),
    ),
    tags(
        (name = "estimates", description = "What price sheets reveal"),
        (name = "price sheets", description = "The sheets as they were stored, what held when, and who says otherwise"),
        (name = "catalogs", description = "Whole catalogs in, and the runs of their imports"),
        (name = "changes", description = "What changed: as a list, as a stream, and sent to webhooks"),
        (name = "forward", description = "What a model takes and costs, how it is laid out, what its training takes"),
        (name = "reference", description = "The data and the equations behind every answer"),
        (name = "health", description = "Whether the service lives and can serve"),
    ),
    components(schemas(Problem)),
)]
struct Description;

/// The document without its routes.
pub(super) fn description() -> Document {
    Description::openapi()
}

/// The whole document.
#[must_use]
pub fn openapi() -> Document {
    complete(super::routes().into_openapi())
}

/// Adds what cannot be derived: the reading columns of list rows, that pages and tables are made of the rows that are
/// described beside them, and that an attention group has no further fields.
fn complete(mut document: Document) -> Document {
    let Some(components) = &mut document.components else {
        return document;
    };
    if let Some(RefOr::T(Schema::Object(row))) = components.schemas.get_mut("EstimateItem") {
        for column in row_columns() {
            let value = if column.ends_with("_identified") {
                Type::Boolean
            } else {
                Type::Number
            };
            let value = ObjectBuilder::new()
                .schema_type(SchemaType::from_iter([value, Type::Null]))
                .build();
            row.properties.insert(column.to_owned(), value.into());
            row.required.push(column.to_owned());
        }
    }
    for (name, schema) in &mut components.schemas {
        let row = name
            .strip_prefix("Page_")
            .or_else(|| name.strip_prefix("Table_"));
        if let Some(row) = row
            && let RefOr::T(Schema::Object(list)) = schema
            && let Some(RefOr::T(Schema::Array(data))) = list.properties.get_mut("data")
        {
            data.items = ArrayItems::RefOrSchema(Box::new(Ref::from_schema_name(row).into()));
        }
    }
    close_attention_groups(components);
    document
}

/// A group is derived as its fields and its kind, two parts that cannot each refuse what the other one has. Here they are
/// put together.
fn close_attention_groups(components: &mut Components) {
    let Some(RefOr::T(Schema::OneOf(mut groups))) = components.schemas.remove("AttentionGroup")
    else {
        return;
    };
    for group in &mut groups.items {
        if let RefOr::T(Schema::AllOf(parts)) = group
            && let [RefOr::Ref(fields), RefOr::T(Schema::Object(kind))] = parts.items.as_slice()
            && let Some((_, name)) = fields.ref_location.rsplit_once('/')
            && let Some(RefOr::T(Schema::Object(mut whole))) = components.schemas.remove(name)
        {
            whole.properties.extend(kind.properties.clone());
            whole.required.extend(kind.required.clone());
            whole.additional_properties = Some(Box::new(AdditionalProperties::FreeForm(false)));
            *group = Schema::Object(whole).into();
        }
    }
    components
        .schemas
        .insert("AttentionGroup".to_owned(), Schema::OneOf(groups).into());
}

/// The document, served
#[utoipa::path(get, path = "/openapi.json", tag = "reference", responses(
    (status = 200, description = "This document", content_type = "application/json", body = Object, headers(("etag" = String))),
    (status = 304, description = "The client has this body"),
    (status = 400, description = "The query is wrong", body = Problem, content_type = "application/problem+json"),
))]
pub(super) async fn show_openapi(
    Query(NoQuery {}): Query<NoQuery>,
    headers: HeaderMap,
) -> Response<Body> {
    static BODY: LazyLock<CachedBody> = LazyLock::new(|| {
        CachedBody::new(
            openapi().to_json().expect("the document serialises"),
            "application/json",
            None,
        )
    });
    BODY.respond(&headers)
}

/// What may be stated, described from the table that reads it.
#[derive(serde::Serialize)]
pub(super) struct AssumptionsSchema;

impl PartialSchema for AssumptionsSchema {
    fn schema() -> RefOr<Schema> {
        let number = |bounds: Bounds| {
            ObjectBuilder::new()
                .schema_type(Type::Number)
                .minimum(Some(bounds.least))
                .maximum(Some(bounds.most))
        };
        let range = |bounds: Bounds, description: &str| {
            ObjectBuilder::new()
                .property("low", number(bounds))
                .property("high", number(bounds))
                .required("low")
                .required("high")
                .additional_properties(Some(AdditionalProperties::<Schema>::FreeForm(false)))
                .description(Some(format!("90 % interval of: {description}")))
        };
        let stated = |quantity: Quantity| {
            let description = quantity.description();
            Schema::from(
                OneOfBuilder::new()
                    .item(number(quantity.bounds()).description(Some(description.clone())))
                    .item(range(quantity.bounds(), &description))
                    .build(),
            )
        };
        let closed = |object: ObjectBuilder| {
            object.additional_properties(Some(AdditionalProperties::<Schema>::FreeForm(false)))
        };
        let custom = Quantity::in_accelerator().fold(ObjectBuilder::new(), |object, quantity| {
            object.property(quantity.name(), stated(quantity))
        });
        let accelerator = OneOfBuilder::new()
            .item(Ref::from_schema_name(AcceleratorId::name()))
            .item(closed(custom));
        let of_speed = "output speed against the standard tier";
        let speed = OneOfBuilder::new()
            .item(number(Bounds::SPEED).description(Some(of_speed)))
            .item(range(Bounds::SPEED, of_speed));
        let speeds = ObjectBuilder::new()
            .description(Some(
                "output speed by service tier, against the standard tier",
            ))
            .max_properties(Some(64))
            .additional_properties(Some(Schema::from(speed.build())));
        let object = Quantity::top_level()
            .fold(ObjectBuilder::new(), |object, quantity| {
                object.property(quantity.name(), stated(quantity))
            })
            .property("accelerator", Schema::from(accelerator.build()))
            .property("speed_multiplier", speeds);
        RefOr::T(closed(object).build().into())
    }
}

impl ToSchema for AssumptionsSchema {
    fn name() -> std::borrow::Cow<'static, str> {
        "Assumptions".into()
    }
}

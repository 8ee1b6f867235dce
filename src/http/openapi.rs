//! The OpenAPI document, built from the same list of routes as the router.

use std::sync::LazyLock;

use axum::body::Body;
use axum::http::{HeaderMap, Response};
use utoipa::openapi::schema::{
    AdditionalProperties, ArrayItems, ObjectBuilder, OneOfBuilder, Schema, SchemaType, Type,
};
use utoipa::openapi::{Components, OpenApi as Document, Ref, RefOr};
use utoipa::{OpenApi, PartialSchema, ToSchema};

use super::extract::{NoQuery, Query};
use super::names::AcceleratorId;
use super::problem::Problem;
use super::response_cache::CachedBody;
use unroof_core::estimate::row_columns;
use unroof_core::model::quantity::{Bounds, Quantity};

/// Title, licence and tags of the document.
#[derive(OpenApi)]
#[openapi(
    info(
        title = "unroof",
        description = "Reads an LLM provider's public price sheet, inverts the serving roofline behind it, and shows what \
                       the sheet reveals about the machine. POST a sheet to `/infer`; poll `/estimates/latest`.",
        license(name = "MIT OR Apache-2.0"),
    ),
    tags(
        (name = "estimates", description = "Estimates from price sheets"),
        (name = "price sheets", description = "Stored price sheets, price history, and disagreements between catalogs"),
        (name = "catalogs", description = "Import of whole catalogs, and the import runs"),
        (name = "changes", description = "Changes as a list, as a stream and by webhook"),
        (name = "forward", description = "Calculators: speed and cost of serving, layout on racks, training"),
        (name = "reference", description = "Data and equations behind every answer"),
        (name = "health", description = "Liveness and readiness"),
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

/// Adds what utoipa cannot derive: the reading columns of list rows, the references from pages and tables to their rows,
/// and `additionalProperties: false` of an attention group.
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

/// Merges the two derived parts of an attention group, fields and kind, since neither can forbid unknown fields alone.
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

/// Show the OpenAPI document
#[utoipa::path(get, path = "/openapi.json", tag = "reference", responses(
    (status = 200, description = "This document", content_type = "application/json", body = Object, headers(("etag" = String))),
    (status = 304, description = "Not modified"),
    (status = 400, description = "Invalid query", body = Problem, content_type = "application/problem+json"),
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

/// Schema of the assumptions, generated from the table of quantities.
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
        let of_speed = "output speed relative to the standard tier";
        let speed = OneOfBuilder::new()
            .item(number(Bounds::SPEED).description(Some(of_speed)))
            .item(range(Bounds::SPEED, of_speed));
        let speeds = ObjectBuilder::new()
            .description(Some(
                "output speed by service tier, relative to the standard tier",
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

//! The OpenAPI document: what utoipa cannot derive from the handlers, and its route.

use std::sync::LazyLock;

use axum::body::Body;
use axum::http::{HeaderMap, Response};
use utoipa::OpenApi;
use utoipa::openapi::schema::{ArrayItems, ObjectBuilder, Schema, SchemaType, Type};
use utoipa::openapi::{OpenApi as Document, Ref, RefOr};

use super::extract::{NoQuery, Query};
use super::problem::Problem;
use super::response_cache::CachedBody;
use unroof_core::estimate::row_columns;

/// The document as JSON, generated from the handlers by `just bless`.
pub const DOCUMENT: &str = include_str!("../../openapi/openapi.json");

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

/// Adds what utoipa cannot derive: the reading columns of list rows, the references from pages and tables to their rows,
/// and `additionalProperties: false` of an attention group.
pub(super) fn complete(mut document: Document) -> Document {
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
    document
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
    static BODY: LazyLock<CachedBody> =
        LazyLock::new(|| CachedBody::new(DOCUMENT, "application/json", None));
    BODY.respond(&headers)
}

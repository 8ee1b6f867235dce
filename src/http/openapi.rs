//! The API document: one list of routes is both the router and the document.

use std::sync::LazyLock;

use axum::body::Body;
use axum::http::{HeaderMap, Response};
use utoipa::OpenApi;
use utoipa::openapi::schema::{ArrayItems, ObjectBuilder, Schema, SchemaType, Type};
use utoipa::openapi::{OpenApi as Document, Ref, RefOr};

use super::extract::Query;
use super::polling::CachedBody;
use super::problem::Problem;
use super::reference::NoQuery;
use unroof_core::estimate::row_columns;

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
    document
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

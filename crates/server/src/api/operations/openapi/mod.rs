//! The OpenAPI document: what utoipa cannot derive from the handlers, and its route.

mod security;
mod webhooks;

use std::io::Read;
use std::sync::LazyLock;

use axum::body::Body;
use axum::http::{HeaderMap, Response};
use flate2::read::GzDecoder;
use serde_json::Value;
use utoipa::OpenApi;
use utoipa::openapi::schema::{ArrayItems, ObjectBuilder, Schema, SchemaType, Type};
use utoipa::openapi::{OpenApi as Document, Ref, RefOr};

use crate::api::answers::models;
use crate::service::extract::NoQuery;
use unroof_edge::{CachedBody, Problem, QueryRefusals, Unchanged, put_right};
use unroof_infer::estimate::{Column, columns};

/// The document as JSON, generated from the handlers by `just bless` and compressed by `build.rs`.
#[must_use]
pub fn document() -> &'static str {
    static DOCUMENT: LazyLock<String> =
        LazyLock::new(|| decompressed(include_bytes!(concat!(env!("OUT_DIR"), "/openapi.json"))));
    &DOCUMENT
}

/// A text that `build.rs` has compressed.
pub(crate) fn decompressed(compressed: &[u8]) -> String {
    let mut text = String::new();
    GzDecoder::new(compressed)
        .read_to_string(&mut text)
        .expect("the build compresses a text");
    text
}

/// Title, licence, servers and tags of the document.
#[derive(OpenApi)]
#[openapi(
    info(
        title = "unroof",
        description = "Reads an LLM provider's public price sheet, inverts the serving roofline behind it, and shows what \
                       the sheet reveals about the machine. POST a sheet to `/infer`; poll `/estimates/latest`.\n\n\
                       Lists are pages: `next_cursor` leads to the next one. Errors are problems as RFC 9457 describes \
                       them; `request_id` is in the log. The examples are answers of the service itself; in long ones, \
                       each list ends after two items.",
        contact(name = "unroof", url = "https://github.com/unroof/unroof"),
        license(name = "MIT OR Apache-2.0", identifier = "MIT OR Apache-2.0"),
    ),
    servers(
        (url = "/", description = "The service that sends this document"),
        (url = "http://127.0.0.1:8080", description = "A service on this machine, as `unroof serve` starts it"),
    ),
    tags(
        (name = "estimates", description = "Estimates from price sheets"),
        (name = "price sheets", description = "Stored price sheets, price history, and disagreements between catalogs"),
        (name = "catalogs", description = "Import of whole catalogs, and the import runs"),
        (name = "changes", description = "Changes as a list, as a stream and by webhook"),
        (name = "charts", description = "The charts of the pages, as drawings and as figures"),
        (name = "forward", description = "Calculators: speed and cost of serving, layout on racks, training"),
        (name = "reference", description = "Data and equations behind every answer"),
        (name = "access", description = "Keys of clients, and the log of who changed what"),
        (name = "health", description = "Liveness and readiness"),
    ),
    components(schemas(Problem)),
)]
struct Description;

/// The document without its routes.
pub(crate) fn description() -> Document {
    Description::openapi()
}

/// The document as JSON, with what utoipa cannot derive.
pub(crate) fn complete(mut document: Document) -> Value {
    describe_rows(&mut document);
    let sent = webhooks::Webhooks::openapi();
    if let (Some(components), Some(of_sent)) = (&mut document.components, sent.components) {
        components.schemas.extend(of_sent.schemas);
    }
    document.webhooks = Some(sent.paths);
    let mut document = serde_json::to_value(document).unwrap_or_default();
    security::describe(&mut document);
    put_right(&mut document);
    document
}

/// Adds the reading columns of list rows, and the references from pages and tables to their rows.
fn describe_rows(document: &mut Document) {
    let Some(components) = &mut document.components else {
        return;
    };
    let all: Vec<&Column> = columns().iter().collect();
    let of_models: Vec<&Column> = models::described_columns().collect();
    for (name, columns) in [("EstimateItem", all), ("ModelItem", of_models)] {
        let Some(RefOr::T(Schema::Object(row))) = components.schemas.get_mut(name) else {
            continue;
        };
        for column in columns {
            let value = if column.is_flag {
                Type::Boolean
            } else {
                Type::Number
            };
            let value = ObjectBuilder::new()
                .schema_type(SchemaType::from_iter([value, Type::Null]))
                .description(Some(column.description.as_str()))
                .build();
            row.properties.insert(column.name.to_owned(), value.into());
            row.required.push(column.name.to_owned());
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
}

/// Show the OpenAPI document
///
/// This document, as JSON.
#[utoipa::path(get, path = "/openapi.json", tag = "reference", responses(
    (status = 200, description = "This document", content_type = "application/json", body = Object, headers(("etag" = String))),
    QueryRefusals,
    Unchanged,
))]
pub(crate) async fn show_openapi(_: NoQuery, headers: HeaderMap) -> Response<Body> {
    static BODY: LazyLock<CachedBody> =
        LazyLock::new(|| CachedBody::new(document(), "application/json", None));
    BODY.respond(&headers)
}

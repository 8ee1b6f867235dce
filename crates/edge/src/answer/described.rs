//! Answers that several routes share, as the API document describes them.

use std::collections::BTreeMap;

use utoipa::openapi::path::{Parameter, ParameterBuilder, ParameterIn};
use utoipa::openapi::schema::{ObjectBuilder, SchemaType, Type};
use utoipa::openapi::{Content, Ref, RefOr, Required, Response, ResponseBuilder};
use utoipa::{IntoParams, IntoResponses};

use super::problem::PROBLEM_JSON;

/// Declares groups of refusals: the status of each, and its case.
macro_rules! refusals {
    ($($(#[doc = $about:literal])+ $Group:ident { $($status:literal: $case:literal,)+ })+) => {$(
        $(#[doc = $about])+
        pub struct $Group;

        impl IntoResponses for $Group {
            fn responses() -> BTreeMap<String, RefOr<Response>> {
                BTreeMap::from([$(($status.to_owned(), refusal($case)),)+])
            }
        }
    )+};
}

refusals! {
    /// Refusals of a route that reads nothing but its query.
    QueryRefusals {
        "400": "Invalid query",
    }
    /// Refusals of a route that reads its query and the database.
    StoreRefusals {
        "400": "Invalid query",
        "503": "The database is unreachable",
    }
    /// Refusals of a route that shows a model.
    NoModel {
        "404": "No such model",
    }
    /// Refusals of a route that computes what a JSON body asks.
    BodyRefusals {
        "400": "The body is not JSON, or the query is wrong",
        "408": "The body did not arrive in time",
        "413": "Larger than 1 MiB",
        "415": "Not a media type of the body, or not UTF-8",
        "422": "The body is JSON but not a valid request; `errors` lists every fault",
        "503": "The request queue is full, or the database is unreachable where it is needed",
    }
}

/// The header with the ETag of the copy that a client has.
pub struct KnownTag;

impl IntoParams for KnownTag {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        let tag = ParameterBuilder::new().name("if-none-match");
        let tag = tag
            .parameter_in(ParameterIn::Header)
            .required(Required::False);
        let tag = tag.description(Some("ETag of the body the client has"));
        let text = SchemaType::from_iter([Type::String, Type::Null]);
        vec![
            tag.schema(Some(ObjectBuilder::new().schema_type(text)))
                .build(),
        ]
    }
}

/// The answer to a client whose copy is current.
pub struct Unchanged;

impl IntoResponses for Unchanged {
    fn responses() -> BTreeMap<String, RefOr<Response>> {
        let unchanged = ResponseBuilder::new().description("The client's copy is current");
        BTreeMap::from([("304".to_owned(), unchanged.build().into())])
    }
}

fn refusal(case: &str) -> RefOr<Response> {
    let problem = Content::new(Some(Ref::from_schema_name("Problem")));
    let refusal = ResponseBuilder::new().description(case);
    refusal.content(PROBLEM_JSON, problem).build().into()
}

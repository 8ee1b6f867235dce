//! Scopes that the routes need, in the API document.

use serde_json::{Map, Value, json};

use crate::{declared_routes, method_name};
use unroof_store::access::Scope;

/// Name of the scheme.
const KEY: &str = "key";

/// Adds the scheme, the scope of every operation, and the refusals of a caller without it. A webhook is signed and sends no key.
pub(super) fn describe(document: &mut Value) {
    document["components"]["securitySchemes"] = json!({KEY: {
        "type": "http",
        "scheme": "bearer",
        "description": "A key of `unroof keys create NAME --scope SCOPE`. Every operation names the scope that it needs; each \
                        of read, ask, observe and admin includes those before it. A service that only its own machine can \
                        reach needs no key, and others may let callers without one read or ask.",
    }});
    for (path, methods, needed) in declared_routes() {
        for method in methods {
            let method = method_name(&method).to_lowercase();
            if let Some(operation) =
                document["paths"][path.as_str()][method.as_str()].as_object_mut()
            {
                describe_operation(operation, needed);
            }
        }
    }
    if let Some(webhooks) = document["webhooks"].as_object_mut() {
        for webhook in webhooks.values_mut() {
            webhook["post"]["security"] = json!([]);
        }
    }
}

fn describe_operation(operation: &mut Map<String, Value>, needed: Option<Scope>) {
    let Some(scope) = needed else {
        operation.insert("security".to_owned(), json!([]));
        return;
    };
    // Whether a key is needed is the operator's choice, which no document knows.
    operation.insert("security".to_owned(), json!([{}, {KEY: [scope.name()]}]));
    let problem =
        json!({"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}});
    let cases = [
        (
            "401",
            format!("Without a key, or with one that is not valid: this needs the scope `{scope}`"),
            &[("www-authenticate", "Scheme by which a key is sent")][..],
        ),
        (
            "403",
            format!("The key has a narrower scope than `{scope}`"),
            &[],
        ),
        (
            "429",
            "The client has spent its budget, or its share of the request queue or of the change streams"
                .to_owned(),
            &[
                ("retry-after", "Seconds after which it may be sent again"),
                ("ratelimit", "Rest of the budget, and seconds until it is whole"),
                ("ratelimit-policy", "Whole budget, and seconds in which it comes back"),
            ],
        ),
    ];
    let Some(responses) = operation
        .get_mut("responses")
        .and_then(Value::as_object_mut)
    else {
        return;
    };
    for (status, description, headers) in cases {
        let mut refusal = json!({"description": description, "content": problem});
        for (name, description) in headers {
            refusal["headers"][name] =
                json!({"description": description, "schema": {"type": "string"}});
        }
        responses.entry(status).or_insert(refusal);
    }
    responses.sort_keys();
}

//! All rejections, as RFC 9457 problem details.

use std::borrow::Cow;

use axum::body::Body;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use utoipa::openapi::RefOr;
use utoipa::openapi::extensions::ExtensionsBuilder;
use utoipa::openapi::schema::Schema;
use utoipa::{PartialSchema, ToSchema};

use unroof_base::input::RequestError;
use unroof_base::input::cancel::Cancelled;
use unroof_base::input::cursor::{Fault, nearest_names};
use unroof_base::input::schema::one_of_texts;
use unroof_import::CatalogError;
use unroof_jobs::outage;
use unroof_store::access::Refused;
use unroof_store::{Refusal, StoreError};

/// Scheme by which a key is sent, with every 401.
pub const CHALLENGE: &str = "Bearer realm=\"unroof\"";
/// Media type of a problem.
pub const PROBLEM_JSON: &str = "application/problem+json";
/// Type of a problem that says no more than its status.
const BLANK: &str = "about:blank";

/// The answer to a request, or why there is none.
pub type Reply = Result<Response, Problem>;

/// A rejected request, as an RFC 9457 problem.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Problem {
    /// URI of the page that describes this class of problem.
    #[serde(rename = "type")]
    #[schema(value_type = ProblemType)]
    pub kind: Cow<'static, str>,
    /// Name of the class.
    pub title: Cow<'static, str>,
    /// Status code of the response.
    pub status: u16,
    /// The error in this request.
    pub detail: String,
    /// Hint for correcting it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub hint: Option<String>,
    /// All faults, if the body has any.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false)]
    pub errors: Vec<Fault>,
    /// The request's id, as in the header `x-request-id` and in the log.
    pub request_id: String,
    /// Id of the request's trace, as in the log: that of the header `traceparent`, else a new one where the service sends
    /// traces. Left out where the request has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(
        nullable = false,
        pattern = "^[0-9a-f]{32}$",
        example = "4bf92f3577b34da6a3ce929d0e0e4736"
    )]
    pub trace_id: Option<String>,
    /// Reason for which the caller was refused, for the metrics and the audit log.
    #[serde(skip)]
    pub refused: Option<Refused>,
    /// Seconds after which the request may succeed, in the header `Retry-After`, where another time than usual is known.
    #[serde(skip)]
    pub retry_after: Option<u64>,
}

/// The schema of a problem's type.
struct ProblemType;

impl PartialSchema for ProblemType {
    fn schema() -> RefOr<Schema> {
        let addresses = PROBLEM_KINDS.iter().map(ProblemKind::address);
        let names = PROBLEM_KINDS.iter().map(|kind| kind.slug.replace('-', "_"));
        let names: Vec<String> = names.chain(["blank".to_owned()]).collect();
        // Generators of clients name the values by it.
        let names = ExtensionsBuilder::new().add("x-enum-varnames", names);
        one_of_texts(addresses.chain([BLANK.to_owned()]))
            .description(Some(
                "Address of the page that describes a class of problems.",
            ))
            .extensions(Some(names.build()))
            .into()
    }
}

impl ToSchema for ProblemType {}

/// A class of problems.
#[derive(Debug, Clone, Copy)]
pub struct ProblemKind {
    /// Last part of its address.
    pub slug: &'static str,
    status: StatusCode,
    title: &'static str,
    /// Text shown at the address.
    pub description: &'static str,
}

impl ProblemKind {
    /// Address of its page.
    fn address(&self) -> String {
        format!("/problems/{}", self.slug)
    }

    /// The text of the page: status, title and meaning.
    #[must_use]
    pub fn text(&self) -> String {
        let (status, title) = (self.status.as_u16(), self.title);
        format!("{status} {title}\n\n{}\n", self.description)
    }
}

macro_rules! problem_kinds {
    ($($name:ident = $slug:literal, $status:ident, $title:literal, $description:literal;)*) => {
        $(#[doc = $title] pub const $name: ProblemKind = ProblemKind {
            slug: $slug, status: StatusCode::$status, title: $title, description: $description,
        };)*
        /// All classes of problems.
        pub const PROBLEM_KINDS: &[ProblemKind] = &[$($name),*];
    };
}

problem_kinds! {
    UNREADABLE = "unreadable", BAD_REQUEST, "The request cannot be read",
        "The body is not JSON as RFC 8259 describes it, has a key twice in one object, is nested deeper than 32 levels, \
         or contains NUL or a number out of range; or the query string has an unknown name or a value out of range.";
    UNAUTHORIZED = "no-key", UNAUTHORIZED, "A key is needed",
        "The service answers callers with a key: `Authorization: Bearer KEY`. The key is missing, unknown or revoked, or it has \
         expired.";
    FORBIDDEN = "scope", FORBIDDEN, "The key does not allow this",
        "Every key has a scope: read, ask, observe or admin, of which each includes those before it. A key may be limited to \
         networks, and to providers whose prices it writes. `detail` says which of them does not allow the request.";
    MISDIRECTED = "unknown-host", MISDIRECTED_REQUEST, "Host not allowed",
        "The header `Host` must be an IP address, `localhost` or a name that the service was started with: \
         `--allow-host NAME`, or UNROOF_ALLOW_HOST.";
    NOT_FOUND = "not-found", NOT_FOUND, "Not found",
        "No route has this path, or nothing is stored under this id.";
    METHOD_NOT_ALLOWED = "method-not-allowed", METHOD_NOT_ALLOWED, "Method not allowed",
        "The header `Allow` lists the methods of this path.";
    TIMEOUT = "timeout", REQUEST_TIMEOUT, "The request took too long",
        "The response was not ready in time. Sending the request again is safe: the same request is stored once.";
    FULL = "full", CONFLICT, "Limit reached",
        "The limit for this resource is reached. Delete one first.";
    TOO_LARGE = "too-large", PAYLOAD_TOO_LARGE, "The body is too large",
        "The limit is 1 MiB; a price sheet has a few kilobytes. A catalog, sent to `/catalogs`, has a larger limit.";
    UNSUPPORTED_MEDIA_TYPE = "unsupported-media-type", UNSUPPORTED_MEDIA_TYPE, "The body is not JSON in UTF-8",
        "Send `Content-Type: application/json`, in UTF-8 and without content encoding.";
    INVALID = "invalid-request", UNPROCESSABLE_ENTITY, "Invalid request",
        "The body is valid JSON with invalid values. `errors` lists all of them: a JSON pointer to the value, what is \
         wrong, and a hint.";
    CONFLICT = "conflict", CONFLICT, "Conflict with the current state",
        "The request is valid but cannot be carried out now; `detail` says why.";
    INTERNAL = "internal", INTERNAL_SERVER_ERROR, "Internal error",
        "The request is not at fault. The service's log has the details under the request id.";
    LIMITED = "client-limit", TOO_MANY_REQUESTS, "The client sends too much",
        "Every client has a budget, which each request takes from and time refills. `Retry-After` has the seconds after which \
         this request would be answered; `RateLimit` and `RateLimit-Policy` of every answer have the rest and the whole.";
    BUSY = "busy", SERVICE_UNAVAILABLE, "The service is overloaded or shutting down",
        "Send the request again after the number of seconds in `Retry-After`.";
    UNAVAILABLE = "unavailable", SERVICE_UNAVAILABLE, "The database is unreachable",
        "Send the request again after the number of seconds in `Retry-After`.";
    NO_WRITES = "no-writes", SERVICE_UNAVAILABLE, "The database accepts no writes",
        "The disk is full, the database is read-only, its file was replaced, or its tables are those of a newer version of the \
         program. Stored data can still be read. Send the request again when `/readyz` reports ok.";
}

impl Problem {
    /// A problem of a kind, with what was wrong.
    pub fn new(kind: ProblemKind, detail: impl Into<String>) -> Self {
        Self {
            kind: Cow::Owned(kind.address()),
            title: kind.title.into(),
            status: kind.status.as_u16(),
            detail: detail.into(),
            hint: None,
            errors: Vec::new(),
            request_id: String::new(),
            trace_id: None,
            refused: None,
            retry_after: None,
        }
    }

    /// The problem of a caller that is refused: 401 where it is not known, else 403.
    pub fn refusing(refused: Refused, detail: impl Into<String>) -> Self {
        let kind = if refused.is_unknown() {
            UNAUTHORIZED
        } else {
            FORBIDDEN
        };
        Self {
            refused: Some(refused),
            ..Self::new(kind, detail)
        }
    }

    /// Notes the reason for which a caller was refused in the answer, where a layer finds it.
    pub fn note_refusal(&self, response: &mut Response) {
        if let Some(refused) = self.refused {
            response.extensions_mut().insert(refused);
        }
    }

    /// The problem of a query string.
    #[must_use]
    pub fn of_query(detail: &str) -> Self {
        Self::new(UNREADABLE, format!("invalid query string: {detail}"))
    }

    /// Detail and hint of the problem, for the last line of a list.
    #[must_use]
    pub fn into_detail(self) -> String {
        match self.hint {
            Some(hint) => format!("{}; {hint}", self.detail),
            None => self.detail,
        }
    }

    /// Adds the name that was probably meant, if one is near, and where all names are.
    #[must_use]
    pub fn hint_of(self, name: &str, known: &[&str], listed: &str) -> Self {
        match nearest_names(name, known).first() {
            Some(nearest) => self.hint(format!("did you mean `{nearest}`? {listed}")),
            None => self.hint(listed),
        }
    }

    /// Adds what would be right.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// A problem for a request that was not started, with a hint to retry.
    #[must_use]
    pub fn busy(detail: &str) -> Self {
        Self::new(BUSY, detail).hint("send the request again in a second")
    }

    /// Whether the cause is an unreachable database.
    #[must_use]
    pub fn is_unavailable(&self) -> bool {
        self.kind.ends_with(UNAVAILABLE.slug)
    }

    /// Whether it is of a class.
    #[must_use]
    pub fn is_of(&self, kind: ProblemKind) -> bool {
        self.kind.ends_with(&format!("/{}", kind.slug))
    }

    /// The problem that nothing is stored under a name.
    #[must_use]
    pub fn not_found(what: &str) -> Self {
        Self::new(NOT_FOUND, format!("there is no {what} with this id"))
    }

    /// The problem for a response that could not be written.
    #[must_use]
    pub fn not_serialised<E>(_: E) -> Self {
        Self::new(INTERNAL, "the response could not be serialised")
    }

    /// The problem for a status code set below the handlers.
    #[must_use]
    pub fn of_status(status: StatusCode) -> Self {
        let known = PROBLEM_KINDS.iter().find(|kind| kind.status == status);
        match known {
            Some(kind) => Self::new(*kind, kind.title),
            None => Self {
                kind: BLANK.into(),
                title: status.canonical_reason().unwrap_or("Refused").into(),
                status: status.as_u16(),
                ..Self::new(INTERNAL, status.canonical_reason().unwrap_or("Refused"))
            },
        }
    }

    /// The response, once the ids of the request and its trace are known.
    pub fn render(
        mut self,
        request_id: &str,
        trace_id: Option<&str>,
        response: Response,
    ) -> Response {
        request_id.clone_into(&mut self.request_id);
        self.trace_id = trace_id.map(str::to_owned);
        let body = serde_json::to_vec(&self).unwrap_or_default();
        let (mut parts, _) = response.into_parts();
        let mut set = |name, value| parts.headers.insert(name, HeaderValue::from_static(value));
        set(header::CONTENT_TYPE, PROBLEM_JSON);
        set(header::CACHE_CONTROL, "no-store");
        // The rest of the body may never arrive, or be larger than the service reads.
        if [StatusCode::REQUEST_TIMEOUT, StatusCode::PAYLOAD_TOO_LARGE].contains(&parts.status) {
            set(header::CONNECTION, "close");
        }
        if parts.status == StatusCode::SERVICE_UNAVAILABLE {
            set(header::RETRY_AFTER, "1");
        }
        if parts.status == StatusCode::UNAUTHORIZED {
            set(header::WWW_AUTHENTICATE, CHALLENGE);
        }
        if parts.status == StatusCode::TOO_MANY_REQUESTS {
            // The budget of a client says how long.
            let wait = parts.headers.entry(header::RETRY_AFTER);
            wait.or_insert(self.retry_after.unwrap_or(1).into());
        }
        parts.headers.remove(header::CONTENT_LENGTH);
        Response::from_parts(parts, Body::from(body))
    }
}

/// The body is written when the request id is known, by the layer around all routes.
impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let mut response = status.into_response();
        self.note_refusal(&mut response);
        response.extensions_mut().insert(self);
        response
    }
}

impl From<RequestError> for Problem {
    fn from(error: RequestError) -> Self {
        match error {
            RequestError::Unreadable(error) => {
                Self::new(UNREADABLE, error.to_string()).hint(error.hint)
            }
            RequestError::Wrong(faults) => Self::from_faults(faults),
        }
    }
}

impl Problem {
    fn from_faults(faults: Vec<Fault>) -> Self {
        let detail = match faults.as_slice() {
            [fault] if fault.pointer.is_empty() => fault.detail.clone(),
            [fault] => format!("{}: {}", fault.pointer, fault.detail),
            faults => format!("{} faults; see `errors`", faults.len()),
        };
        let problem = Self::new(INVALID, detail);
        let hint = faults
            .first()
            .filter(|_| faults.len() == 1)
            .map(|fault| fault.hint.clone());
        Self {
            hint,
            errors: faults,
            ..problem
        }
    }
}

impl Problem {
    /// The problem for a write that the database does not take.
    fn of_refusal(refusal: Refusal) -> Self {
        let detail = match refusal {
            Refusal::Disk => "the database's disk is full or failing",
            Refusal::ReadOnly => "the database is read-only at the moment",
            Refusal::Replaced => "the database file was replaced: new data would be lost",
            Refusal::NewerTables(newer) => {
                return Self::new(NO_WRITES, format!("this service only reads: {newer}"))
                    .hint("send the request to a service of that version or a newer one");
            }
        };
        Self::new(NO_WRITES, detail).hint(
            "stored answers can still be read; send the request again when `/readyz` reports ok: the same request is stored once",
        )
    }
}

/// Logs the error with its causes; the client sees only the class.
impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Self {
        outage::note(&error);
        if let Some(refusal) = error.refusal() {
            Self::of_refusal(refusal)
        } else if error.is_temporary() {
            Self::new(UNAVAILABLE, "the database is unreachable at the moment")
                .hint("send the request again in a second; the same request is stored once")
        } else if let StoreError::Missing(_) = error {
            Self::new(UNAVAILABLE, error.to_string()).hint("restore the database from a backup")
        } else if let StoreError::Damaged(_) = error {
            Self::new(INTERNAL, error.to_string())
                .hint("restore the document from a database backup")
        } else {
            Self::new(INTERNAL, "the request could not be carried out")
        }
    }
}

impl From<Cancelled> for Problem {
    fn from(cancelled: Cancelled) -> Self {
        Self::new(INTERNAL, cancelled.to_string())
    }
}

impl From<CatalogError> for Problem {
    fn from(error: CatalogError) -> Self {
        match error {
            CatalogError::Wrong(error) => error.into(),
            unknown @ CatalogError::Unrecognized(_) => Self::new(INVALID, unknown.to_string())
                .hint(
                    "send a whole catalog as it is published, with its own `format` or with none",
                ),
            none @ CatalogError::NoProvider(_) => Self::new(INVALID, none.to_string())
                .hint("name a provider as the sheets of the catalog do, or leave `provider` out"),
            much @ CatalogError::TooMuch(_) => Self::new(INVALID, much.to_string())
                .hint("send a part of it at a time, such as one provider"),
            several @ CatalogError::SeveralFormats(..) => Self::new(INVALID, several.to_string())
                .hint("send the documents of each catalog in a request of their own"),
            damaged @ CatalogError::Damaged => Self::new(INTERNAL, damaged.to_string()),
            ended @ (CatalogError::Unwanted | CatalogError::Crashed) => {
                Self::new(INTERNAL, ended.to_string())
            }
        }
    }
}

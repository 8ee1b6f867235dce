//! Requests that the service sends, for the section `webhooks` of the document.

use utoipa::OpenApi;

use unroof_jobs::ChangeDelivery;

/// Changes, as a webhook gets them
///
/// Sent to the address of a webhook, in commit order and at least once. Any 2xx confirms the delivery; after any other
/// response it is sent again, up to eight times within a day.
#[utoipa::path(
    post,
    path = "changes",
    tag = "changes",
    params(
        ("webhook-id" = Uuid, Header, description = "Id of the message, the same at every attempt",
            example = "7f8e6f0a-5f0b-4b52-9d5c-0c1d2f6f3a10"),
        ("webhook-timestamp" = i64, Header, description = "Time of sending, in seconds since 1970", example = 1_795_262_400),
        ("webhook-signature" = String, Header,
            description = "`v1,` and the base64 HMAC-SHA256 of `webhook-id`, `webhook-timestamp` and the body, joined by dots, with the webhook's secret as key: the Standard Webhooks scheme",
            example = "v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4="),
    ),
    request_body(content = ChangeDelivery, content_type = "application/json", description = "Up to 100 changes"),
    responses(
        (status = 200, description = "Confirms the delivery, as any 2xx does; the body is not read"),
        (status = 410, description = "Ends the webhook"),
    )
)]
#[expect(dead_code, reason = "receivers do this, not the service")]
fn receive_changes() {}

/// All requests that the service sends to receivers.
#[derive(OpenApi)]
#[openapi(paths(receive_changes))]
pub(super) struct Webhooks;

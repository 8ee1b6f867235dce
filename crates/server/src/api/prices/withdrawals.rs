//! `/price-sheets/{id}/withdraw` and `/price-sheets/{id}/withdrawal`: withdrawn prices.

use std::sync::Arc;

use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use serde::Serialize;
use utoipa::ToSchema;
use uuid::Uuid;

use crate::answers::Answers;
use crate::service::access::Sender;
use crate::service::extract::{JsonBody, NoQuery, Path};
use unroof_base::input;
use unroof_edge::{BodyRefusals, CONFLICT, Problem, Reply, StoreRefusals};
use unroof_store::{Acted, DbTime};

/// Reason for the withdrawal of a price.
#[derive(Debug, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct WithdrawRequest {
    /// Reason, shown in the price history.
    #[schema(value_type = unroof_base::input::schema::Text, example = "the rise announced for January was called off")]
    reason: String,
}

impl WithdrawRequest {
    fn read(text: &[u8]) -> Result<Self, Problem> {
        let request = input::read(text, |body| {
            let fields = body.fields()?;
            let reason = fields.required("reason", "state the reason; the price history shows it");
            let reason = reason.and_then(|reason| reason.text());
            fields.refuse_unknown();
            Some(Self { reason: reason? })
        });
        Ok(request?)
    }
}

/// A price that is withdrawn.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct WithdrawnSheet {
    /// Id of the sheet.
    sheet_id: Uuid,
    /// Time of the withdrawal.
    #[schema(value_type = String, format = DateTime)]
    withdrawn_at: DbTime,
    /// Reason for the withdrawal.
    reason: String,
}

/// Withdraw a price
///
/// A price in force ends now, an announced one is cancelled, and what held before holds again: another source's price, or
/// the one before. The sheet and its estimates stay stored, and the history shows the reason. A repeated request changes
/// nothing. The price is in force again when it is sent again, when its catalog is read again and still lists it, or when
/// the withdrawal is undone: `DELETE /price-sheets/{id}/withdrawal`.
#[utoipa::path(
    post,
    path = "/price-sheets/{id}/withdraw",
    tag = "price sheets",
    params(("id" = Uuid, Path, description = "Id of the pricing content")),
    request_body(content = WithdrawRequest, content_type = "application/json",
        example = json!({"reason": "the output price lacked a digit"})),
    responses(
        (status = 200, description = "It is withdrawn", body = WithdrawnSheet),
        BodyRefusals,
        (status = 404, description = "No such sheet", body = Problem, content_type = "application/problem+json"),
        (status = 409, description = "The price is neither in force nor announced", body = Problem, content_type = "application/problem+json"),
    )
)]
pub(crate) async fn withdraw_price_sheet(
    State(answers): State<Arc<Answers>>,
    Path(id): Path<Uuid>,
    _: NoQuery,
    sender: Sender,
    JsonBody(body): JsonBody,
) -> Reply {
    let request = WithdrawRequest::read(&body)?;
    check_provider(&answers, &sender, id).await?;
    let now = answers.store.time_to_record(answers.now()).await;
    let because = Some(request.reason);
    let withdrawn = answers.store.withdraw(id, because, now, sender.actor);
    match withdrawn.await? {
        None => Err(Problem::not_found("price sheet")),
        Some(Acted::Over | Acted::Done(None)) => Err(Problem::new(
            CONFLICT,
            "the sheet is neither in force nor announced",
        )
        .hint("GET /offers/{provider}/{model}/history lists every price with its period")),
        Some(Acted::Done(Some((at, reason)))) => {
            let answer = WithdrawnSheet {
                sheet_id: id,
                withdrawn_at: at.into(),
                reason,
            };
            let text = serde_json::to_string(&answer).map_err(Problem::not_serialised)?;
            Ok(([(header::CONTENT_TYPE, "application/json")], text).into_response())
        }
    }
}

/// Undo a withdrawal
///
/// Restores the price as if it had not been withdrawn. A repeated request changes nothing; for a sheet that is not
/// withdrawn, the request has no effect.
#[utoipa::path(
    delete,
    path = "/price-sheets/{id}/withdrawal",
    tag = "price sheets",
    params(("id" = Uuid, Path, description = "Id of the pricing content")),
    responses(
        (status = 204, description = "It is not withdrawn"),
        StoreRefusals,
        (status = 404, description = "No such sheet", body = Problem, content_type = "application/problem+json"),
    )
)]
pub(crate) async fn reinstate_price_sheet(
    State(answers): State<Arc<Answers>>,
    Path(id): Path<Uuid>,
    _: NoQuery,
    sender: Sender,
) -> Result<StatusCode, Problem> {
    check_provider(&answers, &sender, id).await?;
    let now = answers.store.time_to_record(answers.now()).await;
    let reinstated = answers.store.withdraw(id, None, now, sender.actor);
    match reinstated.await? {
        Some(_) => Ok(StatusCode::NO_CONTENT),
        None => Err(Problem::not_found("price sheet")),
    }
}

/// Checks whether the sender may write prices of the provider of a sheet.
async fn check_provider(answers: &Answers, sender: &Sender, sheet: Uuid) -> Result<(), Problem> {
    if sender.providers.is_any() {
        return Ok(());
    }
    let provider = answers.store.provider_of(sheet).await?;
    sender.check_providers(provider.as_deref())
}

//! `POST /simulate`, `/layout`, `/training` and `/plan`: the calculators, each with its answer as JSON or its series as CSV.

use std::sync::Arc;
use std::time::Duration;

use axum::Extension;
use axum::body::Bytes;
use axum::extract::{FromRef, FromRequest, FromRequestParts, Request};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use serde::Serialize;

use crate::compute::{CALCULATE, Compute, PLAN, Views, Work};
use crate::service::extract::{NoQuery, Question};
use unroof_edge::{
    BodyRefusals, Counted, Estimate, Problem, Running, Text, prefers_csv, write_csv_of_rows,
};
use unroof_roofline::calculator::layout::request::LayoutRequest;
use unroof_roofline::calculator::layout::{LayoutAnswer, layout};
use unroof_roofline::calculator::simulate::request::SimulateRequest;
use unroof_roofline::calculator::simulate::{SimulationAnswer, read_simulation};
use unroof_roofline::calculator::training::request::TrainingRequest;
use unroof_roofline::calculator::training::{TrainingAnswer, training};
use unroof_roofline::plan::question::request::PlanRequest;
use unroof_roofline::plan::{PlanAnswer, read_plan};

/// A question to a calculator.
pub(crate) struct Asked {
    compute: Arc<Compute>,
    body: Bytes,
    /// Whether the client wants the series alone, as CSV.
    is_csv: bool,
}

impl<S: Send + Sync> FromRequest<S> for Asked
where
    Views: FromRef<S>,
{
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        let (mut parts, body) = request.into_parts();
        let NoQuery {} = NoQuery::from_request_parts(&mut parts, state).await?;
        let is_csv = prefers_csv(&parts.headers);
        let request = Request::from_parts(parts, body);
        let Views { compute, .. } = Views::from_ref(state);
        let Question(body) = Question::from_request(request, state).await?;
        Ok(Self {
            compute,
            body,
            is_csv,
        })
    }
}

impl Asked {
    /// Answer of a calculator: all of it as JSON, or its series as CSV. For a long answer, the calculator reserves memory
    /// before it computes.
    pub(crate) async fn answered<Answer: Serialize, Row: Serialize>(
        self,
        work: Work,
        answer: impl FnOnce(&[u8], &mut Text, &Running) -> Result<Answer, Problem> + Send + 'static,
        series: impl FnOnce(&Answer) -> &[Row] + Send + 'static,
    ) -> Result<Response, Problem> {
        let Self {
            compute,
            body,
            is_csv,
        } = self;
        let budget = compute.budget.clone();
        let text = compute
            .run(work, move |running| {
                let mut text = Text::new(&budget)?;
                let answer = answer(&body, &mut text, running)?;
                if is_csv {
                    text.write_with(|text| write_csv_of_rows(text, series(&answer)))?;
                } else {
                    text.write_with(|text| serde_json::to_writer(text, &answer))?;
                }
                text.finish()
            })
            .await?;
        let media_type = if is_csv {
            "text/csv; charset=utf-8"
        } else {
            "application/json"
        };
        let headers = [(header::CONTENT_TYPE, media_type), (header::VARY, "accept")];
        Ok((headers, Extension(Counted), text).into_response())
    }
}

/// Approximate bytes of the answer per point of a grid.
const BYTES_PER_POINT: usize = 700;

/// Simulate a model on a machine
///
/// Time of a decode step and of a prefill pass by component, speed per user and per accelerator, memory, the
/// largest batch that fits, cost per token. With `grid`, `series` repeats it over batches and contexts; `Accept:
/// text/csv` gives the series alone. With `price_sheet`, the answer has the sheet that the machine implies, ready to be
/// sent to `/infer`. Nothing is stored.
#[utoipa::path(
    post,
    path = "/simulate",
    tag = "forward",
    request_body(content = SimulateRequest, content_type = "application/json", example = json!({
        "model": "DeepSeek-V3",
        "machine": {"accelerator": "h800", "chips": 144},
        "precision": {"weight_bytes_per_parameter": 1, "kv_bytes_per_element": 2},
        "load": {"batch_per_chip": 88, "context_tokens": 4989},
        "grid": {"batch": {"from": 1, "to": 20_000, "points": 40}},
        "price_sheet": {"input_margin": 0.5, "output_margin": 0.5, "thresholds_tokens": [32_000]}
    })),
    responses(
        (status = 200, description = "Answered", content((SimulationAnswer = "application/json"), (String = "text/csv"))),
        BodyRefusals,
    )
)]
pub(crate) async fn simulate_model(asked: Asked) -> Result<Response, Problem> {
    let answer = |body: &[u8], text: &mut Text, _: &Running| {
        let question = read_simulation(body)?;
        text.expect(question.points() * BYTES_PER_POINT)?;
        Ok(question.answer())
    };
    asked
        .answered(CALCULATE, answer, |answer| &answer.series)
        .await
}

/// Lay a model out on racks
///
/// Placement of experts within and across racks and their traffic, the largest expert layer that one scale-up domain
/// holds, costs of pipeline stages, and memory use of a chip. `series` has the layout over the number of
/// stages; `Accept: text/csv` gives it alone. Nothing is stored.
#[utoipa::path(
    post,
    path = "/layout",
    tag = "forward",
    request_body(content = LayoutRequest, content_type = "application/json", example = json!({
        "model": {"total_parameters": 671e9, "active_parameters": 37e9, "experts": {"routed": 256, "active": 8}},
        "machine": {"accelerator": "gb200-nvl72"},
        "layout": {"expert_parallel_chips": 64, "pipeline_stages": 4}
    })),
    responses(
        (status = 200, description = "Answered", content((LayoutAnswer = "application/json"), (String = "text/csv"))),
        BodyRefusals,
    )
)]
pub(crate) async fn lay_out_model(asked: Asked) -> Result<Response, Problem> {
    let answer = |body: &[u8], _: &mut Text, _: &Running| Ok(layout(body)?);
    asked
        .answered(CALCULATE, answer, |answer| &answer.series)
        .await
}

/// Plan the training of a model
///
/// Tokens and compute of pretraining, reinforcement learning and inference at equal cost, from traffic and lifetime;
/// overtraining; the memory of activations under several recomputation schemes; and the dense equivalent of a sparse
/// model. `series` has the dense equivalents over sparsity; `Accept: text/csv` gives it alone. Nothing is stored.
#[utoipa::path(
    post,
    path = "/training",
    tag = "forward",
    request_body(content = TrainingRequest, content_type = "application/json", example = json!({
        "model": {"total_parameters": 3.2e12, "active_parameters": 1e11},
        "machine": {"accelerator": "gb200-nvl72", "chips": 100_000},
        "load": {"tokens_per_second": 500e6},
        "service": {"lifetime_days": 60, "model_share": 0.1}
    })),
    responses(
        (status = 200, description = "Answered", content((TrainingAnswer = "application/json"), (String = "text/csv"))),
        BodyRefusals,
    )
)]
pub(crate) async fn plan_training(asked: Asked) -> Result<Response, Problem> {
    let answer = |body: &[u8], _: &mut Text, _: &Running| Ok(training(body)?);
    asked
        .answered(CALCULATE, answer, |answer| &answer.series)
        .await
}

/// Plan the serving of a model
///
/// Layouts (tensor, expert, data and pipeline parallelism; prompts and answers on the same chips or on chips of their
/// own) that keep the limits on the time to the first token and per generated token, ranked by cost, with chips,
/// throughput, latency by part, memory, USD per request, million tokens and day, power, and what binds. `front` has the
/// cheapest plan over speed, `sensitivity` the change of cost with each input, `offload` caches kept outside the
/// accelerators. With `grid`, `series` has passes from decoding to prefill, cache hit rates and numbers of chips;
/// `Accept: text/csv` gives the series alone. Nothing is stored.
#[utoipa::path(
    post,
    path = "/plan",
    tag = "forward",
    request_body(content = PlanRequest, content_type = "application/json", example = json!({
        "model": "Llama-3.1-70B",
        "machine": {"accelerator": "h100-sxm"},
        "precision": {"weight_bytes_per_parameter": 1, "kv_bytes_per_element": 1},
        "load": {"input_tokens": 4096, "output_tokens": 1024, "requests_per_second": 20},
        "limits": {"time_to_first_token_seconds": 1, "time_per_output_token_seconds": 0.025},
        "grid": {"cache_hit_rate": [0, 0.5, 0.9]}
    })),
    responses(
        (status = 200, description = "Answered", content((PlanAnswer = "application/json"), (String = "text/csv"))),
        BodyRefusals,
    )
)]
pub(crate) async fn plan_serving(asked: Asked) -> Result<Response, Problem> {
    let answer = |body: &[u8], _: &mut Text, running: &Running| planned(body, running);
    asked.answered(PLAN, answer, |answer| &answer.series).await
}

/// CPU time of a layout that is tried.
const CPU_OF_LAYOUT: Duration = Duration::from_micros(50);

/// The answer to a planning request, if it takes no more than one request may.
pub(super) fn planned(body: &[u8], running: &Running) -> Result<PlanAnswer, Problem> {
    let planning = read_plan(body)?;
    let tried = u32::try_from(planning.layouts_tried()).unwrap_or(u32::MAX);
    let estimate = Estimate {
        cpu: CPU_OF_LAYOUT.saturating_mul(tried),
        ..CALCULATE.estimate
    };
    running.expects(
        estimate,
        "ask for fewer points of `grid`, for one accelerator in place of `all`, or for fewer degrees of `layouts`",
    )?;
    Ok(planning.answer(running.wanted())?)
}

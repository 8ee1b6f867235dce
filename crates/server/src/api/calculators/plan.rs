//! `POST /plan`: the layouts that serve a load within limits on latency, as JSON or its series as CSV.

use axum::response::Response;

use super::calculator::Asked;
use unroof_edge::{BodyRefusals, Problem, Text};
use unroof_roofline::plan::question::request::PlanRequest;
use unroof_roofline::plan::{PlanAnswer, plan};

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
    let answer = |body: &[u8], _: &mut Text| Ok(plan(body)?);
    asked.answered(answer, |answer| &answer.series).await
}

//! `GET /problems/{slug}`: the meaning of each kind of problem.

use crate::service::extract::{NoQuery, Path};
use unroof_edge::{NOT_FOUND, PROBLEM_KINDS, Problem, ProblemKind, QueryRefusals};

/// Describe a class of problems
///
/// The `type` of a problem is the address of this page.
#[utoipa::path(get, path = "/problems/{slug}", tag = "reference",
    params(("slug" = String, Path, description = "Last part of the address", example = "invalid-request")),
    responses(
        (status = 200, description = "Description of the class", body = String, content_type = "text/plain"),
        QueryRefusals,
        (status = 404, description = "No such class", body = Problem, content_type = "application/problem+json"),
    ))]
pub(crate) async fn describe_problem(
    Path(slug): Path<String>,
    _: NoQuery,
) -> Result<String, Problem> {
    let kind = PROBLEM_KINDS.iter().find(|kind| kind.slug == slug);
    kind.map(ProblemKind::text)
        .ok_or_else(|| Problem::new(NOT_FOUND, "there is no problem class with this address"))
}

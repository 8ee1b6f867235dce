//! The market: all models with their prices and estimates, searched, filtered and sorted. The page and its chart show it.

mod question;
mod snapshot;

use std::sync::Arc;

use super::compute::Views;
use unroof_edge::Problem;
use unroof_store::DbTime;

pub(super) use question::{MarketQuestion, PARAMETERS, ROWS, Sort};
pub(super) use snapshot::{Market, MarketModel, Markets, Price};

/// The market as of the time that a question asks for.
///
/// # Errors
/// A query fails.
pub(super) async fn read(views: &Views, question: &MarketQuestion) -> Result<Arc<Market>, Problem> {
    let as_of = question.time().map(DbTime::from);
    let asked = (
        views.answers.version().await?,
        as_of,
        views.answers.now().into(),
    );
    let market = views
        .compute
        .markets
        .get(&views.answers.store, &views.compute.estimator, asked);
    Ok(market.await?)
}

impl MarketQuestion {
    /// The models of its page, among those that it selects.
    pub(super) fn of_page<'a>(&self, selected: &[&'a MarketModel]) -> Vec<&'a MarketModel> {
        let before = (self.page - 1).saturating_mul(ROWS);
        selected.iter().skip(before).take(ROWS).copied().collect()
    }
}

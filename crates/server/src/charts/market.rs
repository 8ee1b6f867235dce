//! The estimates of the models of a market page, on one axis.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::IntoDeserializer;
use serde::de::value::{Error, MapDeserializer};

use super::Question;
use crate::compute::Views;
use crate::market;
use crate::market::{Market, MarketModel, Parameters};
use unroof_edge::answer::problem::{Problem, UNREADABLE};
use unroof_infer::estimate::quantities::JointQuantity;
use unroof_report::chart::Chart;
use unroof_report::chart::kinds::strip::{Strip, Strips};

/// The estimates of the models that a market page lists.
///
/// # Errors
/// A parameter cannot be read, or a query fails.
pub(super) async fn market(views: &Views, question: &Question) -> Result<Chart, Problem> {
    let pairs: BTreeMap<&str, &str> = market::PARAMETERS
        .iter()
        .filter_map(|name| Some((*name, question.last(name)?)))
        .collect();
    let pairs = MapDeserializer::<_, Error>::new(pairs.into_iter());
    let parameters = Parameters::deserialize(pairs.into_deserializer())
        .map_err(|error| Problem::new(UNREADABLE, format!("invalid query string: {error}")))?;
    let asked = market::MarketQuestion::read(parameters)?;
    let market = market::read(views, &asked).await?;
    let selected = asked.select(&market.models);
    let models = asked.of_page(&selected);
    Ok(chart_of(&market, &models, asked.quantity))
}

fn chart_of(market: &Market, models: &[&MarketModel], quantity: JointQuantity) -> Chart {
    let label = quantity.definition().label;
    let rows: Vec<(String, Strip)> = models
        .iter()
        .filter_map(|model| Some((model.name.clone(), market.strip(model, quantity)?)))
        .collect();
    let identified = rows.iter().filter(|(_, strip)| strip.identified).count();
    let strips = Strips {
        title: format!(
            "The {label} of {identified} of {} models are identified",
            rows.len()
        ),
        description: format!(
            "Each strip is the estimate of the {label} of a model: the dot is the median, the dark part the 50 % interval, the \
             light part that of 90 %, grey the prior, an upright mark the published value. It is faint where the quantity is not identified."
        ),
        domain: market.domain(quantity),
        rows,
    };
    strips.chart()
}

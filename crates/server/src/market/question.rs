//! The question of the market page: what its address says.

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;

use super::snapshot::{MarketModel, Price};
use crate::question::Question;
use unroof_edge::Problem;
use unroof_infer::estimate::quantities::JointQuantity;

/// Names of the parameters.
pub(crate) const PARAMETERS: [&str; 12] = [
    "q",
    "author",
    "hosts",
    "price",
    "quantity",
    "identified",
    "open",
    "copies",
    "as_of",
    "sort",
    "order",
    "page",
];

/// Column by which the models are sorted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sort {
    Name,
    Hosts,
    Lowest,
    Median,
    Quantity,
}

impl Sort {
    pub(crate) const ALL: [(Self, &'static str); 5] = [
        (Self::Name, "name"),
        (Self::Hosts, "hosts"),
        (Self::Lowest, "lowest"),
        (Self::Median, "median"),
        (Self::Quantity, "quantity"),
    ];

    pub(crate) fn name(self) -> &'static str {
        let named = Self::ALL.into_iter().find(|(sort, _)| *sort == self);
        named.map_or("", |(_, name)| name)
    }

    /// Whether the largest values come first where no order is asked for.
    fn begins_descending(self) -> bool {
        matches!(self, Self::Quantity | Self::Hosts)
    }
}

/// The question: which models, by which quantity, in which order.
#[derive(Debug, Clone, PartialEq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a box to tick")]
pub(crate) struct MarketQuestion {
    /// The parameters, without the empty ones.
    asked: Question,
    /// Part of the name.
    pub(crate) q: String,
    /// Author; all where it is empty.
    pub(crate) author: String,
    /// Least number of hosts.
    pub(crate) hosts: usize,
    /// Highest blended price, USD per million tokens.
    pub(crate) price: Option<f64>,
    pub(crate) quantity: JointQuantity,
    /// Only models of which the quantity is identified.
    pub(crate) identified: bool,
    /// Only models whose architecture is published.
    pub(crate) open: bool,
    /// Whether equal prices of several hosts count once.
    pub(crate) copies: bool,
    /// The day at whose beginning the prices are in force.
    pub(crate) as_of: Option<Date>,
    pub(crate) sort: Sort,
    pub(crate) descending: bool,
    /// Number of the page, from 1.
    pub(crate) page: usize,
}

/// Rows of a page.
pub(crate) const ROWS: usize = 100;

impl MarketQuestion {
    /// Reads the parameters.
    ///
    /// # Errors
    /// One of them has a value that it cannot have.
    pub(crate) fn read(question: &Question) -> Result<Self, Problem> {
        let sort = question.one_of("sort", &Sort::ALL)?.unwrap_or(Sort::Name);
        let order = question.one_of("order", &[(false, "asc"), (true, "desc")])?;
        let quantities = JointQuantity::ALL.map(|quantity| (quantity, quantity.name()));
        let is_on = |name: &str| !matches!(question.text(name), "" | "0");
        let quantity = question.one_of("quantity", &quantities)?;
        Ok(Self {
            // Nothing is said by a field that is empty.
            asked: question.set("page", question.text("page")),
            q: question.text("q").to_owned(),
            author: question.text("author").to_owned(),
            hosts: question.number("hosts")?.unwrap_or(0),
            price: question.number("price")?,
            quantity: quantity.unwrap_or(JointQuantity::ActiveParameters),
            identified: is_on("identified"),
            open: is_on("open"),
            copies: is_on("copies"),
            as_of: question.parsed("as_of", "a day such as 2026-05-01")?,
            sort,
            descending: order.unwrap_or(sort.begins_descending()),
            page: question.number("page")?.unwrap_or(1).max(1),
        })
    }

    /// The time as of which prices are in force.
    pub(crate) fn time(&self) -> Option<Timestamp> {
        let start = self.as_of?.to_zoned(TimeZone::UTC).ok()?;
        Some(start.timestamp())
    }

    /// The address of a page of the models that it selects.
    pub(crate) fn address_of(&self, page: usize) -> String {
        let page = if page > 1 {
            page.to_string()
        } else {
            String::new()
        };
        self.asked.set("page", &page).address("/ui/")
    }

    /// The address of its chart in a form.
    pub(crate) fn chart(&self, form: &str) -> String {
        self.asked.address(&format!("/charts/market.{form}"))
    }

    /// The address of the page sorted by a column; by the other direction where it is sorted by it already.
    pub(crate) fn sorted_by(&self, sort: Sort) -> String {
        let descending = if self.sort == sort {
            !self.descending
        } else {
            sort.begins_descending()
        };
        let sorted = self.asked.set("page", "").set("sort", sort.name());
        let order = if descending { "desc" } else { "asc" };
        sorted.set("order", order).address("/ui/")
    }

    /// The models that are asked for, in order.
    pub(crate) fn select<'a>(&self, models: &'a [MarketModel]) -> Vec<&'a MarketModel> {
        let mut selected: Vec<&MarketModel> =
            models.iter().filter(|model| self.has(model)).collect();
        let key = |model: &MarketModel| self.key(model);
        // The models come by name; those without a value are last in both directions.
        selected.sort_by(|left, right| match (key(left), key(right)) {
            (Some(left), Some(right)) if self.descending => right.total_cmp(&left),
            (Some(left), Some(right)) => left.total_cmp(&right),
            (left, right) => right.is_some().cmp(&left.is_some()),
        });
        if self.sort == Sort::Name && self.descending {
            selected.reverse();
        }
        selected
    }

    fn key(&self, model: &MarketModel) -> Option<f64> {
        #[expect(clippy::cast_precision_loss, reason = "hosts are few")]
        match self.sort {
            Sort::Name => None,
            Sort::Hosts => Some(model.hosts as f64),
            Sort::Lowest => model.lowest().map(Price::blended),
            Sort::Median => model.median(self.copies).map(Price::blended),
            Sort::Quantity => {
                let public = model.truth(self.quantity);
                public.or(model.estimate(self.quantity)?.median)
            }
        }
    }

    fn has(&self, model: &MarketModel) -> bool {
        let sought = letters(&self.q);
        let is_identified =
            || model.estimate(self.quantity).and_then(|of| of.identified) == Some(true);
        let is_cheap = |most: f64| model.lowest().is_some_and(|price| price.blended() <= most);
        letters(&model.name).contains(&sought)
            && (self.author.is_empty() || model.author == self.author)
            && model.hosts >= self.hosts
            && self.price.is_none_or(is_cheap)
            && (!self.identified || is_identified())
            && (!self.open || model.is_open())
    }
}

/// The letters and digits of a name: `Claude Opus 4.6` finds `claude-opus-4-6`.
fn letters(name: &str) -> String {
    let letters = name.chars().filter(|sign| sign.is_alphanumeric());
    letters.flat_map(char::to_lowercase).collect()
}

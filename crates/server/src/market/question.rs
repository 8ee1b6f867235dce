//! The question of the market page: what its address says.

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use serde::Deserialize;
use url::form_urlencoded::Serializer;

use super::snapshot::{MarketModel, Price};
use unroof_edge::answer::problem::{Problem, UNREADABLE};
use unroof_infer::estimate::quantities::JointQuantity;

/// The parameters as they are sent: a form sends empty ones too.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Parameters {
    q: String,
    author: String,
    hosts: String,
    price: String,
    quantity: String,
    identified: String,
    open: String,
    copies: String,
    as_of: String,
    sort: String,
    order: String,
    page: String,
}

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
}

/// The question: which models, by which quantity, in which order.
#[derive(Debug, Clone, PartialEq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a box to tick")]
pub(crate) struct MarketQuestion {
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
    pub(crate) fn read(parameters: Parameters) -> Result<Self, Problem> {
        let sort = one_of("sort", &parameters.sort, &Sort::ALL)?.unwrap_or(Sort::Name);
        let default = if sort == Sort::Quantity || sort == Sort::Hosts {
            "desc"
        } else {
            "asc"
        };
        let order = Some(parameters.order.as_str()).filter(|order| !order.is_empty());
        let quantities: Vec<(JointQuantity, &str)> = JointQuantity::ALL
            .into_iter()
            .map(|quantity| (quantity, quantity.name()))
            .collect();
        Ok(Self {
            q: parameters.q,
            author: parameters.author,
            hosts: number("hosts", &parameters.hosts)?.unwrap_or(0),
            price: number("price", &parameters.price)?,
            quantity: one_of("quantity", &parameters.quantity, &quantities)?
                .unwrap_or(JointQuantity::ActiveParameters),
            identified: is_on(&parameters.identified),
            open: is_on(&parameters.open),
            copies: is_on(&parameters.copies),
            as_of: day(&parameters.as_of)?,
            sort,
            descending: one_of(
                "order",
                order.unwrap_or(default),
                &[(false, "asc"), (true, "desc")],
            )?
            .unwrap_or(false),
            page: number("page", &parameters.page)?.unwrap_or(1).max(1),
        })
    }

    /// The time as of which prices are in force.
    pub(crate) fn time(&self) -> Option<Timestamp> {
        let start = self.as_of?.to_zoned(TimeZone::UTC).ok()?;
        Some(start.timestamp())
    }

    /// The address of the page for this question.
    pub(crate) fn address(&self) -> String {
        with_query("/ui/", &self.query())
    }

    /// The address of its chart in a form.
    pub(crate) fn chart(&self, form: &str) -> String {
        with_query(&format!("/charts/market.{form}"), &self.query())
    }

    fn query(&self) -> String {
        let mut query = Serializer::new(String::new());
        let mut add = |name: &str, value: &str| {
            if !value.is_empty() {
                query.append_pair(name, value);
            }
        };
        let flag = |on: bool| if on { "on" } else { "" };
        add("q", &self.q);
        add("author", &self.author);
        add("hosts", &some(Some(self.hosts).filter(|hosts| *hosts > 0)));
        add("price", &some(self.price));
        if self.quantity != JointQuantity::ActiveParameters {
            add("quantity", self.quantity.name());
        }
        add("identified", flag(self.identified));
        add("open", flag(self.open));
        add("copies", flag(self.copies));
        add("as_of", &some(self.as_of));
        if self.sort != Sort::Name || self.descending {
            add("sort", self.sort.name());
            add("order", if self.descending { "desc" } else { "asc" });
        }
        add("page", &some(Some(self.page).filter(|page| *page > 1)));
        query.finish()
    }

    /// Question sorted by a column; by the other direction where it is sorted by it already.
    pub(crate) fn sorted_by(&self, sort: Sort) -> Self {
        let descending = if self.sort == sort {
            !self.descending
        } else {
            matches!(sort, Sort::Quantity | Sort::Hosts)
        };
        Self {
            sort,
            descending,
            page: 1,
            ..self.clone()
        }
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
            Sort::Quantity => model.estimate(self.quantity)?.median,
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

fn with_query(path: &str, query: &str) -> String {
    if query.is_empty() {
        path.to_owned()
    } else {
        format!("{path}?{query}")
    }
}

fn some(value: Option<impl ToString>) -> String {
    value.map_or_else(String::new, |value| value.to_string())
}

fn is_on(value: &str) -> bool {
    !value.is_empty() && value != "0"
}

fn number<N: std::str::FromStr>(name: &str, value: &str) -> Result<Option<N>, Problem> {
    if value.is_empty() {
        return Ok(None);
    }
    let wrong = |_| wrong(name, value, "a number");
    value.parse().map(Some).map_err(wrong)
}

fn day(value: &str) -> Result<Option<Date>, Problem> {
    if value.is_empty() {
        return Ok(None);
    }
    let wrong = |_| wrong("as_of", value, "a day such as 2026-05-01");
    value.parse().map(Some).map_err(wrong)
}

fn one_of<T: Copy>(name: &str, value: &str, known: &[(T, &str)]) -> Result<Option<T>, Problem> {
    if value.is_empty() {
        return Ok(None);
    }
    let found = known.iter().find(|(_, known)| *known == value);
    let names: Vec<&str> = known.iter().map(|(_, name)| *name).collect();
    let wrong = || wrong(name, value, &format!("one of {}", names.join(", ")));
    found.map(|(known, _)| Some(*known)).ok_or_else(wrong)
}

fn wrong(name: &str, value: &str, expected: &str) -> Problem {
    let value: String = value.chars().take(60).collect();
    Problem::new(UNREADABLE, format!("`{name}={value}` cannot be read"))
        .hint(format!("`{name}` is {expected}"))
}

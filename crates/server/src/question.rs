//! The question that an address holds: parameters that may be repeated, of pages, charts and calculators.

use std::str::FromStr;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use jiff::Timestamp;
use serde::Deserialize;
use serde::de::IntoDeserializer;
use url::form_urlencoded;

use crate::list::page::Moment;
use unroof_base::input::cursor::nearest_names;
use unroof_edge::{Problem, UNREADABLE};
use unroof_infer::estimate::quantities::JointQuantity;
use unroof_store::AsOf;

/// Parameters that one address may have.
const MOST_PARAMETERS: usize = 64;

/// The parameters of a page or a chart, in the order of the address.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Question(Vec<(String, String)>);

impl<S: Sync> FromRequestParts<S> for Question {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        Self::read(parts.uri.query().unwrap_or_default())
    }
}

impl Question {
    /// The parameters of a query string.
    ///
    /// # Errors
    /// They are too many, or have the NUL character.
    pub(crate) fn read(query: &str) -> Result<Self, Problem> {
        let pairs = form_urlencoded::parse(query.as_bytes()).into_owned();
        let pairs: Vec<(String, String)> = pairs.take(MOST_PARAMETERS + 1).collect();
        if pairs.len() > MOST_PARAMETERS {
            let detail = format!("invalid query string: more than {MOST_PARAMETERS} parameters");
            return Err(Problem::new(UNREADABLE, detail).hint("ask for fewer at a time"));
        }
        if pairs.iter().any(|(_, value)| value.contains('\0')) {
            let detail = "invalid query string: a value contains the NUL character";
            return Err(Problem::new(UNREADABLE, detail).hint("no stored name has it"));
        }
        Ok(Self(pairs))
    }

    /// A question of some parameters, without the empty ones.
    pub(crate) fn of<'a>(parameters: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let stated = parameters
            .into_iter()
            .filter(|(_, value)| !value.is_empty());
        let pairs = stated.map(|(name, value)| (name.to_owned(), value.to_owned()));
        Self(pairs.collect())
    }

    /// Question with another parameter.
    pub(crate) fn with(&self, name: &str, value: &str) -> Self {
        let mut pairs = self.0.clone();
        pairs.push((name.to_owned(), value.to_owned()));
        Self(pairs)
    }

    /// Question with another value of a parameter, or without it where the value is empty.
    pub(crate) fn set(&self, name: &str, value: &str) -> Self {
        let others = self.0.iter().filter(|(known, _)| known != name);
        let others = others.map(|(name, value)| (name.as_str(), value.as_str()));
        Self::of(others.chain([(name, value)]))
    }

    /// Question as the query of an address.
    pub(crate) fn query(&self) -> String {
        form_urlencoded::Serializer::new(String::new())
            .extend_pairs(&self.0)
            .finish()
    }

    /// Question at a path.
    pub(crate) fn address(&self, path: &str) -> String {
        match self.query().as_str() {
            "" => path.to_owned(),
            query => format!("{path}?{query}"),
        }
    }

    /// All values of a parameter.
    pub(crate) fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        let pairs = self.0.iter().filter(move |(known, _)| known == name);
        pairs.map(|(_, value)| value.as_str())
    }

    /// The last value of a parameter.
    pub(crate) fn last<'a>(&'a self, name: &'a str) -> Option<&'a str> {
        self.all(name).last()
    }

    /// The last value of a parameter; empty where it is left out.
    pub(crate) fn text<'a>(&'a self, name: &'a str) -> &'a str {
        self.last(name).unwrap_or_default()
    }

    /// The value of a parameter, parsed; `None` if it is empty.
    ///
    /// # Errors
    /// It cannot be read.
    pub(crate) fn parsed<T: FromStr>(
        &self,
        name: &str,
        expected: &str,
    ) -> Result<Option<T>, Problem> {
        match self.text(name) {
            "" => Ok(None),
            value => value
                .parse()
                .map(Some)
                .map_err(|_| wrong(name, value, expected)),
        }
    }

    /// The value of a parameter as a number; `None` if it is empty.
    ///
    /// # Errors
    /// It is not a number.
    pub(crate) fn number<N: FromStr>(&self, name: &str) -> Result<Option<N>, Problem> {
        self.parsed(name, "a number")
    }

    /// The value that a parameter names; `None` if it is empty.
    ///
    /// # Errors
    /// The name is unknown.
    pub(crate) fn one_of<T: Copy>(
        &self,
        name: &str,
        known: &[(T, &str)],
    ) -> Result<Option<T>, Problem> {
        let value = self.text(name);
        let found = known.iter().find(|(_, known)| *known == value);
        if found.is_none() && !value.is_empty() {
            let names: Vec<&str> = known.iter().map(|(_, name)| *name).collect();
            return Err(wrong(name, value, &format!("one of {}", names.join(", "))));
        }
        Ok(found.map(|(known, _)| *known))
    }

    /// The last value of a parameter without which there is no chart.
    ///
    /// # Errors
    /// It is left out.
    pub(crate) fn required<'a>(&'a self, name: &'a str) -> Result<&'a str, Problem> {
        self.last(name).ok_or_else(|| {
            let detail = format!("invalid query string: the parameter `{name}` is missing");
            let hint = match name {
                "model" => "add ?model=author/name; GET /models lists the names".to_owned(),
                _ => format!("add &{name}=…"),
            };
            Problem::new(UNREADABLE, detail).hint(hint)
        })
    }

    /// The quantity asked for; active parameters where none is.
    ///
    /// # Errors
    /// There is no such quantity.
    pub(crate) fn quantity(&self) -> Result<JointQuantity, Problem> {
        let Some(name) = self.last("quantity") else {
            return Ok(JointQuantity::ActiveParameters);
        };
        let known = JointQuantity::ALL.into_iter();
        let found = known.clone().find(|quantity| quantity.name() == name);
        found.ok_or_else(|| {
            let names: Vec<&str> = known.map(JointQuantity::name).collect();
            let hint = match nearest_names(name, &names).as_slice() {
                [] => format!("the quantities are: {}", names.join(", ")),
                [nearest, ..] => format!("did you mean `{nearest}`?"),
            };
            let detail = format!("invalid query string: there is no quantity `{name}`");
            Problem::new(UNREADABLE, detail).hint(hint)
        })
    }

    /// The time up to which sheets count.
    ///
    /// # Errors
    /// It cannot be read.
    pub(crate) fn as_of(&self, now: Timestamp) -> Result<Option<AsOf>, Problem> {
        let Some(text) = self.last("as_of") else {
            return Ok(None);
        };
        let moment = Moment::deserialize(text.into_deserializer());
        let moment = moment.map_err(|reason: serde::de::value::Error| {
            Problem::new(UNREADABLE, format!("invalid query string: as_of: {reason}"))
                .hint("write a time like 2026-05-01T00:00:00Z, or `now`")
        })?;
        Ok(Moment::as_of(Some(moment), now.into()))
    }

    /// Refuses parameters that are not known here.
    ///
    /// # Errors
    /// One is unknown.
    pub(crate) fn require_known(&self, known: &[&str]) -> Result<(), Problem> {
        let unknown = self
            .0
            .iter()
            .find(|(name, _)| !known.contains(&name.as_str()));
        let Some((unknown, _)) = unknown else {
            return Ok(());
        };
        let listed = format!("the parameters here are: {}", known.join(", "));
        let hint = match nearest_names(unknown, known).as_slice() {
            [] => listed,
            [nearest, ..] => format!("did you mean `{nearest}`? {listed}"),
        };
        let detail = format!("invalid query string: unknown field `{unknown}`");
        Err(Problem::new(UNREADABLE, detail).hint(hint))
    }
}

/// The refusal of a value of a parameter.
pub(crate) fn wrong(name: &str, value: &str, expected: &str) -> Problem {
    let value: String = value.chars().take(60).collect();
    Problem::new(UNREADABLE, format!("`{name}={value}` cannot be read"))
        .hint(format!("`{name}` is {expected}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_may_be_repeated_and_have_dots_and_slashes() {
        let question =
            Question::read("model=a%2Fb-1.5&model=c/d&quantity=total_parameters").unwrap();
        assert_eq!(
            question.all("model").collect::<Vec<_>>(),
            ["a/b-1.5", "c/d"]
        );
        assert_eq!(question.quantity().unwrap(), JointQuantity::TotalParameters);
        assert_eq!(Question::read(&question.query()).unwrap(), question);
    }

    #[test]
    fn what_a_chart_does_not_read_is_refused_with_what_was_meant() {
        let question = Question::read("modell=a").unwrap();
        let problem = question.require_known(&["model", "quantity"]).unwrap_err();
        assert!(problem.hint.unwrap().contains("did you mean `model`?"));
        let problem = Question::read("").unwrap();
        assert!(
            problem
                .required("model")
                .unwrap_err()
                .hint
                .unwrap()
                .contains("/models")
        );
        let wrong = Question::read("quantity=active_parameter").unwrap();
        let hint = wrong.quantity().unwrap_err().hint.unwrap();
        assert!(hint.contains("active_parameters"), "{hint}");
        assert!(Question::read("model=%00").is_err());
    }
}

//! Queries of routes: each parameter that several of them have is declared here once.

/// Declares the query of a route, without parameters that it does not name. A parameter is one of
/// - the name of a parameter that several routes have, or of several at once: `offers`, `times`, `changes`, `page`;
/// - a description, a name and the type of a value that may be left out, or `text` and a name;
/// - a description, the attribute `param`, a name and the type of the field.
macro_rules! query {
    ($(#[doc = $about:literal])+ $Query:ident { $($parameters:tt)* }) => {
        $crate::query::query! { @next [$(#[doc = $about])+ $Query] [] [] $($parameters)* }
    };
    // Several parameters, and what they ask for.
    (@next $head:tt [$($made:tt)*] $fields:tt offers, $($rest:tt)*) => {
        $crate::query::query! { @next $head [
            $($made)*
            /// The offers that are asked for.
            ///
            /// # Errors
            /// The beginning of a name contains NUL.
            fn selection(&self) -> Result<unroof_store::Selection, unroof_edge::Problem> {
                let names = |names: &Option<_>| unroof_edge::Names::list(names.clone());
                Ok(unroof_store::Selection {
                    provider: names(&self.provider),
                    model: names(&self.model),
                    canonical_model: names(&self.canonical_model),
                    region: names(&self.region),
                    currency: names(&self.currency),
                    prefix: $crate::list::page::prefix(self.q.as_deref())?,
                })
            }
        ] $fields provider, model, canonical_model, region,
            /// Currency as an ISO 4217 code; several separated by commas.
            currency: unroof_edge::Names,
            q, $($rest)* }
    };
    (@next $head:tt [$($made:tt)*] $fields:tt times, $($rest:tt)*) => {
        $crate::query::query! { @next $head [
            $($made)*
            /// The times that are asked for.
            fn times(&self, now: unroof_store::DbTime) -> unroof_store::Times {
                let time = $crate::list::page::Moment::time;
                unroof_store::Times {
                    from: time(self.from, now),
                    to: time(self.to, now),
                    as_of: $crate::list::page::Moment::as_of(self.as_of, now),
                }
            }
        ] $fields
            /// Earliest time of storing, inclusive: RFC 3339, milliseconds since 1970, or `now`.
            from: $crate::list::page::Moment,
            /// Latest time of storing, exclusive.
            to: $crate::list::page::Moment,
            /// Time at which the price is in force.
            as_of: $crate::list::page::Moment,
            $($rest)* }
    };
    (@next $head:tt [$($made:tt)*] $fields:tt changes, $($rest:tt)*) => {
        $crate::query::query! { @next $head [
            $($made)*
            /// The changes that are asked for.
            fn filter(&mut self) -> unroof_store::ChangeFilter {
use unroof_edge::Names;
                let kinds = self.kind.take().unwrap_or_default();
                unroof_store::ChangeFilter {
                    kind: kinds.0,
                    provider: Names::list(self.provider.take()),
                    model: Names::list(self.model.take()),
                    canonical_model: Names::list(self.canonical_model.take()),
                    in_force: self.in_force,
                    min_factor: self.min_factor.map(|factor| factor.0),
                }
            }
        ] $fields
            /// Kinds of changes, separated by commas; all if left out.
            kind: $crate::api::prices::change_query::Kinds,
            provider, model, canonical_model,
            /// Whether the sheet is in force after the change.
            #[param(nullable = false)]
            in_force: Option<bool>,
            /// Smallest factor between the old and the new price, in either direction. Other changes are left
            /// out.
            #[param(nullable = false, value_type = Option<f64>, minimum = 1, maximum = 1e12)]
            min_factor: Option<$crate::api::prices::change_query::Factor>,
            $($rest)* }
    };
    (@next $head:tt [$($made:tt)*] $fields:tt page, $($rest:tt)*) => {
        $crate::query::query! { @next $head [
            $($made)*
            /// The part of the list that is asked for.
            fn part(&self) -> $crate::list::page::PagePart<'_> {
                $crate::list::page::PagePart {
                    fields: self.fields.as_deref(),
                    limit: self.limit,
                    cursor: self.cursor.as_deref(),
                }
            }
        ] $fields fields,
            /// Rows per page.
            #[param(value_type = u32, minimum = 1, maximum = 2000, default = 100)]
            limit: $crate::list::page::Limit,
            /// `next_cursor` of the previous page.
            #[param(nullable = false, min_length = 10, pattern = "^[A-Za-z0-9_-]+$")]
            cursor: Option<String>,
            $($rest)* }
    };
    // A parameter that several routes have.
    (@next $head:tt $made:tt $fields:tt provider, $($rest:tt)*) => {
        $crate::query::query! { @next $head $made $fields
            /// Billing provider; several separated by commas.
            provider: unroof_edge::Names, $($rest)* }
    };
    (@next $head:tt $made:tt $fields:tt model, $($rest:tt)*) => {
        $crate::query::query! { @next $head $made $fields
            /// Model name as the provider spells it; several separated by commas.
            model: unroof_edge::Names, $($rest)* }
    };
    (@next $head:tt $made:tt $fields:tt canonical_model, $($rest:tt)*) => {
        $crate::query::query! { @next $head $made $fields
            /// Canonical name, `author/model`; several separated by commas.
            canonical_model: unroof_edge::Names, $($rest)* }
    };
    (@next $head:tt $made:tt $fields:tt region, $($rest:tt)*) => {
        $crate::query::query! { @next $head $made $fields
            /// Region in which the model is served; several separated by commas.
            region: unroof_edge::Names, $($rest)* }
    };
    (@next $head:tt $made:tt $fields:tt q, $($rest:tt)*) => {
        $crate::query::query! { @next $head $made $fields
            /// Beginning of the provider, the model or the canonical name, with or without what is before the last `/`, in any case.
            text q, $($rest)* }
    };
    (@next $head:tt $made:tt $fields:tt fields, $($rest:tt)*) => {
        $crate::query::query! { @next $head $made $fields
            /// Fields of a row, separated by commas; all if left out.
            #[param(nullable = false, pattern = "^[a-z][a-z0-9_]*(,[a-z][a-z0-9_]*)*$")]
            fields: Option<String>, $($rest)* }
    };
    // A parameter with a description.
    (@next $head:tt $made:tt [$($field:tt)*] $(#[doc = $about:literal])+ text $name:ident, $($rest:tt)*) => {
        $crate::query::query! { @next $head $made [
            $($field)*
            $(#[doc = $about])+
            #[param(nullable = false, inline, value_type = Option<unroof_edge::FilterText>)]
            $name: Option<String>,
        ] $($rest)* }
    };
    (@next $head:tt $made:tt [$($field:tt)*] $(#[doc = $about:literal])+ $name:ident: $Value:ty, $($rest:tt)*) => {
        $crate::query::query! { @next $head $made [
            $($field)*
            $(#[doc = $about])+
            #[param(nullable = false, inline)]
            $name: Option<$Value>,
        ] $($rest)* }
    };
    (@next $head:tt $made:tt [$($field:tt)*]
        $(#[doc = $about:literal])+ #[param($($param:tt)*)] $name:ident: $Field:ty, $($rest:tt)*
    ) => {
        $crate::query::query! { @next $head $made [
            $($field)*
            $(#[doc = $about])+
            #[param($($param)*)]
            $name: $Field,
        ] $($rest)* }
    };
    (@next [$(#[doc = $about:literal])+ $Query:ident] [$($made:tt)*] [$($field:tt)*]) => {
        $(#[doc = $about])+
        #[derive(Debug, Default, serde::Deserialize, utoipa::IntoParams)]
        #[serde(deny_unknown_fields, default)]
        #[into_params(parameter_in = Query)]
        pub(crate) struct $Query {
            $($field)*
        }

        impl $Query {
            $($made)*
        }
    };
}

pub(super) use query;

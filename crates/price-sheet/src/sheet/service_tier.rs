//! Ways to be served, and the times of day and week at which other rates apply.

use super::JsonObject;
use super::fields::{MOST_COUNT, days, positive, time_of_day, time_zone, verbatim};
use unroof_base::input::body::document::{choice, choices, decimal, document, filled, maybe, name};
use unroof_base::input::body::{List, Object, object, plain, value};
use unroof_base::input::cursor::SMALLEST_NUMBER;
use unroof_base::units::Decimal;

document! {
    /// Times of day and week.
    #[derive(PartialEq, Eq)]
    pub struct Schedule {
        /// IANA name of the time zone.
        timezone: String = plain(value(time_zone()).hint("name the time zone, such as \"UTC\"")),
        /// Conditions of the tier; one is enough.
        windows: Vec<Window> = plain(value(windows()).hint("list at least one window, such as {\"start\": \"16:30\", \"end\": \"00:30\"}")),
        /// Calendar of days on which it does not.
        except_calendar: Option<String> = maybe(name()),
    }

    /// A window of a day; one that ends before it starts runs past midnight, equal ends mean the whole day.
    #[derive(PartialEq, Eq)]
    pub struct Window {
        /// Days on which it starts, Monday is 1; none means every day.
        days: Vec<u8> = filled(days()),
        /// Start of the window, HH:MM, inclusive.
        start: String = plain(value(time_of_day()).hint(TIME_OF_DAY)),
        /// End of the window, HH:MM, exclusive.
        end: String = plain(value(time_of_day()).hint(TIME_OF_DAY)),
    }

    /// A way to be served: its price as a multiplier where the source states one, and its speed.
    #[derive(Default, PartialEq)]
    pub struct ServiceTier {
        /// Request fields that select it.
        request: JsonObject = filled(verbatim()),
        /// Other names of the tier.
        aliases: Vec<String> = filled(List::entries(name())),
        /// Only where the source states a multiplier instead of prices.
        price_multiplier: Option<Decimal> = maybe(decimal()),
        /// Speed against the standard tier.
        speed_multiplier: Option<SpeedMultiplier> = maybe(object()),
        /// Promise of the provider.
        slo: Option<ServiceLevelObjective> = maybe(object()),
        /// Speed that was measured; it is not a part of the pricing content.
        measured: Option<MeasuredSpeed> = maybe(object()),
        /// Time within which a batch completes.
        completion_window_seconds: Option<u32> = maybe(1..=MOST_COUNT),
        /// Features that cannot be combined with it.
        excludes: Vec<String> = filled(List::entries(name())),
        /// Features that can be combined with it.
        stacks_with: Vec<String> = filled(List::entries(name())),
    }

    /// Speed of a service tier against the standard tier.
    #[derive(Default, PartialEq, Eq)]
    pub struct SpeedMultiplier {
        /// Speed over that of the standard tier.
        value: Option<Decimal> = maybe(decimal()),
        /// Whether the factor is a bound.
        bound: Option<SpeedBound> = maybe(choice()),
        /// Phase to which the speed claim applies.
        metric: Option<SpeedMetric> = maybe(choice()),
    }

    /// Promise of a provider for a service tier.
    #[derive(Default, PartialEq)]
    pub struct ServiceLevelObjective {
        /// Slowest decoding, in tokens per second.
        output_tokens_per_second_min: Option<f64> = maybe(positive::<1_000_000_000>()),
        /// Share of requests it holds for.
        percentile: Option<f64> = maybe(positive::<100>()),
        /// Share of time in which the tier is available, in percent.
        uptime_percent: Option<f64> = maybe(positive::<100>()),
    }

    /// Measured speed of a service tier, for one user.
    #[derive(Default, PartialEq)]
    pub struct MeasuredSpeed {
        /// Name of the measurer, such as `openrouter`.
        measured_by: Option<String> = maybe(name()),
        /// Decoding speed of one user, tokens per second.
        output_tokens_per_second: Option<Percentiles> = maybe(object()),
        /// Wait for the first token, seconds.
        time_to_first_token_seconds: Option<Percentiles> = maybe(object()),
    }

    /// Percentiles over requests, as the source orders them.
    #[derive(Default, PartialEq)]
    pub struct Percentiles {
        /// Median over requests.
        p50: Option<f64> = maybe(positive::<1_000_000_000>()),
        /// 75th percentile over requests.
        p75: Option<f64> = maybe(positive::<1_000_000_000>()),
        /// 90th percentile over requests.
        p90: Option<f64> = maybe(positive::<1_000_000_000>()),
        /// 99th percentile over requests.
        p99: Option<f64> = maybe(positive::<1_000_000_000>()),
    }
}

const TIME_OF_DAY: &str = "write a time of day such as \"16:30\"";

/// The windows of a schedule: one or more.
fn windows() -> List<Object<Window>> {
    List::of(object(), 1..=usize::MAX).refused_as(|_| {
        let hint = "list at least one window";
        ("the list is empty".to_owned(), hint.to_owned())
    })
}

choices! {
    /// Whether a speed claim is a bound.
    pub enum SpeedBound {
        /// The speed is at most the stated one.
        UpTo = "up_to",
        /// The speed is at least the stated one.
        AtLeast = "at_least",
        /// The speed is the stated one as a rule.
        Typical = "typical",
    }

    /// Phase to which a speed claim applies.
    pub enum SpeedMetric {
        /// Decoding speed of one user.
        OutputTokensPerSecond = "output_tokens_per_second",
        /// Wait for the first token.
        TimeToFirstToken = "time_to_first_token",
        /// Wait for the whole answer.
        EndToEndLatency = "end_to_end_latency",
    }
}

impl Percentiles {
    /// Values of one percentile.
    pub(crate) const PERMITTED: std::ops::RangeInclusive<f64> = SMALLEST_NUMBER..=1e9;
}

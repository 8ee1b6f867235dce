//! Scales: from values to places, and where the ticks are.

use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan};

/// The way in which places follow from values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Linear,
    Log,
    Time,
}

/// A scale from an interval of values to an interval of places.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scale {
    form: Form,
    domain: (f64, f64),
    range: (f64, f64),
}

impl Scale {
    /// A linear scale. An interval without length is widened.
    #[must_use]
    pub fn linear(domain: (f64, f64), range: (f64, f64)) -> Self {
        let (low, high) = domain;
        let domain = if high > low {
            domain
        } else {
            (low - 0.5, low + 0.5)
        };
        Self {
            form: Form::Linear,
            domain,
            range,
        }
    }

    /// A logarithmic scale; its values are positive.
    #[must_use]
    pub fn log(domain: (f64, f64), range: (f64, f64)) -> Self {
        let low = domain.0.max(f64::MIN_POSITIVE);
        let high = if domain.1 > low { domain.1 } else { low * 10.0 };
        Self {
            form: Form::Log,
            domain: (low, high),
            range,
        }
    }

    /// A scale of time.
    #[must_use]
    pub fn time(domain: (Timestamp, Timestamp), range: (f64, f64)) -> Self {
        Self {
            form: Form::Time,
            ..Self::linear((seconds(domain.0), seconds(domain.1)), range)
        }
    }

    /// A logarithmic scale from the least of positive values times one factor to the greatest times another; some interval
    /// where there is none.
    pub fn around(
        values: impl IntoIterator<Item = f64>,
        (below, above): (f64, f64),
        range: (f64, f64),
    ) -> Self {
        let (least, greatest) = extent(values);
        if greatest > 0.0 {
            Self::log((least * below, greatest * above), range)
        } else {
            Self::log((0.1, 10.0), range)
        }
    }

    /// The values that it shows.
    #[must_use]
    pub fn domain(&self) -> (f64, f64) {
        self.domain
    }

    /// The places that it has.
    #[must_use]
    pub fn range(&self) -> (f64, f64) {
        self.range
    }

    /// Place of a value; a value outside is at the end that is nearer.
    #[must_use]
    pub fn at(&self, value: f64) -> f64 {
        let (low, high) = self.domain;
        let value = value.clamp(low, high);
        let share = if self.form == Form::Log {
            (value / low).ln() / (high / low).ln()
        } else {
            (value - low) / (high - low)
        };
        let (start, end) = self.range;
        start + share * (end - start)
    }

    /// Place of a time.
    #[must_use]
    pub fn at_time(&self, time: Timestamp) -> f64 {
        self.at(seconds(time))
    }

    /// About so many round values inside with their names; those of a time have names of their own.
    pub fn named_ticks(&self, count: usize, write: impl Fn(f64) -> String) -> Vec<(f64, String)> {
        match self.form {
            Form::Time => self.time_ticks(count),
            Form::Linear | Form::Log => {
                let ticks = self.ticks(count).into_iter();
                ticks.map(|value| (value, write(value))).collect()
            }
        }
    }

    fn ticks(&self, count: usize) -> Vec<f64> {
        if self.form == Form::Log {
            self.log_ticks(count)
        } else {
            self.linear_ticks(count)
        }
    }

    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_precision_loss,
        reason = "the steps are few"
    )]
    fn linear_ticks(&self, count: usize) -> Vec<f64> {
        let (low, high) = self.domain;
        let rough = (high - low) / count.max(1) as f64;
        let unit = 10_f64.powf(rough.log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0]
            .into_iter()
            .map(|factor| factor * unit)
            .find(|step| *step >= rough)
            .unwrap_or(rough);
        let (first, last) = ((low / step).ceil() as i64, (high / step).floor() as i64);
        (first..=last).map(|number| number as f64 * step).collect()
    }

    /// Powers of ten; every second or third where they are many, and twice and five times them where they are few.
    #[expect(clippy::cast_possible_truncation, reason = "the powers are few")]
    fn log_ticks(&self, count: usize) -> Vec<f64> {
        let (low, high) = self.domain;
        let powers = low.log10().floor() as i32..=high.log10().ceil() as i32;
        let number = powers.clone().count();
        let factors: &[f64] = if number <= count / 2 {
            &[1.0, 2.0, 5.0]
        } else {
            &[1.0]
        };
        let every = number.div_ceil(count.max(1)).max(1);
        powers
            .step_by(every)
            .flat_map(|power| {
                factors
                    .iter()
                    .map(move |factor| factor * 10_f64.powi(power))
            })
            .filter(|value| (low..=high).contains(value))
            .collect()
    }

    /// Months, or a few days or hours where the time is short.
    fn time_ticks(&self, count: usize) -> Vec<(f64, String)> {
        const LEAST_MONTHS: usize = 2;
        const DAY: f64 = 86_400.0;
        let months = self.month_ticks(count);
        if months.len() >= LEAST_MONTHS {
            return months;
        }
        let (first, last) = self.domain;
        let format = if last - first < 3.0 * DAY {
            "%b %-d, %H:%M"
        } else {
            "%b %-d"
        };
        let tick = |share: f64| {
            let seconds = first + share * (last - first);
            (seconds, time(seconds).strftime(format).to_string())
        };
        [0.12, 0.5, 0.88].map(tick).to_vec()
    }

    /// First days of months, of every second, third, sixth or twelfth month where they are many, with their names.
    fn month_ticks(&self, count: usize) -> Vec<(f64, String)> {
        let day = |seconds: f64| time(seconds).to_zoned(TimeZone::UTC).date();
        let (first, last) = (day(self.domain.0), day(self.domain.1));
        let months = first.first_of_month().series(1.month());
        let months: Vec<Date> = months.take_while(|month| *month <= last).collect();
        // From a year on, a tick is the first day of a year.
        let fits = |every: &i8| months.len() <= (count + 1) * usize::from(every.unsigned_abs());
        let every = [1, 2, 3, 6].into_iter().find(fits).unwrap_or(12);
        let is_tick = |month: &Date| *month >= first && (month.month() - 1) % every == 0;
        let tick = |month: Date| {
            let start = month.to_zoned(TimeZone::UTC).ok()?;
            let format = if month.month() == 1 { "%Y" } else { "%b" };
            let name = start.strftime(format).to_string();
            Some((seconds(start.timestamp()), name))
        };
        months
            .into_iter()
            .filter(is_tick)
            .filter_map(tick)
            .collect()
    }
}

/// The time at a value of a scale of time.
#[expect(clippy::cast_possible_truncation, reason = "a time has few digits")]
fn time(seconds: f64) -> Timestamp {
    Timestamp::from_second(seconds as i64).unwrap_or_default()
}

/// A time on a linear scale.
#[expect(clippy::cast_precision_loss, reason = "seconds have few digits")]
#[must_use]
pub fn seconds(time: Timestamp) -> f64 {
    time.as_second() as f64
}

/// The least and the greatest of positive values.
pub fn extent(values: impl IntoIterator<Item = f64>) -> (f64, f64) {
    let values = values.into_iter();
    values.fold((f64::INFINITY, 0.0_f64), |(least, greatest), value| {
        (least.min(value), greatest.max(value))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scale_maps_its_ends_and_keeps_what_is_outside_at_them() {
        let scale = Scale::log((1.0, 1e4), (10.0, 110.0));
        assert_eq!(scale.at(1.0).to_bits(), 10.0_f64.to_bits());
        assert!((scale.at(100.0) - 60.0).abs() < 1e-9);
        assert_eq!(scale.at(1e9).to_bits(), scale.at(1e4).to_bits());
        assert!((Scale::linear((0.0, 4.0), (100.0, 0.0)).at(1.0) - 75.0).abs() < 1e-9);
    }

    #[test]
    fn ticks_are_round_and_inside() {
        let scale = Scale::linear((0.3, 9.7), (0.0, 1.0));
        assert_eq!(scale.ticks(5), [2.0, 4.0, 6.0, 8.0]);
        let scale = Scale::log((2e9, 3e12), (0.0, 1.0));
        assert_eq!(scale.ticks(5), [1e10, 1e11, 1e12]);
        let scale = Scale::log((0.9, 30.0), (0.0, 1.0));
        assert_eq!(scale.ticks(8), [1.0, 2.0, 5.0, 10.0, 20.0]);
    }

    #[test]
    fn an_interval_without_length_has_a_scale() {
        assert!(Scale::linear((3.0, 3.0), (0.0, 10.0)).at(3.0).is_finite());
        assert!(Scale::log((3.0, 3.0), (0.0, 10.0)).at(3.0).is_finite());
    }

    #[test]
    fn months_are_named_and_a_year_by_its_number() {
        let time = |text: &str| text.parse::<Timestamp>().unwrap();
        let scale = Scale::time(
            (time("2025-11-10T00:00:00Z"), time("2026-03-05T00:00:00Z")),
            (0.0, 1.0),
        );
        let names: Vec<String> = scale
            .month_ticks(6)
            .into_iter()
            .map(|(_, name)| name)
            .collect();
        assert_eq!(names, ["Dec", "2026", "Feb", "Mar"]);
    }
}

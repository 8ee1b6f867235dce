//! Time to the first token: waiting, the start of the next pass, prefill, and a constant part, in seconds.

use super::queue::Waiting;

/// Parts of the window before a pass starts.
const WINDOW_PARTS: u32 = 4;

/// The distribution of the time to the first token.
#[derive(Debug, Clone)]
pub(crate) struct FirstToken {
    /// Waiting for a server.
    pub(crate) waiting: Waiting,
    /// A request that arrives during a pass waits for its end: up to this time, all waits alike.
    pub(crate) window_s: f64,
    /// Probability of arriving during a pass.
    pub(crate) window_probability: f64,
    /// Times of prefill with their shares.
    pub(crate) services: Vec<(f64, f64)>,
    /// Time that every request takes besides: transfer of the cache, in seconds.
    pub(crate) added_s: f64,
}

impl FirstToken {
    /// Probability of a first token within this time.
    pub(crate) fn within(&self, seconds: f64) -> f64 {
        let of_service = |(service_s, share): &(f64, f64)| {
            share * self.started_within(seconds - service_s - self.added_s)
        };
        self.services.iter().map(of_service).sum()
    }

    fn started_within(&self, seconds: f64) -> f64 {
        if seconds < 0.0 {
            return 0.0;
        }
        let at_once = self.waiting.within(seconds);
        if self.window_s <= 0.0 || self.window_probability <= 0.0 {
            return at_once;
        }
        let parts = f64::from(WINDOW_PARTS);
        let later = (0..WINDOW_PARTS)
            .map(|part| (f64::from(part) + 0.5) / parts * self.window_s)
            .map(|start| self.waiting.within(seconds - start))
            .sum::<f64>()
            / parts;
        self.window_probability * later + (1.0 - self.window_probability) * at_once
    }

    /// The time that this share of the requests keeps.
    pub(crate) fn quantile(&self, share: f64) -> f64 {
        let longest = self.services.iter().map(|(service_s, _)| *service_s);
        let longest = longest.fold(0.0, f64::max) + self.added_s + self.window_s;
        let (mut low, mut high) = (0.0, longest.max(1e-9));
        while self.within(high) < share && high < 1e12 {
            high = high * 2.0 + self.waiting.mean_if_waiting_s;
        }
        for _ in 0..60 {
            let middle = f64::midpoint(low, high);
            if self.within(middle) < share {
                low = middle;
            } else {
                high = middle;
            }
        }
        high
    }

    /// Mean time before prefill starts.
    pub(crate) fn mean_wait_s(&self) -> f64 {
        self.waiting.mean_s() + self.window_probability * self.window_s / 2.0
    }

    /// Mean time of prefill.
    pub(crate) fn mean_service_s(&self) -> f64 {
        self.services
            .iter()
            .map(|(service_s, share)| service_s * share)
            .sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_quantile_is_where_the_share_is_reached() {
        let first = FirstToken {
            waiting: Waiting {
                probability: 0.5,
                mean_if_waiting_s: 2.0,
            },
            window_s: 0.4,
            window_probability: 1.0,
            services: vec![(1.0, 0.9), (5.0, 0.1)],
            added_s: 0.1,
        };
        for share in [0.3, 0.5, 0.95, 0.99] {
            let time = first.quantile(share);
            assert!(first.within(time * 1.000_001) >= share);
            assert!(first.within(time * 0.999) <= share);
        }
    }
}

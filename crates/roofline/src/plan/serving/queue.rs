//! The queue in front of prefill: M/G/c by Allen and Cunneen's approximation with Sakasegawa's closed form for M/M/c.
//!
//! The probability of waiting is ρ^(√(2(c + 1)) − 1), exact for one server. A request that waits does so for an
//! exponential time with the mean (`C_a²` + `C_s²`)/2·S/(c·(1 − ρ)). Neither formula needs a whole number of servers.

/// Load above which a queue counts as unstable.
const MOST_LOAD: f64 = 0.999_999;

/// A queue of requests in front of equal servers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Queue {
    /// c: requests that are served at once.
    pub(crate) servers: f64,
    /// Requests that arrive per second.
    pub(crate) arrivals_per_second: f64,
    /// `C_a²`: squared coefficient of variation of the time between arrivals; 1 for Poisson arrivals, 0 for a steady clock.
    pub(crate) arrival_variation: f64,
    /// S: mean time of service, in seconds.
    pub(crate) service_s: f64,
    /// `C_s²`: squared coefficient of variation of the time of service.
    pub(crate) service_variation: f64,
}

/// The time a request waits: none, or an exponential time.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Waiting {
    /// Probability that a request waits.
    pub(crate) probability: f64,
    /// Mean wait of a request that waits, in seconds.
    pub(crate) mean_if_waiting_s: f64,
}

impl Queue {
    /// ρ: load per server.
    pub(crate) fn utilisation(&self) -> f64 {
        self.arrivals_per_second * self.service_s / self.servers
    }

    /// The wait; none where the queue grows without end.
    pub(crate) fn waiting(&self) -> Option<Waiting> {
        let load = self.utilisation();
        if load > MOST_LOAD {
            return None;
        }
        let exponent = (2.0 * (self.servers + 1.0)).sqrt() - 1.0;
        let variation = f64::midpoint(self.arrival_variation, self.service_variation);
        Some(Waiting {
            probability: load.powf(exponent),
            mean_if_waiting_s: variation * self.service_s / (self.servers * (1.0 - load)),
        })
    }
}

impl Waiting {
    /// Waiting where no request waits.
    pub(crate) const NONE: Self = Self {
        probability: 0.0,
        mean_if_waiting_s: 0.0,
    };

    /// Probability that a request waits no longer than this.
    pub(crate) fn within(&self, seconds: f64) -> f64 {
        if seconds < 0.0 {
            return 0.0;
        }
        if self.mean_if_waiting_s <= 0.0 {
            return 1.0;
        }
        1.0 - self.probability * (-seconds / self.mean_if_waiting_s).exp()
    }

    /// Mean wait over all requests, in seconds.
    pub(crate) fn mean_s(&self) -> f64 {
        self.probability * self.mean_if_waiting_s
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queue(servers: f64, load: f64) -> Queue {
        Queue {
            servers,
            arrivals_per_second: load * servers,
            arrival_variation: 1.0,
            service_s: 1.0,
            service_variation: 1.0,
        }
    }

    #[test]
    fn one_server_is_exactly_m_m_1() {
        for load in [0.1, 0.5, 0.9] {
            let waiting = queue(1.0, load).waiting().unwrap();
            assert!((waiting.mean_s() - load / (1.0 - load)).abs() < 1e-12);
            let within = 1.0 - load * (-2.0 * (1.0 - load)).exp();
            assert!((waiting.within(2.0) - within).abs() < 1e-12);
        }
    }

    #[test]
    fn ten_servers_wait_nearly_as_erlang_c_says() {
        // Erlang C for 10 servers at loads of 0.5, 0.8 and 0.95: mean waits of 0.00722, 0.20460 and 1.65115 services.
        for (load, mean) in [(0.5, 0.007_22), (0.8, 0.204_60), (0.95, 1.651_15)] {
            let waiting = queue(10.0, load).waiting().unwrap().mean_s();
            assert!((waiting - mean).abs() < 0.016, "{load}: {waiting} {mean}");
        }
    }

    #[test]
    fn a_full_queue_never_empties() {
        assert!(queue(4.0, 1.0).waiting().is_none());
    }
}

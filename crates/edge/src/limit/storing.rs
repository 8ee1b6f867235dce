//! Payment for stored questions: a client pays points of its budget by the bytes, and one without a key has so many bytes a day.

use std::sync::Arc;

use super::client_limit::Account;
use super::quota::{Exhausted, Quotas, Rest, cost_of_storing, seconds};
use crate::answer::problem::{LIMITED, Problem};
use unroof_store::access::Client;

/// A client that pays for what it stores.
#[derive(Debug, Clone, Default)]
pub struct Payer {
    /// Budget of points; none where clients are not limited.
    pub account: Option<Account>,
    /// Budget of bytes of a client without a key; none where they are not limited.
    pub bytes: Option<(Arc<Quotas>, Client)>,
}

/// A payment, and what is left after it.
#[derive(Debug, Default)]
pub struct Paid {
    bytes: usize,
    points: Option<Rest>,
    of_day: Option<Rest>,
}

impl Payer {
    /// Whether the client has no budget.
    #[must_use]
    pub fn is_unlimited(&self) -> bool {
        self.account.is_none() && self.bytes.is_none()
    }

    /// Pays for a question that is to be stored.
    ///
    /// # Errors
    /// The client has too little left; nothing is paid.
    pub fn pay(&self, bytes: usize) -> Result<Paid, Problem> {
        let mut paid = Paid {
            bytes,
            ..Paid::default()
        };
        if let Some((of_day, client)) = &self.bytes {
            let rest = of_day.charge(client, bytes).map_err(too_many_bytes)?;
            paid.of_day = Some(rest);
        }
        if let Some(Account { quotas, client }) = &self.account {
            match quotas.charge(client, cost_of_storing(bytes)) {
                Ok(rest) => paid.points = Some(rest),
                Err(exhausted) => {
                    self.give_back(&paid);
                    return Err(too_few_points(exhausted));
                }
            }
        }
        Ok(paid)
    }

    /// Gives back what was paid for a question that was stored before.
    pub fn give_back(&self, paid: &Paid) {
        if let (Some((of_day, client)), Some(rest)) = (&self.bytes, paid.of_day) {
            of_day.give_back(client, paid.bytes, rest);
        }
        if let (Some(Account { quotas, client }), Some(rest)) = (&self.account, paid.points) {
            quotas.give_back(client, cost_of_storing(paid.bytes), rest);
        }
    }
}

impl Paid {
    /// Points that are left after it; none where nothing was paid.
    #[must_use]
    pub fn rest(&self) -> Option<Rest> {
        self.points
    }
}

fn too_many_bytes(exhausted: Exhausted) -> Problem {
    let detail = "this client has stored as much as a client without a key may store in a day";
    let hint = "send the request with `store=false`, or with a key, or again after the seconds in `Retry-After`";
    limited(detail, hint, exhausted)
}

fn too_few_points(exhausted: Exhausted) -> Problem {
    let detail = "this client has too little of its budget left to store the answer";
    let hint = "send the request with `store=false`, or again after the seconds in `Retry-After`";
    limited(detail, hint, exhausted)
}

fn limited(detail: &str, hint: &str, Exhausted(wait): Exhausted) -> Problem {
    Problem {
        retry_after: Some(seconds(wait)),
        ..Problem::new(LIMITED, detail).hint(hint)
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;

    use super::*;
    use crate::limit::limits::ClientLimits;

    fn quotas(burst: u32) -> Arc<Quotas> {
        Arc::new(Quotas::new(ClientLimits {
            rate: NonZeroU32::MIN,
            burst: NonZeroU32::new(burst).unwrap(),
        }))
    }

    #[test]
    fn a_question_is_paid_by_its_bytes_and_one_that_cannot_be_paid_costs_nothing() {
        let payer = Payer {
            account: Some(Account {
                quotas: quotas(30),
                client: Client::Local,
            }),
            bytes: Some((quotas(200_000), Client::Local)),
        };
        let first = payer.pay(80_000).unwrap();
        assert!(first.rest().is_some());
        let refused = payer.pay(80_000).unwrap_err();
        assert!(refused.detail.contains("budget"), "{}", refused.detail);
        assert!(refused.retry_after.is_some_and(|wait| wait <= 20));
        payer.give_back(&first);
        // Of the day nothing is spent: what the budget refused was given back too.
        let mut small = payer.clone();
        small.account = None;
        small.pay(190_000).unwrap();
        let refused = small.pay(20_000).unwrap_err();
        assert!(refused.detail.contains("a day"), "{}", refused.detail);
    }
}

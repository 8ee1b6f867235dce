//! Payment for stored questions: a client pays points of its budget by the bytes, and one without a key has so many bytes a day.

use std::sync::Arc;

use super::bill::Bill;
use super::quota::{Exhausted, Quotas, cost_of_storing, seconds};
use crate::answer::problem::{LIMITED, Problem};
use unroof_store::access::Client;

/// A client that pays for what it stores, besides the points of its request's bill.
#[derive(Debug, Clone, Default)]
pub struct Payer {
    /// Budget of bytes of a client without a key; none where they are not limited.
    pub bytes: Option<(Arc<Quotas>, Client)>,
}

/// A payment.
#[derive(Debug, Default)]
pub struct Paid {
    bytes: u64,
}

impl Payer {
    /// Whether the client has no budget.
    #[must_use]
    pub fn is_unlimited(&self) -> bool {
        self.bytes.is_none() && Bill::client().is_none()
    }

    /// Pays for a question that is to be stored.
    ///
    /// # Errors
    /// The client has too little left; nothing is paid.
    pub fn pay(&self, bytes: usize) -> Result<Paid, Problem> {
        let paid = Paid {
            bytes: bytes as u64,
        };
        if let Some((of_day, client)) = &self.bytes {
            of_day.charge(client, paid.bytes).map_err(too_many_bytes)?;
        }
        let Some(bill) = Bill::current() else {
            return Ok(paid);
        };
        bill.pay(cost_of_storing(paid.bytes)).map_err(|exhausted| {
            self.give_back_bytes(&paid);
            too_few_points(exhausted)
        })?;
        Ok(paid)
    }

    /// Gives back what was paid for a question that was stored before.
    pub fn give_back(&self, paid: &Paid) {
        self.give_back_bytes(paid);
        if let Some(bill) = Bill::current() {
            bill.give_back(cost_of_storing(paid.bytes));
        }
    }

    fn give_back_bytes(&self, paid: &Paid) {
        if let (Some((of_day, client)), 1..) = (&self.bytes, paid.bytes) {
            of_day.give_back(client, paid.bytes);
        }
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
    use crate::limit::bill::Account;
    use crate::limit::limits::ClientLimits;

    fn quotas(burst: u32) -> Arc<Quotas> {
        Arc::new(Quotas::new(ClientLimits {
            rate: NonZeroU32::MIN,
            burst: NonZeroU32::new(burst).unwrap(),
        }))
    }

    #[tokio::test]
    async fn a_question_is_paid_by_its_bytes_and_one_that_cannot_be_paid_costs_nothing() {
        let payer = Payer {
            bytes: Some((quotas(200_000), Client::Local)),
        };
        let account = Account {
            quotas: quotas(31),
            client: Client::Local,
        };
        let paying = async {
            let first = payer.pay(80_000).unwrap();
            let refused = payer.pay(80_000).unwrap_err();
            assert!(refused.detail.contains("budget"), "{}", refused.detail);
            assert!(refused.retry_after.is_some_and(|wait| wait <= 20));
            payer.give_back(&first);
        };
        let bill = Bill::open(Some(account), None, 1).unwrap();
        bill.scope(paying).await;
        // Of the day nothing is spent: what the budget refused was given back too.
        payer.pay(190_000).unwrap();
        let refused = payer.pay(20_000).unwrap_err();
        assert!(refused.detail.contains("a day"), "{}", refused.detail);
    }
}

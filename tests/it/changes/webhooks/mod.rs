//! Webhooks: registration, delivery, retries.

mod delivery;
mod receiver;
mod registration;
mod retries;
mod secrets;

pub(crate) use receiver::{Hand, Receiver, Sender};

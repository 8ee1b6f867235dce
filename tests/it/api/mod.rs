//! The HTTP API, through the router and without a socket.

mod bad_input;
mod badge;
mod compare;
mod compression;
mod density;
mod docs;
mod envelope;
mod faults;
mod identity;
mod infer;
mod layout;
mod lists;
mod mistakes;
mod odd_input;
mod pages;
mod plan;
mod polling;
mod selection;
mod series;
mod simulate;
mod simulate_faults;
mod track_record;
mod training;
mod values;

//! The HTTP API, through the router and without a socket.

mod badge;
mod calculators;
mod compare;
mod compression;
mod density;
mod docs;
mod envelope;
mod identity;
mod infer;
mod input;
mod lists;
mod pages;
mod polling;
mod selection;
mod series;
mod track_record;

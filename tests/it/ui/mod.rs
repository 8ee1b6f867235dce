//! The pages under `/ui/` and the charts that have an address of their own.

mod model;

//! Bodies and queries that are wrong, odd or at the limit of what is read.

mod bad_input;
mod faults;
mod mistakes;
mod odd_input;
mod values;

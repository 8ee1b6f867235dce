//! Integration tests, one binary: a module per concern.

mod golden;

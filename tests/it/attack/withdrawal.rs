//! A withdrawal that is undone.

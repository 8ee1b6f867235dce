//! One test per trap of the format, on entries written here.

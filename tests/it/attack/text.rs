//! Control characters and formulas that must not be printed.

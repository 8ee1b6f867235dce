//! Passwords that must not be printed.

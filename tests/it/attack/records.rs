//! Small faults of what is stored.

//! Small faults on the wire.

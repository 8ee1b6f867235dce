//! Name servers that never answer.

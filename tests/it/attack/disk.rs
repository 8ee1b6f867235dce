//! A disk that is full, read-only or gone, and a file that was replaced.

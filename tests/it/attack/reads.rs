//! Costly reads and floods of refused requests.

//! Requests for hosts that are not served.

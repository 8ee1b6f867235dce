//! Parts of a planning request: the model, its traffic, the limits and the chips.
//!
//! ```
//! use unroof_base::input::body::Body;
//! use unroof_base::input::{RequestError, read};
//! use unroof_roofline::plan::question::request::PlanRequest;
//!
//! let refused = read(br#"{"limits": {"time_to_first_token_seconds": 0}}"#, PlanRequest::read);
//! let Err(RequestError::Wrong(faults)) = refused else { panic!("it was read") };
//! assert_eq!(faults[0].pointer, "/limits/time_to_first_token_seconds");
//! ```

#[cfg(test)]
pub(crate) mod day;
pub(crate) mod goal;
pub mod request;
pub(crate) mod traffic;

//! Judgements of an answer on itself: conflicts, warnings and the headline.
//!
//! ```
//! use unroof_infer::estimate::judgement::headline::{finding, subject};
//! use unroof_infer::estimate::{Format, StoredEstimate, infer, read_request};
//!
//! let request = read_request(br#"{"schema": "pricesheet/v1", "provider": "acme", "model": "m-1", "currency": "USD",
//!     "unit": "per_1m_tokens", "rates": [{"input": "1", "output": "12"}],
//!     "sources": [{"url": "https://example.com", "format": "official"}]}"#, &Format::Canonical)?;
//! let estimate = StoredEstimate::of(&infer(&request)).unwrap();
//! assert_eq!(subject(&estimate), "m-1 at acme");
//! assert!(finding(&estimate).contains("active parameters"));
//! # Ok::<(), unroof_base::input::RequestError>(())
//! ```

pub(crate) mod conflict;
pub mod headline;
pub(crate) mod impossible_speed;
pub(crate) mod model_check;
pub mod published;
pub mod size_in_name;
pub mod warnings;
pub mod words;

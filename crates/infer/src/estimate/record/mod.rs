//! Estimates as they are stored, and as rows of lists.
//!
//! ```
//! use unroof_infer::estimate::{Format, ListRow, infer, read_request};
//!
//! let request = read_request(br#"{"schema": "pricesheet/v1", "provider": "acme", "model": "m-1", "currency": "USD",
//!     "unit": "per_1m_tokens", "rates": [{"input": "1", "output": "12"}],
//!     "sources": [{"url": "https://example.com", "format": "official"}]}"#, &Format::Canonical)?;
//! let answer = infer(&request);
//! let row = ListRow::new(&answer);
//! assert_eq!(row.columns["active_parameters_median"], answer.joint.quantities.active_parameters.median);
//! # Ok::<(), unroof_base::input::RequestError>(())
//! ```

pub(crate) mod model_costs;
pub(crate) mod row;
pub(crate) mod stored;
pub mod stored_estimate;

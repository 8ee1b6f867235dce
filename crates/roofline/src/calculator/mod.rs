//! The forward calculators: each turns a request into an answer. Time and cost of a model on given hardware, its
//! layout on racks, the compute of its training.
//!
//! Pure: each calculator is a function from the text of a request to an answer that serialises; `http` and `cli` print
//! the same answer. The equations are in [`crate::forward`].
//!
//! ```
//! use unroof_roofline::calculator::{simulate::simulate, training::training};
//!
//! // One vocabulary for all: the model, the machine, the precision and the load are written alike.
//! let scenario = br#"{"model": "DeepSeek-V3", "machine": {"accelerator": "h800", "chips": 144}}"#;
//! assert_eq!(simulate(scenario)?.architecture.layers, 61);
//! let training = training(scenario)?;
//! let shares: f64 = training.phases.iter().map(|phase| phase.share_of_compute).sum();
//! assert!((shares - 1.0).abs() < 1e-12);
//! # Ok::<(), unroof_base::input::RequestError>(())
//! ```

pub mod inputs;
pub mod layout;
pub mod scenario;
pub mod simulate;
pub mod training;

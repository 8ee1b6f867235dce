//! Output speeds of open-weight models at their hosts.
//!
//! ```
//! use unroof_roofline::reference::serving_speeds;
//!
//! let hosts = serving_speeds().iter().filter(|row| row.model == "Llama-3.3-70B");
//! assert!(hosts.count() > 10);
//! ```

use serde::Deserialize;

embedded_tables! {
    /// Published output speeds, with the prices of their day.
    serving_speeds: ServingSpeed = "serving_speeds.csv";
}

/// Output speed of one user at a host, with the prices of the host on that day.
#[derive(Debug, Clone, Deserialize)]
pub struct ServingSpeed {
    /// Name of the model, as in the data on open-weight models.
    pub model: String,
    /// Host that serves it.
    pub host: String,
    /// Tokens per second from the request to the end of the answer.
    pub output_tokens_per_second: f64,
    /// Price of input, USD per million tokens.
    pub input_usd_per_mtok: f64,
    /// Price of output, USD per million tokens.
    pub output_usd_per_mtok: f64,
}

//! Flags of a command, which state fields of a request.

/// The placeholder of a number of seconds.
pub const TIME_PLACEHOLDER: &str = "TIME";

/// A flag of a command, which states a field of a request.
#[derive(Debug, Clone)]
pub struct Flag {
    /// Name of the flag, without dashes.
    pub name: &'static str,
    /// JSON pointer to the field.
    pub pointer: String,
    /// Description of the field.
    pub help: String,
    /// The placeholder of its value.
    pub placeholder: &'static str,
}

//! Cost of keeping a byte on a storage device, in USD.

use unroof_base::units::{Bytes, BytesPerSecond, Seconds};

/// Cost of a byte on a storage device: reading it once, and holding it for an hour.
#[derive(Debug, Clone, Copy)]
pub struct HoldCost {
    /// `read_X`: cost of reading a byte once, in USD.
    pub read_usd_per_byte: f64,
    /// `hold_X`: cost of holding a byte for an hour, in USD.
    pub hold_usd_per_byte_hour: f64,
}

impl HoldCost {
    /// `read_X` + `hold_X`·t, USD for holding a byte for this long and reading it once \[D\].
    #[must_use]
    pub fn for_duration(&self, duration: Seconds) -> f64 {
        self.read_usd_per_byte + self.hold_usd_per_byte_hour * duration.0 / 3600.0
    }

    /// `t_XY` = (`read_Y` − `read_X`)/(`hold_X` − `hold_Y`): held for longer, a byte is cheaper on the other device \[D\].
    #[must_use]
    pub fn boundary(&self, cheaper_to_hold: &Self) -> Seconds {
        let dearer_read_usd = cheaper_to_hold.read_usd_per_byte - self.read_usd_per_byte;
        let saved_usd_per_hour =
            self.hold_usd_per_byte_hour - cheaper_to_hold.hold_usd_per_byte_hour;
        Seconds(dearer_read_usd / saved_usd_per_hour * 3600.0)
    }
}

/// F = C·(1 − headroom)/copies ÷ (x·k): how long an entry stays on a device into which all fresh tokens are written,
/// until newer ones need its place \[D\]. C is in bytes, x·k in bytes per second.
#[must_use]
pub fn fill_time(capacity: Bytes, headroom: f64, copies: f64, written: BytesPerSecond) -> Seconds {
    Bytes(capacity.0 * (1.0 - headroom) / copies) / written
}

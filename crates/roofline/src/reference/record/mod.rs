//! The record of estimates on open-weight models: every left-out estimate, what they add up to, and their bands.

mod bands;
mod held_out;
mod track_record;

pub use bands::{BandKind, OTHERS, RecordBand, bands};
pub use held_out::{HeldOut, HeldOutQuantity, held_out, held_out_csv};
pub use track_record::{
    LEAST_GAIN, MOST_COUNTED_DECISIONS, NamedQuantityRecord, NamedRecord, QuantityRecord,
    RecordSetting, RollingRecord, TrackRecord, TrackRecords, track_record_of_quantity,
    track_record_of_reading, track_records_of_quantity,
};

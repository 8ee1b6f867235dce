//! The table of clues and their readings, from which their ids and the modules of `clue/` follow.
//!
//! ```
//! use unroof_infer::evidence::clue_table::{ClueKind, ReadingId};
//!
//! assert_eq!(ClueKind::CacheTtl.name(), "cache time to live");
//! assert_eq!(ReadingId::CacheTtlDrainTime.name(), "cache_ttl_drain_time");
//! assert!(ReadingId::ALL.contains(&ReadingId::CacheTtlDrainTime));
//! ```

use std::fmt;

use serde::Serialize;
use utoipa::ToSchema;

/// Passes the table to a macro. A row has the module in `clue/`, the names that the clue has in answers, and its readings
/// with their ids; rows are in the order in which answers list the readings.
macro_rules! clue_table {
    ($macro:ident) => {
        $macro! {
            model_kind { ModelKind "release date and cache offer" Architecture "architecture in words" } {}
            compute_margin { ComputeMargin "compute margin" } {}
            token_prices { InputPrice "input price" OutputPrice "output price" } {}
            context_tier { ContextTier "context tier" } {
                ContextTierKvBytes "context_tier_kv_bytes"
                ContextTierKvBytesFiniteBatch "context_tier_kv_bytes_finite_batch"
                ContextTierKvBytesFullHbm "context_tier_kv_bytes_full_hbm"
                OutputMultiplierCover "output_multiplier_cover"
                InputMultiplierAttention "input_multiplier_attention"
                IncrementsGqaGroup "increments_gqa_group"
            }
            context_bands { ContextBands "context bands" } {
                ContextBandsLine "context_bands_line"
                ContextBandsKvBytes "context_bands_kv_bytes"
            }
            output_ratio { OutputRatio "output/input ratio" } {
                OutputRatioMemoryBoundness "output_ratio_memory_boundness"
                OutputRatioKvBytes "output_ratio_kv_bytes"
            }
            reasoning_output { ReasoningOutput "reasoning output" } {
                ReasoningContextRatio "reasoning_context_ratio"
            }
            cache_read { CacheRead "cache read" } { CacheReadLoadPath "cache_read_load_path" }
            cache_write { CacheWrite "cache write" } { CacheWriteHoldPrice "cache_write_hold_price" }
            cache_storage { CacheStorage "cache storage" } { CacheStorageKvBytes "cache_storage_kv_bytes" }
            cache_ttl { CacheTtl "cache time to live" } {
                CacheTtlDrainTime "cache_ttl_drain_time"
                CacheTtlFiveMinuteRule "cache_ttl_five_minute_rule"
            }
            recompute_or_hold { RecomputeOrHold "recompute or hold" } { RecomputeOrHold "recompute_or_hold" }
            fast_mode { FastMode "fast mode" } {
                FastModeBatchRatio "fast_mode_batch_ratio"
                FastModeKvOverWeights "fast_mode_kv_over_weights"
                FastModeMaxSpeedup "fast_mode_max_speedup"
            }
            batch_discount { BatchDiscount "batch discount" } {
                BatchDiscountUtilisation "batch_discount_utilisation"
            }
            peak_schedule { PeakSchedule "peak schedule" } {
                PeakScheduleUtilisation "peak_schedule_utilisation"
            }
            output_speed { OutputSpeed "output speed" } { OutputSpeedWeightBytes "output_speed_weight_bytes" }
            context_maximum { ContextMaximum "maximum context" } { ContextMaximumKvBytes "context_maximum_kv_bytes" }
            price_level { PriceLevel "price level" } { PriceLevelActiveParameters "price_level_active_parameters" }
            knowledge_score { KnowledgeScore "knowledge score" } {
                KnowledgeScoreTotalParameters "knowledge_score_total_parameters"
            }
            capacity_offer { CapacityOffer "capacity offer" } {
                CapacityFullLoadCost "capacity_full_load_cost"
                CapacityBreakEvenUtilisation "capacity_break_even_utilisation"
            }
        }
    };
}
pub(crate) use clue_table;

macro_rules! declare_ids {
    ($(
        $module:ident { $first:ident $first_name:tt $( $clue:ident $clue_name:tt )* } { $( $reading:ident $id:tt )* }
    )+) => {
        /// A price-sheet feature, by its name in answers.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, ToSchema)]
        #[expect(missing_docs, reason = "each variant is the feature of its name")]
        pub enum ClueKind {
            $( #[serde(rename = $first_name)] $first, $( #[serde(rename = $clue_name)] $clue, )* )+
        }

        impl ClueKind {
            /// Name of the clue in answers.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $( Self::$first => $first_name, $( Self::$clue => $clue_name, )* )+ }
            }
        }

        /// A kind of reading, by its id in answers.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, ToSchema)]
        #[expect(missing_docs, reason = "each variant is documented by its Specification")]
        pub enum ReadingId {
            $( $( #[serde(rename = $id)] $reading, )* )+
        }

        impl ReadingId {
            /// Every kind of reading, in the order in which answers list them.
            pub const ALL: &[Self] = &[ $( $( Self::$reading, )* )+ ];

            /// Id of the reading in answers.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $( $( Self::$reading => $id, )* )+ }
            }

            /// The feature that it is drawn from.
            pub(crate) const fn clue(self) -> ClueKind {
                match self { $( $( Self::$reading => ClueKind::$first, )* )+ }
            }
        }
    };
}

clue_table!(declare_ids);

impl fmt::Display for ClueKind {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name())
    }
}

impl fmt::Display for ReadingId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name())
    }
}

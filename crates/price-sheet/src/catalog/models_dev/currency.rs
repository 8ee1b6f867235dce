//! Sellers whose prices the catalog lists in another currency than the dollar, without saying so.

/// A seller whose list prices are copied as they are.
pub(super) struct ForeignSeller {
    /// Name of the seller in the catalog.
    seller: &'static str,
    /// Currency of its prices, as an ISO 4217 code.
    pub(super) currency: &'static str,
    /// Models whose prices the catalog has converted into dollars all the same.
    converted: &'static [&'static str],
    /// Page that states it.
    pub(super) source: &'static str,
    /// Day on which it was read.
    pub(super) read_on: &'static str,
}

/// The sellers. A seller whose prices the catalog converts is not among them, such as cortecs, evroc, infomaniak and stackit.
const SELLERS: [ForeignSeller; 2] = [
    // Its own documentation has 0.90 € for llama-3.3-70b-instruct, as the catalog has 0.9; new entries are converted, one of
    // them with the rate beside it: 0.60 € at 1.14 $.
    ForeignSeller {
        seller: "scaleway",
        currency: "EUR",
        converted: &["deepseek-v4-flash-0731", "qwen3.8-27b"],
        source: "https://github.com/anomalyco/models.dev/issues/2919",
        read_on: "2026-11-29",
    },
    // 2.1 and 8.4 are MiniMax's list prices in yuan; in dollars it asks for 0.3 and 1.2.
    ForeignSeller {
        seller: "moark",
        currency: "CNY",
        converted: &[],
        source: "https://platform.minimaxi.com/docs/guides/pricing-paygo.md",
        read_on: "2026-11-21",
    },
];

/// The seller of a model whose price is in another currency.
pub(super) fn foreign_seller(seller: &str, model: &str) -> Option<&'static ForeignSeller> {
    SELLERS
        .iter()
        .find(|known| known.seller == seller && !known.converted.contains(&model))
}

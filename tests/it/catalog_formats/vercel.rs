//! Models of Vercel's AI Gateway.

use unroof_price_sheet::catalog::read_catalog;

/// Entries as the list has them: tiers for each meter, a model of pictures, and one that is priced by nothing.
const LIST: &str = r#"{"object": "list", "data": [
    {"id": "anthropic/claude-opus-5", "object": "model", "owned_by": "anthropic", "type": "language", "context_window": 1000000,
        "pricing": {"input": "0.000005", "output": "0.000025", "input_cache_read": "0.0000005", "input_cache_write": "0.00000625",
            "input_tiers": [{"cost": "0.000005", "min": 0, "max": 200001}, {"cost": "0.00001", "min": 200001}]}},
    {"id": "openai/gpt-5.6-luna", "object": "model", "owned_by": "openai", "type": "language",
        "pricing": {"input": "0.0000002", "output": "0.0000012"}},
    {"id": "bfl/flux-2", "object": "model", "type": "image", "pricing": {"image": "0.04"}}]}"#;

#[test]
fn every_model_of_the_list_gives_a_sheet_in_dollars_per_million_tokens_or_one_reason() {
    let entries = read_catalog(LIST.as_bytes()).unwrap();
    let prices = entries.iter().map(|entry| match &entry.sheets {
        Ok(sheets) => {
            let base = sheets[0].base_rate().unwrap();
            let [input, output] = [&base.input, &base.output].map(|price| price.as_ref().unwrap());
            format!("{input} {output}")
        }
        Err(faults) => faults[0].detail.clone(),
    });
    let expected = [
        "5 25",
        "0.2 1.2",
        "the model does not generate text: its type is `image`",
    ];
    assert_eq!(prices.collect::<Vec<_>>(), expected);
}

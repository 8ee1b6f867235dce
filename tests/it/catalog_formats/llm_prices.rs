//! llm-prices, of which there is no snapshot: that its shapes are distinguished from all other catalogs.

use unroof_base::input::json;
use unroof_price_sheet::catalog::recognize;

#[test]
fn each_shape_of_llm_prices_is_recognised_as_no_other_catalog() {
    for document in [
        r#"{"updated_at": "2026-08-21", "prices": [{"id": "o3", "vendor": "openai", "name": "o3", "input": 2}]}"#,
        r#"{"prices": [{"id": "o3", "vendor": "openai", "input": 2, "from_date": null, "to_date": null}]}"#,
        r#"{"vendor": "openai", "models": [{"id": "o3", "name": "o3", "price_history": [{"input": 2}]}]}"#,
    ] {
        let tree = json::parse(document.as_bytes()).unwrap();
        assert_eq!(recognize(&tree).unwrap().name(), "llm-prices", "{document}");
    }
}

//! The example sheets, inside the binary.

macro_rules! sheet {
    ($name:literal) => {
        ($name, include_str!(concat!("../../../examples/", $name)))
    };
}

/// File name and text of every sheet under `examples/`.
pub const EXAMPLE_SHEETS: [(&str, &str); 17] = [
    sheet!("alibaba_qwen3-max.json"),
    sheet!("anthropic_claude-haiku-5-5.json"),
    sheet!("anthropic_claude-opus-4-6.json"),
    sheet!("anthropic_claude-opus-5-5.json"),
    sheet!("anthropic_claude-sonnet-4-5.json"),
    sheet!("deepseek_deepseek-chat_v3.0.json"),
    sheet!("deepseek_deepseek-chat_v3.1.json"),
    sheet!("deepseek_deepseek-v4-pro.json"),
    sheet!("google_gemini-2.5-pro.json"),
    sheet!("google_gemini-3.1-pro.json"),
    sheet!("minimax_minimax-m2.7.json"),
    sheet!("moonshot_kimi-k3.1-pro.json"),
    sheet!("openai_gpt-5.4.json"),
    sheet!("openai_gpt-5.6-sol.json"),
    sheet!("openai_gpt-6-astra.json"),
    sheet!("openai_gpt-6-sol.json"),
    sheet!("xai_grok-4.7.json"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_example_is_inside_the_binary() {
        let mut files: Vec<String> =
            std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples"))
                .unwrap()
                .map(|entry| entry.unwrap().file_name().into_string().unwrap())
                .filter(|name| {
                    std::path::Path::new(name)
                        .extension()
                        .is_some_and(|extension| extension == "json")
                })
                .collect();
        files.sort_unstable();
        assert_eq!(
            EXAMPLE_SHEETS.map(|(name, _)| name.to_owned()).to_vec(),
            files
        );
    }
}

//! Whether an entry is of a model that generates text: by its stated modalities, else its mode, else its name.

use super::names::has_word;
use unroof_base::input::cursor::Cursor;
use unroof_base::input::json::Json;

/// Modes without text generation, whose prices carry no information about decoding.
const MODES_WITHOUT_TEXT: &str = "\
    audio_speech embedding image_edit image_generation moderation rerank vector_store \
    video_generation";
/// Words of names of models whose answers are pictures, films, sound or verdicts.
const WORDS_WITHOUT_TEXT: &str = "\
    dall eleven flux ideogram image imagen kling lyria midjourney moderation musicgen recraft sdxl \
    seedance seedream sora stable-diffusion suno tts veo wan wan2";
/// Words of names of models whose answers are numbers, though some catalogs state them as text.
const NUMBERS: &str = "\
    bge e5 embed embedding embeddings gte minilm multimodalembedding rerank reranker voyage";

/// Whether the entry of a key is of a model that generates text; else a fault is recorded.
pub(super) fn generates_text(key: &str, entry: &Cursor<'_>) -> bool {
    let reason = without_text(key, entry.json);
    if let Some(reason) = &reason {
        entry.fault_without_price(
            format!("the model does not generate text: {reason}"),
            "send models that generate text, such as those of the mode `chat`",
        );
    }
    reason.is_none()
}

/// The reason for which a model generates no text.
fn without_text(key: &str, entry: &Json) -> Option<String> {
    let lower = key.to_lowercase();
    let name = lower.rsplit('/').next().unwrap_or_default();
    let words: Vec<&str> = name
        .split(|letter: char| !letter.is_alphanumeric())
        .collect();
    let has = |word: &str| words.contains(&word) || (word.contains('-') && name.contains(word));
    let word_of = |list: &'static str| list.split(' ').find(|word| has(word));
    let by_name = |word: &str| format!("its name has the word `{word}`");
    let mode = entry.at("mode").and_then(Json::as_text);
    if let Some(kinds) = modalities(entry) {
        if !kinds.contains(&"text") {
            return Some(format!("its output is {}", kinds.join(" and ")));
        }
        return match mode {
            None => word_of(NUMBERS).map(by_name),
            Some(mode) => by_mode(mode).filter(|_| kinds.len() == 1),
        };
    }
    if let Some(mode) = mode {
        return by_mode(mode);
    }
    let word = word_of(WORDS_WITHOUT_TEXT).or_else(|| word_of(NUMBERS));
    word.map(by_name)
}

fn by_mode(mode: &str) -> Option<String> {
    has_word(MODES_WITHOUT_TEXT, mode).then(|| format!("its mode is `{mode}`"))
}

/// The kinds of output that an entry states, as models.dev, `OpenRouter` or `LiteLLM` do.
fn modalities(entry: &Json) -> Option<Vec<&str>> {
    let places = [
        entry.at("modalities").and_then(|kinds| kinds.at("output")),
        entry
            .at("architecture")
            .and_then(|kinds| kinds.at("output_modalities")),
        entry.at("supported_output_modalities"),
    ];
    let listed = places.into_iter().flatten().next();
    let kinds: Vec<_> = if let Some(listed) = listed {
        listed.items().iter().filter_map(Json::as_text).collect()
    } else {
        let modality = entry.at("architecture")?.at("modality")?.as_text()?;
        modality.split_once("->")?.1.split('+').collect()
    };
    (!kinds.is_empty()).then_some(kinds)
}

#[cfg(test)]
mod tests {
    use super::*;
    use unroof_base::input::json;

    #[test]
    fn the_stated_modality_counts_first_then_the_mode_then_the_name() {
        let reason =
            |key: &str, entry: &str| without_text(key, &json::parse(entry.as_bytes()).unwrap());
        let refused = [
            (
                "x/a",
                r#"{"modalities": {"output": ["image"]}}"#,
                "its output is image",
            ),
            (
                "x/a",
                r#"{"architecture": {"output_modalities": ["audio"]}}"#,
                "its output is audio",
            ),
            (
                "x/a",
                r#"{"architecture": {"modality": "text->image"}}"#,
                "its output is image",
            ),
            ("x/voyage-4", "{}", "its name has the word `voyage`"),
            (
                "x/stable-diffusion-xl",
                "{}",
                "its name has the word `stable-diffusion`",
            ),
            ("x/a", r#"{"mode": "embedding"}"#, "its mode is `embedding`"),
            ("x/a-rerank-v3", "{}", "its name has the word `rerank`"),
            ("x/gpt-image-1", "{}", "its name has the word `image`"),
            (
                "x/text-embedding-3",
                r#"{"modalities": {"output": ["text"]}}"#,
                "its name has the word `embedding`",
            ),
        ];
        for (key, entry, expected) in refused {
            assert_eq!(
                reason(key, entry).as_deref(),
                Some(expected),
                "{key} {entry}"
            );
        }
        for (key, entry) in [
            (
                "x/gemini-image",
                r#"{"modalities": {"output": ["text", "image"]}}"#,
            ),
            ("x/gemini-image", r#"{"mode": "chat"}"#),
            (
                "x/gemini",
                r#"{"mode": "image_generation", "supported_output_modalities": ["text", "image"]}"#,
            ),
            ("image/gpt-5", "{}"),
            (
                "x/voyage",
                r#"{"architecture": {"modality": "text+image->text"}, "mode": "chat"}"#,
            ),
            ("x/stable-code-diffusion", "{}"),
        ] {
            assert_eq!(reason(key, entry), None, "{key} {entry}");
        }
    }
}

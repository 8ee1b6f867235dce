//! The usage of one request, as its provider counted it.

use utoipa::ToSchema;

use unroof_base::input::body::document::name;
use unroof_base::input::body::{List, Source, body, count, object, optional, plain, value};

/// Most tokens of a count.
const MOST_TOKENS: u32 = 2_147_483_647;

body! {
    /// Tokens of one request. `input_tokens` are all tokens of the prompt, cached ones included; `output_tokens` includes
    /// reasoning.
    #[at_least(1)]
    #[check(check_prompt(input_tokens, cached_input_tokens, explicit_cached_input_tokens, cache_writes))]
    #[check(check_reasoning(output_tokens, reasoning_tokens))]
    pub struct Usage {
        /// Tokens of the prompt: uncached input, cache reads and cache writes, as OpenAI's `prompt_tokens` and Gemini's
        /// `promptTokenCount` count them; the cached ones if left out. Anthropic's `input_tokens` lack cache reads and writes.
        input_tokens: Option<u32> = optional(count(0..=MOST_TOKENS).unit("tokens").flag("input")),
        /// Prompt tokens read from a cache.
        cached_input_tokens: u32 = plain(count(0..=MOST_TOKENS).unit("tokens").or(0).flag("cached-input")),
        /// Prompt tokens read from an explicit cache, besides `cached_input_tokens`.
        explicit_cached_input_tokens: u32 = plain(count(0..=MOST_TOKENS).unit("tokens").or(0)),
        /// Prompt tokens written to a cache, by time to live.
        cache_writes: Option<Vec<WrittenTokens>> = optional(value(List::entries(object::<WrittenTokens>()))),
        /// Tokens held in a cache with a price per hour. If left out, each cache write is held for its time to live;
        /// an empty list holds none.
        cache_storage: Option<Vec<StoredTokens>> = optional(value(List::entries(object::<StoredTokens>()))),
        /// All generated tokens, reasoning included. Gemini's `thoughtsTokenCount` is added to its `candidatesTokenCount`.
        output_tokens: u32 = plain(count(0..=MOST_TOKENS).unit("tokens").or(0).flag("output")),
        /// Reasoning tokens among the generated ones. Billed as output where they have no price of their own.
        reasoning_tokens: u32 = plain(count(0..=MOST_TOKENS).unit("tokens").or(0).flag("reasoning")),
        /// Prompt tokens of the whole session, for a sheet whose context tiers count a session.
        session_tokens: Option<u32> = optional(count(0..=MOST_TOKENS).unit("tokens")),
        /// Service tier: its name or alias in the sheet, or the `service_tier` that selects it; `standard` if left out.
        service_tier: Option<String> = optional(value(name()).flag("service-tier")),
        /// Names of the sheet's modifiers that apply, such as `data_residency`.
        modifiers: Option<Vec<String>> = optional(value(List::entries(name()))),
    }

    /// Tokens written to a cache.
    pub struct WrittenTokens {
        /// Tokens written to the cache.
        tokens: u32 = plain(count(0..=MOST_TOKENS).unit("tokens")),
        /// Time to live; the shortest one that the sheet prices if left out.
        ttl_seconds: Option<u32> = optional(count(1..=MOST_TOKENS).unit("s")),
    }

    /// Tokens held in a cache.
    pub struct StoredTokens {
        /// Tokens held in the cache.
        tokens: u32 = plain(count(0..=MOST_TOKENS).unit("tokens")),
        /// Time for which they are held.
        seconds: u32 = plain(count(0..=MOST_TOKENS).unit("s")),
    }
}

impl Usage {
    /// Cache reads and cache writes.
    fn cached_tokens(&self) -> u64 {
        sum_of(
            self.cached_input_tokens,
            self.explicit_cached_input_tokens,
            self.cache_writes.as_deref(),
        )
    }

    /// Prompt tokens: uncached input, cache reads and cache writes.
    #[must_use]
    pub fn prompt(&self) -> u64 {
        let whole = self.input_tokens.map(u64::from);
        whole.unwrap_or_else(|| self.cached_tokens())
    }

    /// Prompt tokens besides cache reads and writes.
    #[must_use]
    pub fn uncached(&self) -> u64 {
        self.prompt().saturating_sub(self.cached_tokens())
    }
}

fn sum_of(reads: u32, explicit_reads: u32, writes: Option<&[WrittenTokens]>) -> u64 {
    let writes = writes.unwrap_or_default().iter();
    let written: u64 = writes.map(|write| u64::from(write.tokens)).sum();
    u64::from(reads) + u64::from(explicit_reads) + written
}

/// The prompt contains what is read from and written to caches.
fn check_prompt(
    object: Source<'_, '_>,
    prompt: Option<&Option<u32>>,
    reads: Option<&u32>,
    explicit_reads: Option<&u32>,
    writes: Option<&Option<Vec<WrittenTokens>>>,
) {
    let (Some(Some(prompt)), Some(reads), Some(explicit_reads), Some(writes)) =
        (prompt, reads, explicit_reads, writes)
    else {
        return;
    };
    let cached = sum_of(*reads, *explicit_reads, writes.as_deref());
    let prompt = u64::from(*prompt);
    if cached > prompt {
        let detail = format!("{prompt} prompt tokens, of which {cached} are cached");
        let hint = "`input_tokens` includes cache reads and writes; add them where the provider counts them apart";
        object.fault_of("input_tokens", &detail, hint);
    }
}

/// Reasoning is part of the output.
fn check_reasoning(object: Source<'_, '_>, output: Option<&u32>, reasoning: Option<&u32>) {
    if let (Some(output), Some(reasoning)) = (output, reasoning)
        && reasoning > output
    {
        let detail = format!("{reasoning} reasoning tokens among {output} output tokens");
        let hint = "`output_tokens` includes reasoning; add the reasoning tokens where the provider counts them apart";
        object.fault_of("reasoning_tokens", &detail, hint);
    }
}

/// Kind of metered tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Meter {
    /// Prompt tokens neither read from a cache nor written to one.
    Input,
    /// Prompt tokens read from a cache.
    CacheRead,
    /// Prompt tokens read from an explicit cache.
    CacheReadExplicit,
    /// Prompt tokens written to a cache.
    CacheWrite,
    /// Generated tokens besides reasoning.
    Output,
    /// Reasoning tokens of the answer.
    Reasoning,
    /// Tokens held in a cache.
    CacheStorage,
}

impl Meter {
    /// Name of the meter, as sheets and answers write it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Input => "input",
            Self::CacheRead => "cache_read",
            Self::CacheReadExplicit => "cache_read_explicit",
            Self::CacheWrite => "cache_write",
            Self::Output => "output",
            Self::Reasoning => "reasoning",
            Self::CacheStorage => "cache_storage_per_hour",
        }
    }

    /// The meter of which it is a part, for a modifier that names only that one.
    fn wider(self) -> &'static str {
        match self {
            Self::CacheReadExplicit => Self::CacheRead.name(),
            Self::Reasoning => Self::Output.name(),
            Self::CacheStorage => "cache_storage",
            other => other.name(),
        }
    }

    /// Whether a list of names contains it; an empty list contains all.
    pub(super) fn is_in(self, names: &[String]) -> bool {
        let is_named = |name: &String| [self.name(), self.wider()].contains(&name.as_str());
        names.is_empty() || names.iter().any(is_named)
    }
}

/// Tokens of one meter.
#[derive(Debug, Clone, Copy)]
pub(super) struct Metered {
    pub(super) meter: Meter,
    pub(super) tokens: u64,
    /// Time to live of written tokens; holding time of stored ones.
    pub(super) seconds: Option<u32>,
    /// Tokens of the request before them.
    pub(super) place: u64,
}

impl Usage {
    /// The used meters, in the order of the request: what is cached is the beginning of a prompt.
    pub(super) fn metered(&self) -> Vec<Metered> {
        let writes = self.cache_writes.iter().flatten();
        let writes =
            writes.map(|write| (Meter::CacheWrite, write.tokens.into(), write.ttl_seconds));
        let reads = [
            (Meter::CacheRead, self.cached_input_tokens.into(), None),
            (
                Meter::CacheReadExplicit,
                self.explicit_cached_input_tokens.into(),
                None,
            ),
        ];
        let answer = self.output_tokens.saturating_sub(self.reasoning_tokens);
        let rest = [
            (Meter::Input, self.uncached(), None),
            (Meter::Reasoning, self.reasoning_tokens.into(), None),
            (Meter::Output, answer.into(), None),
        ];
        let mut place = 0;
        let all = reads.into_iter().chain(writes).chain(rest);
        let placed = all.map(|(meter, tokens, seconds)| {
            let metered = Metered {
                meter,
                tokens,
                seconds,
                place,
            };
            place += tokens;
            metered
        });
        placed.filter(|metered| metered.tokens > 0).collect()
    }
}

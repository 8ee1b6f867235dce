//! LiteLLM.

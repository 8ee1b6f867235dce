//! Work that no client waits for any more.

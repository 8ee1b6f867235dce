//! How an import says that it ended.

//! Whole real catalogs, where there are some: every entry gives sheets or one reason.

mod openrouter;
mod portkey;
mod survey;

//! Paths, query strings and headers.
#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::{Corpus, fuzz_target};
use unroof_fuzz::request::SERVICE;

fuzz_target!(
    init: {
        LazyLock::force(&SERVICE);
    },
    |text: &[u8]| -> Corpus {
        SERVICE.check_head(text).map_or(Corpus::Reject, |()| Corpus::Keep)
    }
);

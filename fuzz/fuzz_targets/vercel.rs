//! The models of Vercel's AI Gateway: a key on the first line, then an entry or a catalog.
#![no_main]

use libfuzzer_sys::{Corpus, fuzz_target};
use unroof_fuzz::sheet::check_catalog;

fuzz_target!(|input: &[u8]| -> Corpus {
    check_catalog("vercel", input).map_or(Corpus::Reject, |()| Corpus::Keep)
});

//! Bodies of `/simulate`, `/layout` and `/training`.
#![no_main]

use libfuzzer_sys::{Corpus, fuzz_target};
use unroof_fuzz::calculator::check_question;

fuzz_target!(|text: &[u8]| -> Corpus {
    check_question(text).map_or(Corpus::Reject, |()| Corpus::Keep)
});

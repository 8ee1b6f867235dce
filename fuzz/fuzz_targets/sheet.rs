//! Fuzz target: canonical price sheets from any text.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &[u8]| unroof_fuzz::sheet::check_canonical(text));

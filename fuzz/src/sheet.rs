//! Price sheets in every format.

use std::sync::LazyLock;

use jsonschema::Validator;
use unroof_infer::estimate::{Format, Request, read_file, read_request, textbook};
use unroof_price_sheet::sheet::{PriceSheet, json_schema};

use super::{finite, refusal};

static SCHEMA: LazyLock<Validator> = LazyLock::new(|| {
    jsonschema::draft202012::options()
        .should_validate_formats(true)
        .build(&json_schema())
        .expect("the schema of a sheet is a schema")
});

/// Canonical sheets: bare, with assumptions, pooled, or a list of them.
pub fn check_canonical(text: &[u8]) {
    check(text, &Format::Canonical);
}

/// A catalog's key on the first line; below it an entry, bare or with assumptions, or a whole catalog.
pub fn check_catalog(name: &str, input: &[u8]) -> Option<()> {
    let end = input.iter().position(|byte| *byte == b'\n')?;
    let model = std::str::from_utf8(&input[..end]).ok()?;
    let format = Format::Entry {
        catalog: name.parse().expect("a catalog has this name"),
        model: model.to_owned(),
        at: jiff::Timestamp::UNIX_EPOCH,
    };
    check(&input[end + 1..], &format);
    Some(())
}

fn check(text: &[u8], format: &Format) {
    match read_file(text, format, None) {
        Ok(file) => file.requests.iter().for_each(check_request),
        Err(error) => refusal::check(&error, text),
    }
}

/// The joint estimate takes too long for one input of many; what a textbook reads does not.
fn check_request(request: &Request) {
    request.sheets.iter().for_each(check_round_trip);
    finite::check(&textbook(request));
}

/// A sheet that was read, written down and read again is the same, and the schema takes it.
fn check_round_trip(sheet: &PriceSheet) {
    let written = serde_json::to_string(sheet).expect("a sheet has a text");
    let again = read_request(written.as_bytes(), &Format::Canonical)
        .unwrap_or_else(|error| panic!("{error:?} in {written}"));
    assert_eq!(again.sheets, std::slice::from_ref(sheet));
    assert_eq!(again.sheets[0].id(), sheet.id());
    if let Err(error) = SCHEMA.validate(&refusal::tree(written.as_bytes())) {
        panic!("{}: {error} in {written}", error.instance_path());
    }
}

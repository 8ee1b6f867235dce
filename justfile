# Tests that wait for seconds, kill servers, send floods, sample for minutes or store hundreds of sheets: `just check` runs
# them.
slow_groups := "--skip attack:: --skip browser:: --skip checks:: --skip database_faults:: --skip durability:: --skip joint:: --skip scale:: --skip wire::"
slow_tests := "--skip a_list_that_grows --skip pages_over_250_rows --skip the_report_is_80_columns"

# Lists the recipes.
default:
    @just --list --unsorted

# The fast lane: tests on SQLite alone, without the slow groups. With arguments, those tests: `just test history:: attack::`.
test *tests:
    env -u UNROOF_TEST_POSTGRES_URL -u UNROOF_REQUIRE_POSTGRES -u UNROOF_TEST_CATALOGS \
        cargo test --workspace --lib --bins --tests -- {{ if tests == "" { slow_groups + " " + slow_tests } else { tests } }}

# Formatting, clippy and the API documentation of the code, each without a warning.
lint:
    cargo fmt --all -- --check
    rustfmt --edition 2024 --check crates/core/src/catalog/*.rs crates/core/src/clue/*.rs
    cargo fmt --manifest-path fuzz/Cargo.toml -- --check
    cargo clippy --workspace --all-targets --locked -- -D warnings
    RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --locked

# Everything that a change must pass, on SQLite and on a throwaway PostgreSQL, in Chromium. What continuous integration runs.
check:
    ./scripts/test

# Tests alone beside a throwaway PostgreSQL; arguments go to `cargo test`.
test-pg *arguments:
    ./scripts/with-postgres cargo test --workspace {{ arguments }}

# Checks too slow for every change: guides that install and build, made-up requests, the image, the oldest Rust.
nightly:
    ./scripts/nightly

# Measures and writes docs/BENCHMARKS.md; with arguments, those rows of it: `just bench stream lists-sqlite`.
bench *rows:
    ./scripts/with-postgres ./scripts/bench {{ rows }}

# Every generated file is compared by a test, and the same test writes it here.
#
# Rewrites generated files: API document, schema, answers, output in README.md and docs/guide, counts of instructions.
bless:
    UNROOF_BLESS=1 cargo test --tests -- generated:: every_command_of_the_guides
    ./scripts/instructions --bless

# A flame graph of the posterior in target/profile.svg; `just profile entry` is that of an entry of an import.
profile *work:
    ./scripts/profile {{ work }}

# Each step writes a file that is part of the program, so the next step builds it first.
#
# Fits everything again after a change under data/: efficiencies, calibration, track record.
data:
    cargo run --release --package unroof-dev -- fit --write
    cargo run --release --package unroof-dev -- calibrate
    cargo run --release --package unroof-dev -- validate
    cargo build --release
    @just bless

# Serves the API with the worked examples loaded.
run:
    cargo run --release -- serve --examples

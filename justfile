# Everything that must pass: formatting, clippy, tests, generated files.
check:
    ./scripts/test

# Tests alone, with a throwaway PostgreSQL; arguments go to `cargo test`.
test-pg *arguments:
    ./scripts/with-postgres cargo test {{ arguments }}

# Regenerates generated files, snapshots and the output in README.md and docs/guide; built first, so that a build error empties no file.
bless:
    cargo build
    mkdir -p openapi
    cargo run --quiet -- openapi > openapi/openapi.json
    cargo run --quiet -- schema > openapi/pricesheet.schema.json
    INSTA_UPDATE=always UNROOF_BLESS=1 cargo test

# Serves the API with the worked examples loaded.
run:
    cargo run --release -- serve --examples

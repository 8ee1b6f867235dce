//! Builds the crate again where there is a new migration: an incremental build sees changed files, not new ones.

fn main() {
    println!("cargo:rerun-if-changed=../../migrations");
    println!("cargo:rerun-if-changed=build.rs");
}

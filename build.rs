//! Rebuilds when a migration is added: an incremental build sees changed files, not new ones.
fn main() {
    println!("cargo:rerun-if-changed=migrations");
    println!("cargo:rerun-if-changed=data");
}

//! Names the commit that is built, for `--version`.

use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    name_commit();
}

/// Names the commit that is built, for `--version`: ` (1a2b3c4)`, or nothing outside of a repository.
fn name_commit() {
    let answer = |arguments: &[&str]| {
        let ended = Command::new("git").args(arguments).output().ok()?;
        let text = String::from_utf8(ended.stdout).ok()?;
        ended.status.success().then(|| text.trim().to_owned())
    };
    // A source archive inside of another repository is not of its commit.
    let is_own = answer(&["ls-files", "build.rs"]).is_some_and(|listed| !listed.is_empty());
    let commit = answer(&["rev-parse", "--short", "HEAD"]).filter(|_| is_own);
    let commit = commit.map_or(String::new(), |commit| format!(" ({commit})"));
    println!("cargo:rustc-env=UNROOF_COMMIT={commit}");
    let branch = answer(&["symbolic-ref", "--quiet", "HEAD"]);
    for name in ["HEAD", branch.as_deref().unwrap_or("HEAD")] {
        // A file that is not there, as that of a packed branch is not, would have everything built again each time.
        let path = answer(&["rev-parse", "--git-path", name]);
        if let Some(path) = path.filter(|path| is_own && Path::new(path).exists()) {
            println!("cargo:rerun-if-changed={path}");
        }
    }
}

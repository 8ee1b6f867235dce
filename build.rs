//! Prepares what the program embeds: the migrations, the data, the API document and the files of Swagger UI, both
//! compressed, and the name of the commit.

use std::error::Error;
use std::fs::{File, create_dir_all};
use std::io::{Cursor, Read, copy};
use std::path::Path;
use std::process::Command;

use flate2::Compression;
use flate2::write::GzEncoder;
use utoipa_swagger_ui_vendored::SWAGGER_UI_VENDORED;
use zip::ZipArchive;

/// The files of Swagger UI that `/docs` serves as they are.
const SWAGGER_UI: [&str; 2] = ["swagger-ui-bundle.js", "swagger-ui.css"];

fn main() -> Result<(), Box<dyn Error>> {
    // An incremental build sees changed files, not new ones.
    println!("cargo:rerun-if-changed=migrations");
    println!("cargo:rerun-if-changed=data");
    println!("cargo:rerun-if-changed=openapi");
    println!("cargo:rerun-if-changed=build.rs");
    name_commit();
    let folder = std::env::var("OUT_DIR")?;
    let folder = Path::new(&folder);
    compress(
        &mut File::open("openapi/openapi.json")?,
        &folder.join("openapi.json"),
    )?;
    compress_swagger_ui(&folder.join("swagger-ui"))
}

fn compress(content: &mut impl Read, into: &Path) -> Result<(), Box<dyn Error>> {
    let mut compressed = GzEncoder::new(File::create(into)?, Compression::best());
    copy(content, &mut compressed)?;
    compressed.finish()?;
    Ok(())
}

/// Writes every file of Swagger UI into a folder, compressed. The archive has one folder at its top, named by the version.
fn compress_swagger_ui(folder: &Path) -> Result<(), Box<dyn Error>> {
    let mut archive = ZipArchive::new(Cursor::new(SWAGGER_UI_VENDORED))?;
    let top = archive.by_index(0)?.name()?.into_owned();
    create_dir_all(folder)?;
    for name in SWAGGER_UI {
        let mut file = archive.by_name(&format!("{top}dist/{name}"))?;
        compress(&mut file, &folder.join(name))?;
    }
    Ok(())
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

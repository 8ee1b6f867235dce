//! Prepares what the program embeds: the migrations, the data and the files of Swagger UI.

use std::error::Error;
use std::fs::{File, create_dir_all};
use std::io::{Cursor, copy};
use std::path::Path;

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
    println!("cargo:rerun-if-changed=build.rs");
    compress_swagger_ui(&Path::new(&std::env::var("OUT_DIR")?).join("swagger-ui"))
}

/// Writes every file of Swagger UI into a folder, compressed. The archive has one folder at its top, named by the version.
fn compress_swagger_ui(folder: &Path) -> Result<(), Box<dyn Error>> {
    let mut archive = ZipArchive::new(Cursor::new(SWAGGER_UI_VENDORED))?;
    let top = archive.by_index(0)?.name()?.into_owned();
    create_dir_all(folder)?;
    for name in SWAGGER_UI {
        let mut file = archive.by_name(&format!("{top}dist/{name}"))?;
        let mut compressed = GzEncoder::new(File::create(folder.join(name))?, Compression::best());
        copy(&mut file, &mut compressed)?;
        compressed.finish()?;
    }
    Ok(())
}

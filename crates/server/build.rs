//! Prepares what the service embeds: the API document and the files of Swagger UI, both compressed.

use std::error::Error;
use std::fs::{File, create_dir_all};
use std::io::{Cursor, Read, copy};
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;
use utoipa_swagger_ui_vendored::SWAGGER_UI_VENDORED;
use zip::ZipArchive;

/// The API document, as `just bless` writes it.
const API_DOCUMENT: &str = "../../openapi/openapi.json";

/// The files of Swagger UI that `/docs` serves as they are.
const SWAGGER_UI: [&str; 2] = ["swagger-ui-bundle.js", "swagger-ui.css"];

fn main() -> Result<(), Box<dyn Error>> {
    // An incremental build sees changed files, not new ones.
    println!("cargo:rerun-if-changed={API_DOCUMENT}");
    println!("cargo:rerun-if-changed=build.rs");
    let folder = std::env::var("OUT_DIR")?;
    let folder = Path::new(&folder);
    compress(&mut File::open(API_DOCUMENT)?, &folder.join("openapi.json"))?;
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

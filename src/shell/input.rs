//! The input of a command: a file, or standard input.

use std::io::Read;
use std::path::Path;

use anyhow::Context;

use crate::Failure;

/// The content of a file, or of standard input for `-`.
///
/// # Errors
/// It cannot be read.
pub(crate) fn read_input(file: &Path) -> Result<Vec<u8>, Failure> {
    let read = if file == Path::new("-") {
        let mut text = Vec::new();
        std::io::stdin().read_to_end(&mut text).map(|_| text)
    } else {
        std::fs::read(file)
    };
    read.with_context(|| format!("cannot read `{}`", file.display()))
        .map_err(Failure::Usage)
}

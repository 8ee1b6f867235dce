//! Generated files of the project.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde::Serialize;

/// The page whose sections `fit` and `validate` fill in.
pub(crate) const VALIDATION: &str = "docs/VALIDATION.md";
/// The text of [`VALIDATION`] as it was when the program was built.
pub(crate) const VALIDATION_TEXT: &str = include_str!("../../../docs/VALIDATION.md");

/// A document as text that ends with its last line.
pub(crate) fn json(document: &impl Serialize) -> Result<String> {
    let text =
        serde_json::to_string_pretty(document).context("the document could not be serialised")?;
    Ok(text + "\n")
}

/// Writes a file of the project; creates its folder if needed.
pub(crate) fn write(file: &Path, text: &str) -> Result<()> {
    let folder = file
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    folder
        .map_or(Ok(()), fs::create_dir_all)
        .with_context(|| format!("cannot create the folder of `{}`", file.display()))?;
    fs::write(file, text).with_context(|| format!("cannot write `{}`", file.display()))
}

/// A file that is filled in from top to bottom: its figures are generated, its prose is written by hand and stays.
pub(crate) struct Template<'t> {
    filled: String,
    rest: &'t str,
}

impl<'t> Template<'t> {
    pub(crate) fn new(text: &'t str) -> Self {
        Self {
            filled: String::new(),
            rest: text,
        }
    }

    /// Replaces what lies between a text and the next occurrence of another.
    pub(crate) fn between(&mut self, from: &str, to: &str, new: &str) {
        self.keep_through(from);
        self.filled.push_str(new);
        self.rest = &self.rest[self.place(to)..];
    }

    /// Replaces the rows of the first table behind a text.
    pub(crate) fn table<const CELLS: usize>(
        &mut self,
        from: &str,
        rows: impl IntoIterator<Item = [String; CELLS]>,
    ) {
        self.keep_through(from);
        self.keep_through("|---|\n");
        for cells in rows {
            self.filled += "| ";
            self.filled += &cells.join(" | ");
            self.filled += " |\n";
        }
        while self.rest.starts_with('|') {
            self.rest = self.rest.split_once('\n').map_or("", |(_, rest)| rest);
        }
    }

    /// The whole file.
    pub(crate) fn filled(self) -> String {
        self.filled + self.rest
    }

    fn keep_through(&mut self, text: &str) {
        let (kept, rest) = self.rest.split_at(self.place(text) + text.len());
        self.filled.push_str(kept);
        self.rest = rest;
    }

    fn place(&self, text: &str) -> usize {
        let found = self.rest.find(text);
        found.unwrap_or_else(|| panic!("the file to fill in has no `{text}`"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_replaced_and_prose_stays() {
        let page =
            "# One\n\n| a |\n|---|\n| 1 |\n| 2 |\n\nIt is 3.\n\n# Two\n\n| a |\n|---|\n| 4 |\n";
        let mut template = Template::new(page);
        template.table("# One", [["5".to_owned()]]);
        template.between("It is ", ".\n", "6");
        template.table("# Two", ["7", "8"].map(|cell| [cell.to_owned()]));
        assert_eq!(
            template.filled(),
            "# One\n\n| a |\n|---|\n| 5 |\n\nIt is 6.\n\n# Two\n\n| a |\n|---|\n| 7 |\n| 8 |\n"
        );
    }
}

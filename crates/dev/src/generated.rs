//! Generated files of the project.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde::Serialize;

/// A document as text that ends with its last line.
pub(crate) fn json(document: &impl Serialize) -> Result<String> {
    let text =
        serde_json::to_string_pretty(document).context("the document could not be serialised")?;
    Ok(text + "\n")
}

/// Writes a whole file; creates its folder if needed.
pub(crate) fn write(file: &Path, text: &str) -> Result<()> {
    let folder = file
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    folder
        .map_or(Ok(()), fs::create_dir_all)
        .with_context(|| format!("cannot create the folder of `{}`", file.display()))?;
    fs::write(file, text).with_context(|| format!("cannot write `{}`", file.display()))
}

/// Replaces the section with this title, up to the next title, or appends it.
pub(crate) fn write_section(file: &Path, section: &str) -> Result<()> {
    // A new page begins with this section.
    let page = fs::read_to_string(file).unwrap_or_default();
    write(file, &with_section(&page, section))
}

fn with_section(page: &str, section: &str) -> String {
    let section = section.trim_end();
    let title = section.lines().next().unwrap_or_default();
    let mut sections: Vec<String> = Vec::new();
    for line in page.lines() {
        match sections.last_mut() {
            Some(last) if !line.starts_with("# ") => {
                last.push('\n');
                last.push_str(line);
            }
            _ => sections.push(line.to_owned()),
        }
    }
    match sections
        .iter_mut()
        .find(|own| own.lines().next() == Some(title))
    {
        Some(own) => section.clone_into(own),
        None => sections.push(section.to_owned()),
    }
    let sections: Vec<&str> = sections.iter().map(|own| own.trim_end()).collect();
    sections.join("\n\n") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_section_takes_the_place_of_the_one_with_its_title() {
        let page = "# One\n\na\n\n# Two\n\nb\n";
        assert_eq!(
            with_section(page, "# Two\n\nc\n"),
            "# One\n\na\n\n# Two\n\nc\n"
        );
        assert_eq!(
            with_section(page, "# Three\n\nc\n"),
            "# One\n\na\n\n# Two\n\nb\n\n# Three\n\nc\n"
        );
    }
}

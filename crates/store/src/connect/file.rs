//! The file of an embedded database.

use std::path::{Path, PathBuf};

use crate::StoreError;

/// Identity of a file: device and inode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FileIdentity(u64, u64);

impl FileIdentity {
    /// Identity of the file at a path; constant on systems without inodes.
    pub(crate) fn of(path: &Path) -> std::io::Result<Self> {
        let metadata = std::fs::metadata(path)?;
        #[cfg(unix)]
        {
            use std::os::unix::fs::MetadataExt;
            Ok(Self(metadata.dev(), metadata.ino()))
        }
        #[cfg(not(unix))]
        {
            let _ = metadata;
            Ok(Self(0, 0))
        }
    }
}

/// The file with a longer name.
pub(crate) fn with_ending(file: &Path, ending: &str) -> PathBuf {
    let mut longer = file.as_os_str().to_owned();
    longer.push(ending);
    longer.into()
}

/// Whether the process may write to a file. Opening and closing it would take the locks that SQLite has on it.
pub(crate) fn may_write(path: &Path) -> bool {
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::{Access, AtFlags, CWD, accessat};
        accessat(CWD, path, Access::WRITE_OK, AtFlags::EACCESS).is_ok()
    }
    #[cfg(not(target_os = "linux"))]
    std::fs::metadata(path).is_ok_and(|metadata| !metadata.permissions().readonly())
}

/// Whether a file is on a file system of another machine, which takes every lock for one on ranges of bytes.
#[cfg(target_os = "linux")]
pub(crate) fn is_of_network(path: &Path) -> bool {
    // NFS, SMB, CIFS and SMB 2, as `statfs` has them.
    const NETWORK: [u32; 4] = [0x6969, 0x517b, 0xff53_4d42, 0xfe53_4d42];
    let kind = rustix::fs::statfs(path).ok().map(|found| found.f_type);
    kind.and_then(|kind| u32::try_from(kind).ok())
        .is_some_and(|kind| NETWORK.contains(&kind))
}

/// Creates the file, readable by its owner alone, and missing folders.
pub(crate) fn make_private_file(path: &Path) -> Result<(), StoreError> {
    if let Some(folder) = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty() && !folder.exists())
    {
        let mut builder = std::fs::DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder
            .create(folder)
            .map_err(StoreError::of_file(folder))?;
    }
    // A file that is there is left alone: to close it would take the locks from it that this process may have.
    match make_new_file(path) {
        Err(source) if source.kind() != std::io::ErrorKind::AlreadyExists => {
            Err(StoreError::of_file(path)(source))
        }
        _ => Ok(()),
    }
}

/// Creates a file that was not there, readable by its owner alone.
pub(crate) fn make_new_file(path: &Path) -> std::io::Result<()> {
    let mut options = std::fs::OpenOptions::new();
    options.create_new(true).write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path).map(drop)
}

//! Who may write what images are taken from: whoever may, decides what runs on the node.
//!
//! A source, a bundle and all that a layout directory holds must belong to root, or to the user
//! that the agent runs as, and nobody else may write them. Directories above must belong to the
//! same, and others may write them only where they can't replace what is ours (the sticky bit, as
//! on `/tmp`). An access control list that lets others write shows in the bits of the group.

use std::collections::BTreeSet;
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::settle::Settled;

const GROUP_WRITES: u32 = 0o020;
const OTHERS_WRITE: u32 = 0o002;
const STICKY: u32 = 0o1000;

/// Why something isn't used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Unsafe {
    /// Somebody else owns it.
    #[error(
        "{}, who could change what is imported: {}, or set insecure_permissions",
        self.found(), self.mend()
    )]
    Owner {
        /// What it is about.
        path: PathBuf,
        /// User id.
        owner: u32,
    },
    /// Others may write it.
    #[error(
        "{}, who could change what is imported: {}, or set insecure_permissions",
        self.found(), self.mend()
    )]
    Writable {
        /// What it is about.
        path: PathBuf,
        /// Group or everybody.
        who: &'static str,
        /// Permission bits.
        mode: u32,
    },
    /// It can't be looked at.
    #[error("{}", self.found())]
    Unknown {
        /// What it is about.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
}

impl Unsafe {
    fn unknown(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        |error| Self::Unknown { path, error }
    }

    /// What is wrong.
    pub(crate) fn found(&self) -> String {
        match self {
            Self::Owner { path, owner } => {
                format!("{} belongs to user {owner}", path.display())
            }
            Self::Writable { path, who, mode } => {
                let path = path.display();
                format!("{path} can be written by {who} (mode {mode:04o})")
            }
            Self::Unknown { path, error } => format!("{}: {error}", path.display()),
        }
    }

    /// What to type.
    pub(crate) fn mend(&self) -> String {
        match self {
            Self::Owner { path, .. } => format!("chown root {}", path.display()),
            Self::Writable { path, .. } => format!("chmod go-w {}", path.display()),
            Self::Unknown { path, .. } => format!("ls -ld {}", path.display()),
        }
    }
}

/// Whether nobody else can change what stands in a directory.
pub(super) fn check_directory(path: &Path) -> Result<(), Unsafe> {
    faults(path).into_iter().next().map_or(Ok(()), Err)
}

/// Every way in which somebody else can change what stands in a directory, that of the directory
/// itself first.
pub(crate) fn faults(path: &Path) -> Vec<Unsafe> {
    let own = fs::metadata(path).map_err(Unsafe::unknown(path));
    let own = own.and_then(|metadata| check(path, &metadata));
    let above = above(path).map_or_else(
        |unknown| vec![Err(unknown)],
        |above| {
            above
                .iter()
                .map(|directory| check_one_above(directory))
                .collect()
        },
    );
    [own]
        .into_iter()
        .chain(above)
        .filter_map(Result::err)
        .collect()
}

/// Whether nobody else can change a bundle: the file that is open, or all that a directory holds.
pub(super) fn check_bundle(settled: &Settled) -> Result<(), Unsafe> {
    let path = &settled.path;
    match &settled.file {
        Some(file) => check(path, &file.metadata().map_err(Unsafe::unknown(path))?)?,
        None => check_all(path)?,
    }
    check_above(path)
}

fn check_all(directory: &Path) -> Result<(), Unsafe> {
    let metadata = fs::metadata(directory).map_err(Unsafe::unknown(directory))?;
    check(directory, &metadata)?;
    for entry in fs::read_dir(directory).map_err(Unsafe::unknown(directory))? {
        let entry = entry.map_err(Unsafe::unknown(directory))?;
        let path = entry.path();
        let metadata = entry.metadata().map_err(Unsafe::unknown(&path))?;
        if metadata.is_dir() {
            check_all(&path)?;
        } else {
            check(&path, &metadata)?;
        }
    }
    Ok(())
}

fn check_above(path: &Path) -> Result<(), Unsafe> {
    above(path)?
        .iter()
        .try_for_each(|directory| check_one_above(directory))
}

/// The directories that lead to a path: as it is written, and where links in it lead.
fn above(path: &Path) -> Result<BTreeSet<PathBuf>, Unsafe> {
    let real = fs::canonicalize(path).map_err(Unsafe::unknown(path))?;
    let all = path.ancestors().chain(real.ancestors());
    let above = all.filter(|directory| *directory != path && *directory != real);
    Ok(above.map(Path::to_owned).collect())
}

fn check_one_above(directory: &Path) -> Result<(), Unsafe> {
    let metadata = fs::metadata(directory).map_err(Unsafe::unknown(directory))?;
    check_owner(directory, &metadata)?;
    if metadata.mode() & STICKY == 0 {
        check_mode(directory, &metadata)?;
    }
    Ok(())
}

fn check(path: &Path, metadata: &Metadata) -> Result<(), Unsafe> {
    check_owner(path, metadata)?;
    // A link's own mode says nothing.
    if metadata.is_symlink() {
        return Ok(());
    }
    check_mode(path, metadata)
}

fn check_owner(path: &Path, metadata: &Metadata) -> Result<(), Unsafe> {
    let ours = rustix::process::geteuid().as_raw();
    let owner = metadata.uid();
    if owner == 0 || owner == ours {
        return Ok(());
    }
    Err(Unsafe::Owner {
        path: path.to_owned(),
        owner,
    })
}

fn check_mode(path: &Path, metadata: &Metadata) -> Result<(), Unsafe> {
    let mode = metadata.mode() & 0o7777;
    let who = match mode {
        mode if mode & OTHERS_WRITE != 0 => "everybody",
        mode if mode & GROUP_WRITES != 0 => "its group",
        _ => return Ok(()),
    };
    Err(Unsafe::Writable {
        path: path.to_owned(),
        who,
        mode,
    })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    fn chmod(path: &Path, mode: u32) {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    /// A folder of our own, with a file in it, whatever the umask is.
    fn folder() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        let below = folder.path().join("bundles");
        fs::create_dir(&below).unwrap();
        chmod(&below, 0o755);
        fs::write(below.join("x.tar"), b"x").unwrap();
        chmod(&below.join("x.tar"), 0o644);
        folder
    }

    #[test]
    fn a_directory_that_others_may_write_is_unsafe_and_so_is_one_below_it() {
        let cases = [
            (0o755, 0o755, None),
            (0o755, 0o700, None),
            (0o755, 0o775, Some("its group")),
            (0o755, 0o757, Some("everybody")),
            (0o755, 0o1777, Some("everybody")),
            (0o777, 0o755, Some("everybody")),
            (0o770, 0o755, Some("its group")),
            (0o1777, 0o755, None),
        ];
        for (above, own, who) in cases {
            let folder = folder();
            let directory = folder.path().join("bundles");
            chmod(folder.path(), above);
            chmod(&directory, own);
            let checked = check_directory(&directory).map_err(|e| e.to_string());
            match who {
                None => assert_eq!(checked, Ok(()), "{above:o} {own:o}"),
                Some(who) => assert!(checked.unwrap_err().contains(who), "{above:o} {own:o}"),
            }
        }
    }

    #[test]
    fn a_bundle_that_others_may_write_is_unsafe() {
        for (mode, safe) in [(0o644, true), (0o664, false), (0o646, false)] {
            let folder = folder();
            let bundle = folder.path().join("bundles/x.tar");
            chmod(&bundle, mode);
            let settled = Settled::as_it_is(&bundle).unwrap();
            assert_eq!(check_bundle(&settled).is_ok(), safe, "{mode:o}");
        }
    }

    #[test]
    fn a_layout_is_as_safe_as_all_that_it_holds() {
        let folder = folder();
        let layout = folder.path().join("bundles");
        let settled = Settled::as_it_is(&layout).unwrap();
        check_bundle(&settled).unwrap();
        chmod(&layout.join("x.tar"), 0o666);
        let error = check_bundle(&settled).unwrap_err().to_string();
        assert!(error.contains("x.tar"), "{error}");
    }

    #[test]
    fn where_a_link_leads_must_be_safe_too() {
        let (folder, elsewhere) = (folder(), folder());
        let link = folder.path().join("link.tar");
        symlink(elsewhere.path().join("bundles/x.tar"), &link).unwrap();
        let settled = Settled::as_it_is(&link).unwrap();
        check_bundle(&settled).unwrap();
        chmod(&elsewhere.path().join("bundles"), 0o777);
        assert!(check_bundle(&settled).is_err());
    }
}

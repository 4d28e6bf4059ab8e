//! Whether anybody still writes a bundle.
//!
//! The kernel knows: it grants a read lease only on a file that no process has open for writing,
//! or mapped writable (`fcntl(2)`, "Leases"). Where it can't be asked, as on network file
//! systems, a file counts as settled when it hasn't changed for the debounce time.

use std::fs::{File, Metadata, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use super::scan::{Candidate, Fingerprint};

/// `fcntl(2)`: the signal that is sent instead of SIGIO; 10 on every architecture.
const F_SETSIG: libc::c_int = 10;

/// A bundle that nobody writes any more, opened: the descriptor serves for everything after.
#[derive(Debug)]
pub struct Settled {
    /// Where it stands.
    pub path: PathBuf,
    /// What it was when it was opened.
    pub fingerprint: Fingerprint,
    /// The file; `None` for a layout directory, which is opened by its reader.
    pub file: Option<File>,
}

impl Settled {
    /// Takes a bundle that somebody named as it is, without asking for writers.
    pub fn as_it_is(path: &Path) -> io::Result<Self> {
        let metadata = std::fs::metadata(path)?;
        if let Some(special) = Special::of(&metadata) {
            return Err(io::Error::other(special));
        }
        if metadata.is_dir() {
            return Ok(Self {
                path: path.to_owned(),
                fingerprint: Fingerprint::of_directory(path)?,
                file: None,
            });
        }
        let file = open(path)?;
        Ok(Self {
            path: path.to_owned(),
            fingerprint: Fingerprint::of(&file.metadata()?),
            file: Some(file),
        })
    }
}

/// What is neither a file nor a directory, and isn't opened: opening some devices does something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("it is {0}, neither a file nor a directory: put the bundle itself here")]
pub struct Special(&'static str);

impl Special {
    fn of(metadata: &Metadata) -> Option<Self> {
        let kind = metadata.file_type();
        let kinds = [
            (kind.is_fifo(), "a FIFO"),
            (kind.is_socket(), "a socket"),
            (kind.is_block_device(), "a block device"),
            (kind.is_char_device(), "a character device"),
        ];
        let found = kinds.into_iter().find(|(is_it, _)| *is_it);
        found.map(|(_, what)| Self(what))
    }
}

/// What a look at a candidate told.
#[derive(Debug)]
pub enum Probe {
    /// Nobody writes it.
    Settled(Settled),
    /// Somebody has it open for writing, or it changed while we looked.
    Writing,
    /// The file system can't say who writes: take it when it has been left alone long enough.
    Unknown(Settled),
    /// It is gone.
    Gone,
    /// It is nothing that could be a bundle.
    Special(Special),
    /// It can't be opened.
    Unreadable(io::Error),
}

/// Looks at a candidate. Never blocks: not on a FIFO, not on a lease.
pub fn probe(candidate: &Candidate) -> Probe {
    let metadata = std::fs::metadata(&candidate.path).ok();
    if let Some(special) = metadata.as_ref().and_then(Special::of) {
        return Probe::Special(special);
    }
    let settled = match Settled::as_it_is(&candidate.path) {
        Ok(settled) => settled,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Probe::Gone,
        Err(error) => return Probe::Unreadable(error),
    };
    if settled.fingerprint != candidate.fingerprint {
        return Probe::Writing;
    }
    let Some(file) = &settled.file else {
        return probe_directory(settled);
    };
    match has_writer(file) {
        Ok(true) => Probe::Writing,
        Ok(false) => still_the_same(settled),
        Err(_) => Probe::Unknown(settled),
    }
}

/// A layout's index names all else, and writers replace it last: it is the one that is asked for.
fn probe_directory(settled: Settled) -> Probe {
    match open(&settled.path.join("index.json")).map(|file| has_writer(&file)) {
        Ok(Ok(true)) => Probe::Writing,
        _ => Probe::Unknown(settled),
    }
}

fn still_the_same(settled: Settled) -> Probe {
    match settled.file.as_ref().map(File::metadata) {
        Some(Ok(metadata)) if Fingerprint::of(&metadata) == settled.fingerprint => {
            Probe::Settled(settled)
        }
        _ => Probe::Writing,
    }
}

fn open(path: &Path) -> io::Result<File> {
    let flags = libc::O_NONBLOCK | libc::O_CLOEXEC | libc::O_NOCTTY;
    OpenOptions::new().read(true).custom_flags(flags).open(path)
}

/// Asks the kernel by taking a read lease and giving it back.
fn has_writer(file: &File) -> io::Result<bool> {
    // Should a writer come in the moment between, the kernel signals us: with SIGIO, which ends
    // a process, unless told to use a signal that is ignored by default.
    control(file, F_SETSIG, libc::SIGURG)?;
    match control(file, libc::F_SETLEASE, libc::F_RDLCK) {
        Ok(()) => control(file, libc::F_SETLEASE, libc::F_UNLCK).map(|()| false),
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(true),
        Err(error) => Err(error),
    }
}

/// `fcntl` with an integer argument.
#[expect(
    unsafe_code,
    reason = "leases are in none of the safe wrappers of system calls"
)]
fn control(file: &File, command: libc::c_int, argument: libc::c_int) -> io::Result<()> {
    // SAFETY: the descriptor is open for as long as `file` is borrowed, and the commands that we
    // give take an int and touch no memory of ours.
    let result = unsafe { libc::fcntl(file.as_raw_fd(), command, argument) };
    if result == -1 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn candidate(path: &Path) -> Candidate {
        Candidate {
            path: path.to_owned(),
            fingerprint: Fingerprint::of(&fs::metadata(path).unwrap()),
            is_directory: false,
        }
    }

    #[test]
    fn a_file_that_nobody_writes_is_settled() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let path = file.into_temp_path();
        let probe = probe(&candidate(&path));
        assert!(matches!(probe, Probe::Settled(_)), "{probe:?}");
    }

    #[test]
    fn a_file_that_is_open_for_writing_is_not() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let probe = probe(&candidate(file.path()));
        assert!(matches!(probe, Probe::Writing), "{probe:?}");
    }

    #[test]
    fn a_file_that_changed_since_the_scan_is_not() {
        let path = tempfile::NamedTempFile::new().unwrap().into_temp_path();
        let before = candidate(&path);
        fs::write(&path, b"more").unwrap();
        assert!(matches!(probe(&before), Probe::Writing));
    }

    #[test]
    fn a_file_that_is_gone_is_gone() {
        let path = tempfile::NamedTempFile::new().unwrap().into_temp_path();
        let before = candidate(&path);
        fs::remove_file(&path).unwrap();
        assert!(matches!(probe(&before), Probe::Gone));
    }
}

//! The file that a bundle is written to: whole under its name, or not there.

use std::fs::{File, Permissions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use airdock_bundle::digest::{Algorithm, Hasher};
use airdock_bundle::limits;
use airdock_bundle::write::{Bodies, Compression, Contents, WriteError};
use tempfile::NamedTempFile;
use tokio_util::sync::CancellationToken;

use super::request::Request;
use crate::exit::Exit;
use crate::output::human::Bytes;
use crate::output::shown;

/// A bundle is for others to read.
const MODE: u32 = 0o644;

/// A file that was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// Where.
    pub path: PathBuf,
    /// Bytes.
    pub size: u64,
    /// Of the file, where that was asked for.
    pub sha256: Option<String>,
}

/// Why the file isn't there.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// Something has the name.
    #[error("{} is there already: choose another name, or --force", shown(.0))]
    Exists(PathBuf),
    /// It isn't a file name.
    #[error("{} is a directory: name a file", shown(.0))]
    Directory(PathBuf),
    /// The file system is too full, before or while writing.
    #[error(
        "no space for {}: {} are needed; free some, or write to another file system",
        shown(path),
        Bytes(*needed)
    )]
    NoSpace {
        /// Where it was to be.
        path: PathBuf,
        /// Bytes of the whole file; an upper bound where it is compressed.
        needed: u64,
    },
    /// It can't be written.
    #[error("cannot {action} {}: {source}", shown(path))]
    Io {
        /// What was tried.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// Its content can't be had.
    #[error(transparent)]
    Bundle(WriteError),
    /// Somebody stopped it.
    #[error("stopped; nothing was written")]
    Stopped,
    /// A background thread of ours ended without an answer.
    #[error("a worker thread ended without an answer")]
    Worker,
}

impl FileError {
    /// The status that the program ends with.
    pub fn exit(&self) -> Exit {
        match self {
            Self::Exists(_) | Self::Directory(_) => Exit::Usage,
            Self::NoSpace { .. } => Exit::NoSpace,
            Self::Stopped => Exit::Interrupted,
            Self::Io { .. } | Self::Bundle(_) | Self::Worker => Exit::Failure,
        }
    }
}

/// That a file may be written there, before any work is done for it.
pub fn check(path: &Path, replace: bool) -> Result<(), FileError> {
    if path.is_dir() {
        return Err(FileError::Directory(path.to_owned()));
    }
    if !replace && path.symlink_metadata().is_ok() {
        return Err(FileError::Exists(path.to_owned()));
    }
    Ok(())
}

/// Writes beside, syncs and renames: under its name the bundle is whole.
pub fn write(
    contents: &Contents,
    request: &Request,
    cancel: &CancellationToken,
    bodies: &mut Bodies<'_>,
    progress: &mut dyn FnMut(u64),
) -> Result<Written, FileError> {
    let output = Output {
        path: &request.output,
        needed: contents.archive_size(),
    };
    if request.compression == Compression::None {
        output.check_space()?;
    }
    let file = output.create()?;
    let mut sink = Sink {
        file: BufWriter::with_capacity(limits::OUTPUT_BUFFER, file.as_file()),
        size: 0,
        hasher: request.checksum.then(|| Hasher::new(Algorithm::Sha256)),
        cancel,
    };
    let written = contents.write_to(&mut sink, request.compression, bodies, progress);
    let (size, hasher) = (sink.size, sink.hasher.take());
    drop(sink);
    written.map_err(|error| output.failed(error, cancel))?;
    let sha256 = hasher.map(|hasher| hasher.finish().hex().to_owned());
    output.keep(file, request.replace)?;
    if let Some(sum) = &sha256 {
        output.write_sum(sum)?;
    }
    let path = request.output.clone();
    Ok(Written { path, size, sha256 })
}

struct Output<'a> {
    path: &'a Path,
    needed: u64,
}

impl Output<'_> {
    fn directory(&self) -> &Path {
        match self.path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        }
    }

    fn check_space(&self) -> Result<(), FileError> {
        // Where it can't be asked, writing will tell.
        let Ok(stat) = rustix::fs::statvfs(self.directory()) else {
            return Ok(());
        };
        if stat.f_bavail.saturating_mul(stat.f_frsize) < self.needed {
            return Err(self.no_space());
        }
        Ok(())
    }

    fn no_space(&self) -> FileError {
        FileError::NoSpace {
            path: self.path.to_owned(),
            needed: self.needed,
        }
    }

    /// A dot file that ends in `.tmp`: whoever watches the directory passes over it.
    fn create(&self) -> Result<NamedTempFile, FileError> {
        let created = tempfile::Builder::new()
            .prefix(".airdock-")
            .suffix(".tmp")
            .permissions(Permissions::from_mode(MODE))
            .tempfile_in(self.directory());
        created.map_err(|source| self.io("write", source))
    }

    fn keep(&self, file: NamedTempFile, replace: bool) -> Result<(), FileError> {
        file.as_file()
            .sync_all()
            .map_err(|source| self.io("sync", source))?;
        let kept = match replace {
            true => file.persist(self.path),
            false => file.persist_noclobber(self.path),
        };
        kept.map_err(|error| self.io("name", error.error))?;
        self.sync_directory()
    }

    fn write_sum(&self, sum: &str) -> Result<(), FileError> {
        let name = self.path.file_name().unwrap_or_default();
        let mut beside = name.to_owned();
        beside.push(".sha256");
        let path = self.path.with_file_name(beside);
        let beside = Output {
            path: &path,
            needed: 0,
        };
        let mut file = beside.create()?;
        let line = format!("{sum}  {}\n", name.to_string_lossy());
        file.write_all(line.as_bytes())
            .map_err(|source| beside.io("write", source))?;
        beside.keep(file, true)
    }

    fn sync_directory(&self) -> Result<(), FileError> {
        let directory = File::open(self.directory());
        let synced = directory.and_then(|directory| directory.sync_all());
        synced.map_err(|source| self.io("sync the directory of", source))
    }

    fn failed(&self, error: WriteError, cancel: &CancellationToken) -> FileError {
        match error {
            _ if cancel.is_cancelled() => FileError::Stopped,
            WriteError::Output { source } => self.io("write", source),
            error => FileError::Bundle(error),
        }
    }

    fn io(&self, action: &'static str, source: io::Error) -> FileError {
        match source.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => self.no_space(),
            io::ErrorKind::AlreadyExists => FileError::Exists(self.path.to_owned()),
            _ => FileError::Io {
                action,
                path: self.path.to_owned(),
                source,
            },
        }
    }
}

/// Counts, hashes where that is wanted, and stops when it is told to.
struct Sink<'a> {
    file: BufWriter<&'a File>,
    size: u64,
    hasher: Option<Hasher>,
    cancel: &'a CancellationToken,
}

impl Write for Sink<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.cancel.is_cancelled() {
            return Err(io::Error::other("stopped"));
        }
        let count = self.file.write(bytes)?;
        self.size += count as u64;
        if let (Some(hasher), Some(bytes)) = (&mut self.hasher, bytes.get(..count)) {
            hasher.update(bytes);
        }
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

//! Blobs on disk, by digest: `blobs/sha256/…` those that are whole, `partial/…` the others.
//!
//! Several runs share it: who fetches a blob has its partial file locked, and a blob gets its
//! name when it was verified. Nothing is synced: a blob is verified again whenever it is used.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use airdock_bundle::digest::{Digest, Hasher};
use rustix::fs::{FlockOperation, flock};

use super::limits;

/// Images may be private.
const DIRECTORY_MODE: u32 = 0o700;

/// The directory.
#[derive(Clone, Debug)]
pub(super) struct Cache {
    blobs: PathBuf,
    partial: PathBuf,
}

/// What stands in the cache of a blob.
pub(super) enum Begun {
    Whole(PathBuf),
    Partial(Partial),
    /// Another run fetches it.
    Busy,
}

/// A blob that isn't whole yet, locked.
pub(super) struct Partial {
    file: File,
    path: PathBuf,
    hasher: Hasher,
    digest: Digest,
    /// Bytes that are there.
    pub(super) have: u64,
}

impl Cache {
    /// Makes the directory, and removes what was begun and given up long ago.
    pub(super) fn open(dir: &Path) -> io::Result<Self> {
        let cache = Self {
            blobs: dir.join("blobs"),
            partial: dir.join("partial"),
        };
        let mut builder = fs::DirBuilder::new();
        let builder = builder.recursive(true).mode(DIRECTORY_MODE);
        for algorithm in ["sha256", "sha512"] {
            builder.create(cache.blobs.join(algorithm))?;
        }
        builder.create(&cache.partial)?;
        cache.forget_old()?;
        Ok(cache)
    }

    fn forget_old(&self) -> io::Result<()> {
        for entry in fs::read_dir(&self.partial)? {
            let entry = entry?;
            let modified = entry.metadata().and_then(|metadata| metadata.modified());
            let age = modified
                .ok()
                .and_then(|at| SystemTime::now().duration_since(at).ok());
            if age.is_some_and(|age| age > limits::PARTIAL_LIFE) {
                // Another run may have done it.
                let _ = fs::remove_file(entry.path());
            }
        }
        Ok(())
    }

    fn path(&self, digest: &Digest) -> PathBuf {
        self.blobs
            .join(digest.algorithm().as_str())
            .join(digest.hex())
    }

    /// The file of a blob that is whole, verified now; one that is damaged is removed.
    pub(super) fn whole(&self, digest: &Digest, size: u64) -> io::Result<Option<PathBuf>> {
        let path = self.path(digest);
        let file = match File::open(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            file => file?,
        };
        let mut hasher = Hasher::new(digest.algorithm());
        if file.metadata()?.len() == size && hash(&file, &mut hasher)? == size {
            let found = hasher.finish();
            if found == *digest {
                return Ok(Some(path));
            }
        }
        fs::remove_file(&path)?;
        Ok(None)
    }

    /// The bytes of a small blob, if they are here.
    pub(super) fn read(&self, digest: &Digest, limit: u64) -> Option<Vec<u8>> {
        let mut bytes = Vec::new();
        let file = File::open(self.path(digest)).ok()?;
        file.take(limit + 1).read_to_end(&mut bytes).ok()?;
        (Digest::of(digest.algorithm(), &bytes) == *digest).then_some(bytes)
    }

    /// Keeps a small blob that was verified.
    pub(super) fn keep(&self, digest: &Digest, bytes: &[u8]) -> io::Result<()> {
        let mut file = tempfile::NamedTempFile::new_in(&self.partial)?;
        file.write_all(bytes)?;
        file.persist(self.path(digest))?;
        Ok(())
    }

    /// What there is of a blob; its partial file is locked then, and hashed.
    pub(super) fn begin(&self, digest: &Digest, size: u64) -> io::Result<Begun> {
        if let Some(path) = self.whole(digest, size)? {
            return Ok(Begun::Whole(path));
        }
        let name = format!("{}-{}", digest.algorithm(), digest.hex());
        let path = self.partial.join(name);
        let Some(file) = locked(&path)? else {
            return Ok(Begun::Busy);
        };
        // Who had the lock before may have made it whole.
        if let Some(path) = self.whole(digest, size)? {
            return Ok(Begun::Whole(path));
        }
        Partial::open(file, path, digest, size).map(Begun::Partial)
    }

    /// Where blobs are, for messages.
    pub(super) fn shown(&self) -> &Path {
        &self.partial
    }

    /// Gives a blob its name.
    ///
    /// # Errors
    /// When it can't be renamed. `Ok(Err(…))` is the digest of bytes that are others.
    pub(super) fn finish(&self, partial: &mut Partial) -> io::Result<Result<PathBuf, Digest>> {
        let found = partial.hasher.clone().finish();
        if found != partial.digest {
            partial.restart()?;
            return Ok(Err(found));
        }
        let path = self.path(&partial.digest);
        fs::rename(&partial.path, &path)?;
        Ok(Ok(path))
    }
}

/// Opens and locks a partial file; `None` while somebody else has it.
fn locked(path: &Path) -> io::Result<Option<File>> {
    let mut options = OpenOptions::new();
    let file = options
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(path)?;
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Err(rustix::io::Errno::WOULDBLOCK) => return Ok(None),
        locked => locked?,
    }
    // Renamed or removed between opening and locking: it is no longer the partial file.
    let is_same = match fs::metadata(path) {
        Ok(now) => now.ino() == file.metadata()?.ino(),
        Err(_) => false,
    };
    Ok(is_same.then_some(file))
}

impl Partial {
    fn open(mut file: File, path: PathBuf, digest: &Digest, size: u64) -> io::Result<Self> {
        let mut hasher = Hasher::new(digest.algorithm());
        let mut have = hash(&file, &mut hasher)?;
        if have > size {
            file.set_len(0)?;
            hasher = Hasher::new(digest.algorithm());
            have = 0;
        }
        file.seek(SeekFrom::Start(have))?;
        Ok(Self {
            file,
            path,
            hasher,
            digest: digest.clone(),
            have,
        })
    }

    /// Adds what came.
    pub(super) fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all(bytes)?;
        self.hasher.update(bytes);
        self.have += bytes.len() as u64;
        Ok(())
    }

    /// Throws away what is there.
    pub(super) fn restart(&mut self) -> io::Result<()> {
        self.file.set_len(0)?;
        self.file.seek(SeekFrom::Start(0))?;
        self.hasher = Hasher::new(self.digest.algorithm());
        self.have = 0;
        Ok(())
    }
}

/// Hashes a file from its start; how many bytes that are.
fn hash(mut file: &File, hasher: &mut Hasher) -> io::Result<u64> {
    file.seek(SeekFrom::Start(0))?;
    hasher.read(file)
}

#[cfg(test)]
mod tests {
    use airdock_bundle::digest::Algorithm;

    use super::*;

    fn digest(bytes: &[u8]) -> Digest {
        Digest::of(Algorithm::Sha256, bytes)
    }

    fn partial(begun: Begun) -> Partial {
        match begun {
            Begun::Partial(partial) => partial,
            Begun::Whole(_) => panic!("whole"),
            Begun::Busy => panic!("busy"),
        }
    }

    #[test]
    fn what_was_begun_is_gone_on_with_and_named_when_whole() {
        let dir = tempfile::tempdir().unwrap();
        let cache = Cache::open(dir.path()).unwrap();
        let digest = digest(b"one two");
        let mut first = partial(cache.begin(&digest, 7).unwrap());
        first.append(b"one").unwrap();
        assert!(matches!(cache.begin(&digest, 7).unwrap(), Begun::Busy));
        drop(first);
        let mut second = partial(cache.begin(&digest, 7).unwrap());
        assert_eq!(second.have, 3);
        second.append(b" two").unwrap();
        let path = cache.finish(&mut second).unwrap().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"one two");
        drop(second);
        assert!(matches!(cache.begin(&digest, 7).unwrap(), Begun::Whole(_)));
        assert_eq!(cache.read(&digest, 7).unwrap(), b"one two");
    }

    #[test]
    fn other_bytes_get_no_name_and_damage_is_found() {
        let dir = tempfile::tempdir().unwrap();
        let cache = Cache::open(dir.path()).unwrap();
        let digest = digest(b"right");
        let mut begun = partial(cache.begin(&digest, 5).unwrap());
        begun.append(b"wrong").unwrap();
        assert!(cache.finish(&mut begun).unwrap().is_err());
        assert_eq!(begun.have, 0);
        begun.append(b"right").unwrap();
        let path = cache.finish(&mut begun).unwrap().unwrap();
        drop(begun);
        fs::write(&path, b"wrong").unwrap();
        assert_eq!(cache.read(&digest, 5), None);
        assert_eq!(cache.whole(&digest, 5).unwrap(), None);
        assert!(!path.exists());
    }
}

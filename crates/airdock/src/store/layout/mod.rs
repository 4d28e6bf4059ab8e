//! The embedded store: an OCI image layout directory, as skopeo, umoci and `ctr` read it.
//!
//! Blobs are written beside, hashed, synced and renamed into place; the index is replaced as a
//! whole. Two locks keep processes apart: sessions share one that a release takes alone, so that
//! no blob goes that somebody is about to name; the other guards the index while it is replaced.

mod blob;
mod index;
mod reach;

use std::collections::{BTreeSet, HashMap};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use airdock_bundle::digest::{Algorithm, Digest};
use airdock_containerd::Body;

use super::view::{Stored, View};
use super::{Put, StoreError};
use crate::agent::offer::OfferedBlob;
use crate::agent::plan::{Orphan, Step};
use crate::config::OnRemove;
use index::Index;

/// The OCI image layout specification, "oci-layout file".
const LAYOUT_FILE: &str = "oci-layout";
const LAYOUT_CONTENT: &[u8] = br#"{"imageLayoutVersion":"1.0.0"}"#;
const BLOBS: &str = "blobs/sha256";
/// Our locks and unfinished blobs; other tools pass over what the specification doesn't name.
const WORK: &str = ".airdock";

/// A layout directory.
#[derive(Debug)]
pub struct LayoutStore {
    directory: PathBuf,
}

impl LayoutStore {
    /// Opens a layout, and creates it if there is none.
    ///
    /// A directory that holds other things is refused rather than mixed with.
    pub fn open(directory: &Path) -> Result<Self, StoreError> {
        let store = Self {
            directory: directory.to_owned(),
        };
        let marker = directory.join(LAYOUT_FILE);
        if !marker.exists() && !is_empty_or_absent(directory)? {
            return Err(StoreError::NotALayout(directory.to_owned()));
        }
        for part in [BLOBS, WORK] {
            let path = directory.join(part);
            fs::create_dir_all(&path).map_err(|e| StoreError::layout("create", &path, e))?;
        }
        if !marker.exists() {
            store.replace(LAYOUT_FILE, LAYOUT_CONTENT)?;
        }
        if !directory.join(index::FILE).exists() {
            Index::default().write(&store)?;
        }
        Ok(store)
    }

    /// The layout's directory.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Reads the index, and lists the blobs.
    pub async fn view(self: &Arc<Self>) -> Result<View, StoreError> {
        let store = Arc::clone(self);
        blocking(move || {
            Ok(View {
                records: Index::read(&store)?.records(),
                content: store.list_blobs()?,
            })
        })
        .await
    }

    /// Removes the unfinished blobs of a process that died.
    pub async fn tidy(self: &Arc<Self>) -> Result<(), StoreError> {
        let store = Arc::clone(self);
        blocking(move || {
            let Some(_alone) = store.lock_alone()? else {
                return Ok(());
            };
            blob::remove_unfinished(&store.directory.join(WORK));
            Ok(())
        })
        .await
    }

    /// Blobs whose bytes aren't what their name says, or that are gone.
    pub async fn damaged(
        self: &Arc<Self>,
        blobs: &[Digest],
    ) -> Result<BTreeSet<Digest>, StoreError> {
        let store = Arc::clone(self);
        let blobs = blobs.to_vec();
        blocking(move || {
            let is_damaged = |digest: &Digest| !blob::is_sound(&store.blob(digest), digest);
            Ok(blobs.into_iter().filter(is_damaged).collect())
        })
        .await
    }

    /// Removes blobs.
    pub fn discard(&self, digests: &BTreeSet<Digest>) -> Result<(), StoreError> {
        let mut blobs = digests.iter().map(|digest| self.blob(digest));
        blobs.try_for_each(|blob| blob::remove(&blob))
    }

    /// Gives up names, and the blobs that no name reaches then.
    pub async fn release(
        self: &Arc<Self>,
        orphans: &[Orphan],
        policy: OnRemove,
    ) -> Result<Vec<String>, StoreError> {
        let store = Arc::clone(self);
        let orphans = orphans.to_vec();
        blocking(move || store.release_now(&orphans, policy)).await
    }

    fn release_now(&self, orphans: &[Orphan], policy: OnRemove) -> Result<Vec<String>, StoreError> {
        let Some(_alone) = self.lock_alone()? else {
            return Ok(Vec::new());
        };
        let _index = self.lock_index()?;
        let mut index = Index::read(self)?;
        let released: Vec<&Orphan> = orphans.iter().filter(|o| index.let_go(o, policy)).collect();
        if released.is_empty() {
            return Ok(Vec::new());
        }
        index.write(self)?;
        if policy != OnRemove::Keep {
            let targets = released.iter().map(|orphan| &orphan.target);
            reach::remove_unreached(self, targets, &index)?;
        }
        Ok(released.into_iter().map(|o| o.name.clone()).collect())
    }

    fn blob(&self, digest: &Digest) -> PathBuf {
        self.directory.join(BLOBS).join(digest.hex())
    }

    fn list_blobs(&self) -> Result<HashMap<Digest, Stored>, StoreError> {
        let path = self.directory.join(BLOBS);
        let failed = |e| StoreError::layout("list", &path, e);
        let mut blobs = HashMap::new();
        for entry in fs::read_dir(&path).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let Some(digest) = entry.file_name().to_str().and_then(digest_of_name) else {
                continue;
            };
            let size = entry.metadata().map_err(failed)?.len();
            let refs = Vec::new();
            blobs.insert(digest, Stored { size, refs });
        }
        Ok(blobs)
    }

    /// Shared: held while blobs are brought that no name reaches yet.
    fn lock_shared(&self) -> Result<File, StoreError> {
        let (path, file) = self.lock_file("lock")?;
        file.lock_shared()
            .map_err(|e| StoreError::layout("lock", &path, e))?;
        Ok(file)
    }

    /// Alone, if nobody brings anything now.
    fn lock_alone(&self) -> Result<Option<File>, StoreError> {
        let (path, file) = self.lock_file("lock")?;
        match file.try_lock() {
            Ok(()) => Ok(Some(file)),
            Err(fs::TryLockError::WouldBlock) => Ok(None),
            Err(fs::TryLockError::Error(e)) => Err(StoreError::layout("lock", &path, e)),
        }
    }

    fn lock_index(&self) -> Result<File, StoreError> {
        let (path, file) = self.lock_file("index.lock")?;
        file.lock()
            .map_err(|e| StoreError::layout("lock", &path, e))?;
        Ok(file)
    }

    fn lock_file(&self, name: &str) -> Result<(PathBuf, File), StoreError> {
        let path = self.directory.join(WORK).join(name);
        let opened = File::options()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&path);
        match opened {
            Ok(file) => Ok((path, file)),
            Err(e) => Err(StoreError::layout("open", &path, e)),
        }
    }

    /// Replaces a document of the layout: after a power cut the old one or the new.
    fn replace(&self, name: &str, content: &[u8]) -> Result<(), StoreError> {
        use std::io::Write;
        let path = self.directory.join(name);
        let write = || -> io::Result<()> {
            let mut file = tempfile::Builder::new()
                .prefix(blob::UNFINISHED)
                .permissions(blob::readable_by_all())
                .tempfile_in(self.directory.join(WORK))?;
            file.write_all(content)?;
            file.as_file().sync_all()?;
            file.persist(&path)?;
            File::open(&self.directory)?.sync_all()
        };
        write().map_err(|e| StoreError::layout("write", &path, e))
    }
}

/// A bundle's images on their way in.
#[derive(Debug)]
pub struct Session {
    store: Arc<LayoutStore>,
    _lock: File,
}

impl Session {
    /// Waits for a release that is under way.
    pub async fn begin(store: Arc<LayoutStore>) -> Result<Self, StoreError> {
        let locked = Arc::clone(&store);
        let lock = blocking(move || locked.lock_shared()).await?;
        Ok(Self { store, _lock: lock })
    }

    /// Writes a blob, hashing it on the way.
    pub async fn put(&self, wanted: &OfferedBlob, body: Body) -> Result<Put, StoreError> {
        let store = Arc::clone(&self.store);
        let wanted = wanted.clone();
        blocking(move || {
            let work = store.directory.join(WORK);
            blob::write(&work, &store.blob(&wanted.digest), &wanted, body)
        })
        .await
    }

    /// Changes the index, once for all names.
    pub async fn publish(&self, steps: &[Step]) -> Result<(), StoreError> {
        if steps.is_empty() {
            return Ok(());
        }
        let store = Arc::clone(&self.store);
        let steps = steps.to_vec();
        blocking(move || {
            sync_directory(&store.directory.join(BLOBS))?;
            let _index = store.lock_index()?;
            let mut index = Index::read(&store)?;
            steps.iter().for_each(|step| index.apply(step));
            index.write(&store)
        })
        .await
    }
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
) -> Result<T, StoreError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or(Err(StoreError::Worker))
}

fn sync_directory(path: &Path) -> Result<(), StoreError> {
    let synced = File::open(path).and_then(|directory| directory.sync_all());
    synced.map_err(|e| StoreError::layout("sync", path, e))
}

fn is_empty_or_absent(directory: &Path) -> Result<bool, StoreError> {
    match fs::read_dir(directory) {
        Ok(mut entries) => Ok(entries.next().is_none()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(true),
        Err(error) => Err(StoreError::layout("list", directory, error)),
    }
}

fn digest_of_name(name: &str) -> Option<Digest> {
    format!("{}:{name}", Algorithm::Sha256).parse().ok()
}

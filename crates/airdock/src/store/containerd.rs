//! The store behind containerd's socket.

mod looking;
pub mod unpacking;
mod usage;

use std::collections::{BTreeSet, HashSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use airdock_bundle::digest::{Algorithm, Digest, Hasher};
use airdock_containerd::{
    Body, Client, Error, Labels, Record as ImageRecord, SumKey, Target, WriteRequest, Written,
};
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use tokio::sync::RwLock;
use tokio_util::sync::CancellationToken;

use super::labels;
use super::owner::Owner;
use super::writers::Writers;
use super::{Put, Role, StoreError};
use crate::agent::offer::OfferedBlob;
use crate::agent::plan::{Action, Orphan, Step};
use crate::config::OnRemove;

/// Images whose names are written at once: the daemon's metadata takes one name at a time, and
/// another is ready when it is free.
const IMAGES_AT_ONCE: usize = 3;

/// A lease ends by itself after this: longer than any import, since it can't be extended, short
/// enough that what a killed process left behind goes.
const LEASE_LIFE: Duration = Duration::from_secs(24 * 60 * 60);

/// A lease that can't be given back is tried again so often: it is the last thing that is left of
/// a session, and a connection that broke is found broken only by its next call.
const END_ATTEMPTS: u32 = 3;
/// The pause before each further attempt.
const END_PAUSE: Duration = Duration::from_millis(100);

/// The content store's plugin, by type and id.
const CONTENT: (&str, &str) = ("io.containerd.content.v1", "content");

/// containerd in one namespace.
#[derive(Debug)]
pub struct ContainerdStore {
    client: Client,
    writers: Writers,
    /// What our leases and ingests start with.
    prefix: String,
    /// Leases of sessions that have ended, and that the daemon wouldn't take back yet.
    leftovers: Mutex<BTreeSet<String>>,
    /// Held for writing while blobs are thrown away.
    discarding: RwLock<()>,
    size: looking::Size,
    sum_key: SumKey,
}

impl ContainerdStore {
    /// Prepares the connections; the first call opens them.
    pub fn new(socket: &Path, namespace: &str, role: &Role) -> Result<Self, StoreError> {
        let client = Client::connect(socket, namespace)?;
        Ok(Self {
            writers: Writers::beside(&client),
            client,
            prefix: role.prefix(),
            leftovers: Mutex::default(),
            discarding: RwLock::default(),
            size: looking::Size::default(),
            sum_key: SumKey::default(),
        })
    }

    /// The connection for everything but blobs.
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// How the store is called in messages.
    pub fn describe(&self) -> String {
        let socket = self.client.socket().display();
        format!("containerd:{socket} ({})", self.client.namespace())
    }

    /// The file system that its content store keeps blobs in, if that can be seen from here.
    ///
    /// The store's own folder is made with the first blob; before that, its parent will do.
    pub async fn root(&self) -> Option<PathBuf> {
        let asked = self.client.plugin_export(CONTENT.0, CONTENT.1, "root");
        let root = PathBuf::from(asked.await.ok()??);
        root.ancestors()
            .take(2)
            .find(|path| path.is_dir())
            .map(Path::to_owned)
    }

    /// Ends the leases and drops the ingests that a process in our role left behind.
    pub async fn tidy(&self) -> Result<(), StoreError> {
        for lease in self.client.leases(&self.prefix).await? {
            self.client.lease_delete(&lease.id, false).await?;
        }
        for ingest in self.client.ingests(&self.prefix).await? {
            self.client.abort(&ingest.reference).await?;
        }
        Ok(())
    }

    /// Ends the leases of every `load` that is known to have died, and what was half written under
    /// them.
    pub async fn bury(&self) -> Result<(), StoreError> {
        let Some(current) = Owner::current() else {
            return Ok(());
        };
        for lease in self.client.leases(&Role::Load.prefix()).await? {
            let owner = lease.labels.get(labels::OWNER);
            if owner.is_some_and(|owner| current.knows_dead(owner)) {
                self.client.lease_delete(&lease.id, true).await?;
            }
        }
        Ok(())
    }

    /// Gives back the leases that could not be given back when their sessions ended.
    pub async fn clear_leftovers(&self) -> Result<(), StoreError> {
        let leases = self.leftovers().clone();
        for lease in leases {
            self.client.lease_delete(&lease, true).await?;
            self.leftovers().remove(&lease);
        }
        Ok(())
    }

    /// A set is whole at any moment, whoever panicked while holding it.
    fn leftovers(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.leftovers
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether CRI lists the image; `None` where there is no CRI.
    pub async fn seen_by_cri(&self, name: &str) -> Option<bool> {
        let answer = self.client.cri_image(name).await;
        answer.ok().map(|image| image.is_some())
    }

    /// The image that CRI is configured to start every pod with.
    pub async fn sandbox_image(&self) -> Option<String> {
        self.client.cri_status().await.ok()?.sandbox_image
    }

    /// Removes blobs, bytes included.
    ///
    /// A deletion takes a blob's record alone: until the next garbage collection the bytes stay on
    /// disk, and whoever writes that digest is given them back, damaged as they are. So they are
    /// collected before anybody can see that the blobs are gone.
    pub async fn discard(&self, digests: &BTreeSet<Digest>) -> Result<(), StoreError> {
        if digests.is_empty() {
            return Ok(());
        }
        let _unseen = self.discarding.write().await;
        for digest in digests {
            self.client.content_delete(digest.as_str()).await?;
        }
        self.collect_garbage().await
    }

    /// The end of a lease that is waited for is the one call that collects at once.
    async fn collect_garbage(&self) -> Result<(), StoreError> {
        let lease = format!("{}discard-{:016x}", self.prefix, unique());
        let expires = SystemTime::now() + LEASE_LIFE;
        self.client
            .lease_create(&lease, expires, Labels::new())
            .await?;
        self.client.lease_delete(&lease, true).await?;
        Ok(())
    }

    /// Reads blobs back and hashes them.
    pub async fn damaged(&self, blobs: &[Digest]) -> Result<BTreeSet<Digest>, StoreError> {
        let mut damaged = BTreeSet::new();
        for digest in blobs {
            if !self.is_sound(digest).await? {
                damaged.insert(digest.clone());
            }
        }
        Ok(damaged)
    }

    async fn is_sound(&self, digest: &Digest) -> Result<bool, StoreError> {
        let mut hasher = Hasher::new(Algorithm::Sha256);
        let mut bytes = std::pin::pin!(self.client.content_read(&digest.to_string()));
        while let Some(chunk) = bytes.next().await {
            match chunk {
                Ok(chunk) => hasher.update(&chunk),
                Err(Error::NotFound { .. }) => return Ok(false),
                Err(error) => return Err(error.into()),
            }
        }
        Ok(hasher.finish() == *digest)
    }

    /// Gives up names by the policy of their source.
    pub async fn release(
        &self,
        orphans: &[Orphan],
        policy: OnRemove,
    ) -> Result<Vec<String>, StoreError> {
        let used = match policy {
            OnRemove::Delete => usage::used(&self.client, orphans).await?,
            OnRemove::Unpin | OnRemove::Keep => HashSet::new(),
        };
        let mut released = Vec::new();
        for orphan in orphans {
            let in_use = used.contains(&orphan.target);
            if self.release_one(orphan, policy, in_use).await? {
                released.push(orphan.name.clone());
            }
        }
        Ok(released)
    }

    async fn release_one(
        &self,
        orphan: &Orphan,
        policy: OnRemove,
        in_use: bool,
    ) -> Result<bool, StoreError> {
        let Some(current) = self.client.image(&orphan.name).await? else {
            return Ok(false);
        };
        let ours = current.labels.get(labels::BUNDLE) == Some(&orphan.bundle);
        if !ours || current.target.digest != orphan.target.to_string() {
            return Ok(false);
        }
        match policy {
            OnRemove::Delete if orphan.created && !in_use => {
                Ok(self.client.image_delete(&orphan.name, false).await?)
            }
            OnRemove::Delete if in_use => Ok(false),
            OnRemove::Delete | OnRemove::Unpin => self.let_go(current, orphan.pinned).await,
            OnRemove::Keep => self.let_go(current, false).await,
        }
    }

    /// Takes our labels off, and the pin where it is ours and shall go.
    async fn let_go(&self, mut record: ImageRecord, unpin: bool) -> Result<bool, StoreError> {
        let mut gone = vec![
            labels::BUNDLE,
            labels::SOURCE,
            labels::CREATED,
            labels::PINNED,
        ];
        if unpin {
            gone.push(labels::CRI_PINNED);
        }
        let mask: Vec<String> = gone.iter().map(|key| format!("labels.{key}")).collect();
        let mask: Vec<&str> = mask.iter().map(String::as_str).collect();
        record.labels.retain(|key, _| !gone.contains(&key.as_str()));
        match self.client.image_update(None, &record, &mask).await {
            Ok(()) => Ok(true),
            Err(Error::NotFound { .. }) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }
}

/// A bundle's images on their way in, under a lease.
#[derive(Debug)]
pub struct Session {
    store: Arc<ContainerdStore>,
    lease: String,
}

impl Session {
    /// Takes a lease.
    pub async fn begin(store: Arc<ContainerdStore>, bundle: &str) -> Result<Self, StoreError> {
        let lease = format!("{}{bundle}-{:016x}", store.prefix, unique());
        let expires = SystemTime::now() + LEASE_LIFE;
        let client = store.client.clone();
        let session = Self { store, lease };
        let owner = Owner::current().map(|owner| (labels::OWNER.to_owned(), owner.as_label()));
        let owner: Labels = owner.into_iter().collect();
        let created = client.lease_create(&session.lease, expires, owner);
        match created.await {
            Ok(()) => Ok(session),
            Err(error) => {
                // The answer may have been lost after the lease was made.
                if !matches!(error, Error::Connect { .. }) {
                    session.end(true).await;
                }
                Err(error.into())
            }
        }
    }

    /// Puts blobs under the lease; what they refer to is under it with them.
    pub async fn protect(&self, roots: &[Digest]) -> Result<(), StoreError> {
        for root in roots {
            let root = root.to_string();
            self.store.client.lease_add(&self.lease, &root).await?;
        }
        Ok(())
    }

    /// Writes a blob, with the labels that keep its children alive.
    pub async fn put(&self, blob: &OfferedBlob, body: Body) -> Result<Put, StoreError> {
        let digest = blob.digest.to_string();
        let request = WriteRequest {
            reference: format!("{}{digest}", self.store.prefix),
            digest,
            size: blob.size,
            labels: gc_labels(blob),
        };
        let writer = self.store.writers.lend(&self.store.client);
        match writer.write(Some(&self.lease), request, body).await {
            Ok(Written::Committed) => Ok(Put::Sent),
            Ok(Written::AlreadyExists) => {
                self.relabel(blob).await?;
                Ok(Put::Present)
            }
            Err(Error::FailedPrecondition { .. } | Error::BodySize { .. }) => Ok(Put::Differs),
            Err(error) => Err(error.into()),
        }
    }

    /// Labels given at a commit aren't applied to a blob that is there already.
    pub async fn relabel(&self, blob: &OfferedBlob) -> Result<(), StoreError> {
        let wanted = gc_labels(blob);
        if wanted.is_empty() {
            return Ok(());
        }
        let digest = blob.digest.to_string();
        let client = &self.store.client;
        Ok(client.content_update_labels(&digest, wanted).await?)
    }

    /// Writes the names of each image one after the other, for a tag comes after what stands
    /// behind it; several images at once. After a failure, or once it shall `stop`, no further
    /// image is begun.
    ///
    /// What was begun is always waited for: a call that is let go may still be carried out, and
    /// its name would appear after the lease is gone and the blobs with it.
    pub async fn publish(
        &self,
        steps: &[Step],
        stop: &CancellationToken,
    ) -> Result<(), StoreError> {
        let mut images = steps.chunk_by(|a, b| a.image == b.image);
        let mut under_way = FuturesUnordered::new();
        let mut outcome = Ok(());
        loop {
            while outcome.is_ok() && !stop.is_cancelled() && under_way.len() < IMAGES_AT_ONCE {
                match images.next() {
                    Some(steps) => under_way.push(self.publish_image(steps)),
                    None => break,
                }
            }
            match under_way.next().await {
                Some(ended) => outcome = outcome.and(ended),
                None => return outcome,
            }
        }
    }

    async fn publish_image(&self, steps: &[Step]) -> Result<(), StoreError> {
        for step in steps {
            self.publish_one(step).await?;
        }
        Ok(())
    }

    async fn publish_one(&self, step: &Step) -> Result<(), StoreError> {
        if step.action != Action::Create {
            return match self.update(step).await {
                // Somebody removed it in the meantime.
                Err(Error::NotFound { .. }) => Ok(self.create(step).await?),
                done => Ok(done?),
            };
        }
        match self.create(step).await {
            // CRI, or another importer, made it in the meantime: it isn't our doing then.
            Err(Error::AlreadyExists { .. }) => {
                let mut step = step.clone();
                step.labels.remove(labels::CREATED);
                Ok(self.update(&step).await?)
            }
            done => Ok(done?),
        }
    }

    async fn create(&self, step: &Step) -> Result<(), Error> {
        let record = record_of(step, &step.fresh);
        let client = &self.store.client;
        client.image_create(Some(&self.lease), &record).await
    }

    async fn update(&self, step: &Step) -> Result<(), Error> {
        let record = record_of(step, &step.labels);
        let mask = mask(step);
        let mask: Vec<&str> = mask.iter().map(String::as_str).collect();
        let client = &self.store.client;
        client.image_update(Some(&self.lease), &record, &mask).await
    }

    /// Gives the lease back; `now` also drops, before it returns, what was half written.
    ///
    /// Never fails: a lease that the daemon won't take back now is given back later, by
    /// [`ContainerdStore::clear_leftovers`], by the next agent, or by its expiry.
    pub async fn end(self, now: bool) {
        for attempt in 0..END_ATTEMPTS {
            if attempt > 0 {
                tokio::time::sleep(END_PAUSE).await;
            }
            match self.store.client.lease_delete(&self.lease, now).await {
                Ok(_) => return,
                // It hangs: asking again would only take as long again.
                Err(Error::Deadline { .. }) => break,
                Err(_) => {}
            }
        }
        self.store.leftovers().insert(self.lease);
    }
}

fn record_of(step: &Step, labels: &Labels) -> ImageRecord {
    ImageRecord {
        name: step.name.clone(),
        target: Target {
            media_type: step.target.media_type.clone(),
            digest: step.target.digest.to_string(),
            size: step.target.size,
        },
        labels: labels.clone(),
        created: None,
        updated: None,
    }
}

/// The fields that a step writes, and no others: what is labelled besides stays.
fn mask(step: &Step) -> Vec<String> {
    let labels = step.labels.keys().map(|key| format!("labels.{key}"));
    let target = (step.action != Action::Hold).then(|| "target".to_owned());
    target.into_iter().chain(labels).collect()
}

fn gc_labels(blob: &OfferedBlob) -> Labels {
    let label = |(key, child): &(String, Digest)| {
        (
            format!("{}.{key}", labels::GC_REF_CONTENT),
            child.to_string(),
        )
    };
    blob.refs.iter().map(label).collect()
}

/// A number that no other lease has.
fn unique() -> u64 {
    use std::hash::{BuildHasher, RandomState};
    RandomState::new().hash_one(std::process::id())
}

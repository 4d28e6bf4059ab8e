//! Which blob goes next: large ones and small ones side by side, documents after what they refer
//! to.
//!
//! A large blob costs processor time on both sides, a small one waits for the daemon's metadata
//! and its disk: side by side they keep all of it busy.

use std::collections::{HashMap, HashSet, VecDeque};

use airdock_bundle::digest::Digest;

use super::WHOLE;
use crate::agent::offer::OfferedBlob;

/// Large blobs that are sent at once. One keeps a processor of the daemon busy; of many that are
/// sent side by side none is complete until the end, and the disk idles meanwhile.
const LARGE_SENT_AT_ONCE: usize = 2;

/// Large blobs under way at once, with those that are only being flushed to the disk: they take
/// hardly any memory.
const LARGE_AT_ONCE: usize = 6;

/// Small blobs under way at once: the daemon's metadata takes one at a time, and another is ready
/// when it is free. More made it slower.
const SMALL_AT_ONCE: usize = 4;

/// Blobs that are to be sent.
#[derive(Debug)]
pub(super) struct Queue {
    large: Lane,
    small: Lane,
    documents: Vec<Document>,
    /// For each blob that is not there yet, the documents that wait for it.
    parents: HashMap<Digest, Vec<usize>>,
}

/// A document whose children are on their way.
#[derive(Debug)]
struct Document {
    blob: OfferedBlob,
    missing: usize,
}

#[derive(Debug)]
struct Lane {
    ready: VecDeque<OfferedBlob>,
    /// Those whose bytes are on their way.
    sent: usize,
    sent_at_once: usize,
    /// Those, and those that are being committed.
    busy: usize,
    width: usize,
}

impl Lane {
    fn new(sent_at_once: usize, width: usize) -> Self {
        Self {
            ready: VecDeque::new(),
            sent: 0,
            sent_at_once,
            busy: 0,
            width,
        }
    }

    fn has_room(&self) -> bool {
        self.busy < self.width && self.sent < self.sent_at_once
    }

    fn next(&mut self) -> Option<OfferedBlob> {
        let next = self.has_room().then(|| self.ready.pop_front()).flatten();
        if next.is_some() {
            self.begin();
        }
        next
    }

    fn begin(&mut self) {
        self.busy += 1;
        self.sent += 1;
    }
}

impl Queue {
    /// Takes blobs to send. Those that `comes` names come by themselves, in their own time: they
    /// are waited for, and not given out.
    pub(super) fn new(blobs: &[OfferedBlob], comes: impl Fn(&OfferedBlob) -> bool) -> Self {
        let mut queue = Self {
            large: Lane::new(LARGE_SENT_AT_ONCE, LARGE_AT_ONCE),
            small: Lane::new(SMALL_AT_ONCE, SMALL_AT_ONCE),
            documents: Vec::new(),
            parents: HashMap::new(),
        };
        let all: HashSet<&Digest> = blobs.iter().map(|blob| &blob.digest).collect();
        for blob in blobs.iter().filter(|blob| !comes(blob)) {
            queue.add(blob, &all);
        }
        // The last to end are then small ones, and no connection idles.
        let large = queue.large.ready.make_contiguous();
        large.sort_by_key(|blob| std::cmp::Reverse(blob.size));
        queue
    }

    fn add(&mut self, blob: &OfferedBlob, all: &HashSet<&Digest>) {
        let children = blob.refs.iter().map(|(_, child)| child);
        let missing: HashSet<&Digest> = children.filter(|child| all.contains(child)).collect();
        if missing.is_empty() {
            return self.lane(blob).ready.push_back(blob.clone());
        }
        for &child in &missing {
            let parents = self.parents.entry(child.clone()).or_default();
            parents.push(self.documents.len());
        }
        self.documents.push(Document {
            blob: blob.clone(),
            missing: missing.len(),
        });
    }

    /// A blob that may be sent now.
    pub(super) fn next(&mut self) -> Option<OfferedBlob> {
        self.large.next().or_else(|| self.small.next())
    }

    /// Whether one that comes by itself may be taken now, whatever its size.
    pub(super) fn has_room(&self) -> bool {
        self.large.has_room() && self.small.has_room()
    }

    /// One that came by itself is under way.
    pub(super) fn begin(&mut self, blob: &OfferedBlob) {
        self.lane(blob).begin();
    }

    /// Whether the bytes of a large blob are on their way: their end will be told.
    pub(super) fn is_sending(&self) -> bool {
        self.large.sent > 0
    }

    /// The bytes of a large blob are out, or nobody wants them any more.
    pub(super) fn sent(&mut self) {
        self.large.sent = self.large.sent.saturating_sub(1);
    }

    /// A blob is there, or never will be: documents that waited for nothing else may follow.
    pub(super) fn done(&mut self, blob: &OfferedBlob) {
        let is_small = blob.size <= WHOLE;
        let lane = self.lane(blob);
        lane.busy = lane.busy.saturating_sub(1);
        // A small one is sent and committed in one; a large one's end of sending is told.
        lane.sent = lane.sent.saturating_sub(usize::from(is_small));
        for parent in self.parents.remove(&blob.digest).unwrap_or_default() {
            self.one_less(parent);
        }
    }

    fn one_less(&mut self, document: usize) {
        let Some(document) = self.documents.get_mut(document) else {
            return;
        };
        document.missing = document.missing.saturating_sub(1);
        if document.missing == 0 {
            let blob = document.blob.clone();
            self.lane(&blob).ready.push_back(blob);
        }
    }

    fn lane(&mut self, blob: &OfferedBlob) -> &mut Lane {
        if blob.size > WHOLE {
            &mut self.large
        } else {
            &mut self.small
        }
    }
}

#[cfg(test)]
mod tests {
    use airdock_bundle::digest::Algorithm;

    use super::*;
    use crate::agent::offer::BlobKind;

    fn digest(name: &str) -> Digest {
        Digest::of(Algorithm::Sha256, name.as_bytes())
    }

    fn blob(name: &str, size: u64, children: &[&str]) -> OfferedBlob {
        let child = |child: &&str| ("l.0".to_owned(), digest(child));
        OfferedBlob {
            digest: digest(name),
            size,
            kind: BlobKind::Leaf,
            refs: children.iter().map(child).collect(),
        }
    }

    /// The sizes of what is given out until nothing more may be.
    fn drain(queue: &mut Queue) -> Vec<u64> {
        std::iter::from_fn(|| queue.next())
            .map(|blob| blob.size)
            .collect()
    }

    #[test]
    fn large_and_small_ones_go_side_by_side_the_largest_first() {
        let sizes = [10, WHOLE + 1, WHOLE + 4, 11, WHOLE + 2, WHOLE + 3, 12];
        let blobs: Vec<_> = sizes
            .iter()
            .map(|&size| blob(&size.to_string(), size, &[]))
            .collect();
        let mut queue = Queue::new(&blobs, |_| false);
        let [four, three, two, one] = [4, 3, 2, 1].map(|n| WHOLE + n);
        assert_eq!(drain(&mut queue), [four, three, 10, 11, 12]);
        queue.sent();
        assert_eq!(drain(&mut queue), [two], "while others are committed");
        queue.done(&blob(&three.to_string(), three, &[]));
        assert!(drain(&mut queue).is_empty());
        queue.sent();
        assert_eq!(drain(&mut queue), [one]);
    }

    #[test]
    fn only_so_many_large_ones_are_being_committed() {
        let layers: Vec<_> = (0..10)
            .map(|n| blob(&n.to_string(), WHOLE + n, &[]))
            .skip(1)
            .collect();
        let mut queue = Queue::new(&layers, |_| false);
        let mut given = drain(&mut queue).len();
        for _ in 0..LARGE_AT_ONCE {
            queue.sent();
            given += drain(&mut queue).len();
        }
        assert_eq!(given, LARGE_AT_ONCE);
        queue.done(&layers[0]);
        assert_eq!(drain(&mut queue).len(), 1);
    }

    #[test]
    fn a_document_waits_for_its_children_and_for_nothing_else() {
        let (layer, config) = (blob("layer", WHOLE + 1, &[]), blob("config", 1, &[]));
        let manifest = blob("manifest", 2, &["layer", "layer", "config", "elsewhere"]);
        let index = blob("index", 3, &["manifest"]);
        let blobs = [layer.clone(), config.clone(), manifest.clone(), index];
        let mut queue = Queue::new(&blobs, |_| false);
        assert_eq!(drain(&mut queue), [WHOLE + 1, 1]);
        queue.done(&config);
        assert!(drain(&mut queue).is_empty());
        queue.done(&layer);
        assert_eq!(drain(&mut queue), [2]);
        queue.done(&manifest);
        assert_eq!(drain(&mut queue), [3]);
    }

    #[test]
    fn what_comes_by_itself_is_waited_for_and_takes_room() {
        let layers: Vec<_> = (0..LARGE_SENT_AT_ONCE)
            .map(|n| blob(&n.to_string(), WHOLE + 1, &[]))
            .collect();
        let mut blobs = layers.clone();
        blobs.push(blob("manifest", 1, &["0"]));
        let mut queue = Queue::new(&blobs, |blob| blob.size > WHOLE);
        assert!(drain(&mut queue).is_empty());
        for layer in &layers {
            assert!(queue.has_room());
            queue.begin(layer);
        }
        assert!(!queue.has_room());
        queue.sent();
        assert!(queue.has_room());
        queue.done(&layers[0]);
        assert_eq!(drain(&mut queue), [1]);
    }
}

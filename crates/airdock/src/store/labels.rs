//! The labels that we read and write. Values are short and hold no lists: containerd refuses a
//! label of more than 4096 bytes, key included.

/// The bundle that a record was last written for: [`Offer::short_id`](crate::agent::offer::Offer).
pub const BUNDLE: &str = "io.airdock.bundle";
/// The source directory that the bundle stood in, shortened by [`source_id`]; or [`BY_HAND`].
pub const SOURCE: &str = "io.airdock.source";
/// With the record's [`mark`]: it did not exist before us. Only such a record may be deleted by us.
pub const CREATED: &str = "io.airdock.created";
/// With the record's [`mark`]: the pin is ours. Only such a pin may be taken off by us.
pub const PINNED: &str = "io.airdock.pinned";

/// On a lease: the process that took it, as [`Owner`](super::owner::Owner) writes it.
pub const OWNER: &str = "io.airdock.owner";

/// kubelet's image garbage collection leaves a record with this label alone.
pub const CRI_PINNED: &str = "io.cri-containerd.pinned";
/// The one value of [`CRI_PINNED`] that counts.
pub const CRI_PINNED_VALUE: &str = "pinned";
/// Tells CRI that the record is in its own shape already.
pub const CRI_MANAGED: &str = "io.cri-containerd.image";
/// The one value of [`CRI_MANAGED`] that counts.
pub const CRI_MANAGED_VALUE: &str = "managed";

/// What all of containerd's labels that keep a child alive start with.
pub const GC_REF_CONTENT: &str = "containerd.io/gc.ref.content";

/// What containerd's labels start with that tie the snapshot of all its layers to a config.
pub const GC_REF_SNAPSHOT: &str = "containerd.io/gc.ref.snapshot.";

/// The value of [`SOURCE`] on what `airdock load` brought: no agent releases it.
pub const BY_HAND: &str = "load";

/// The value of [`CREATED`] and [`PINNED`]: it stands for the record's own name, since whoever
/// gives an image another name (`ctr images tag`, `nerdctl tag`) copies its labels as well.
pub fn mark(name: &str) -> String {
    use airdock_bundle::digest::{Algorithm, Digest};
    Digest::of(Algorithm::Sha256, name.as_bytes())
        .short()
        .to_owned()
}

/// A watched directory as a label value: short, and without its path, which may be long.
pub fn source_id(directory: &std::path::Path) -> String {
    use airdock_bundle::digest::{Algorithm, Digest};
    use std::os::unix::ffi::OsStrExt;
    Digest::of(Algorithm::Sha256, directory.as_os_str().as_bytes())
        .short()
        .to_owned()
}

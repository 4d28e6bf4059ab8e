//! What stands below the table: what bounds the figures.

pub(super) const READING: &str = "
## What bounds the figures

Nearly all time is the daemon's. In case A on containerd 2.1, airdock uses about 0.3 s of processor
time, most of it in the kernel for reading the bundle and for writing to the socket; the daemon
uses about 1.1 s for receiving, hashing, copying to the page cache and flushing. On two processors
that is near what can be reached: the stock importer has the same work done, one blob at a time.
Case K says so from the other side: a bare writer that knows all offsets and digests beforehand,
and writes neither names nor labels, is hardly faster, or slower where it reuses no buffers.

Small blobs (case B) are bounded by the daemon's metadata. Each blob costs it two transactions (the
ingest and the commit) of two `fdatasync` each, one after the other under one lock, and two `fsync`
for the blob, which may overlap. For the 480 blobs and 60 images of case B, `strace -c -f` counts
2302 `fdatasync` and 966 `fsync` with airdock, which writes 180 names, and 2184 and 967 with
`ctr`, which writes 60. What remains to be gained is what can overlap: airdock keeps several blobs
and names under way, so that the lock never waits for a client.

containerd 1.6 hashes without the processor's SHA instructions and flushes blobs while it holds the
lock: more of its time can't overlap, and the ratios are smaller.

Compressed bundles (case F) are decompressed twice where something is missing: once to see what is
in them, once to send it. The stock importer is fed by a decompressor that runs beside it.
";

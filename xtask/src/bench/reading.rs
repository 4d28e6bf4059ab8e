//! What stands below the table: what bounds the figures.

pub(super) const READING: &str = "
## What bounds the figures

In case A on containerd 2.1 the daemon uses 0.75 s of processor time and airdock 0.25 s, in 0.65 s:
three quarters of two processors. The stock importer uses 0.65 s beside the daemon's 0.85 s, in 1.4 s.
What is left to airdock is reading the bundle and writing to the socket, most of it in the kernel; the
daemon receives, hashes, copies to the page cache and flushes, as it does for every client. Sending
three large blobs side by side instead of two changes nothing that can be measured. Case K says the
same from the other side: a bare writer that knows all offsets and digests beforehand, and writes
neither names nor labels, is not faster. Where the ratio stays below what was to be reached, it is the
daemon's own work, on two processors, that bounds it.

Small blobs (case B) are bounded by the daemon's metadata. Each blob costs it two transactions, the
ingest and the commit, and each name one, all under one lock. Of 1.5 s on containerd 2.1 the daemon's
processor time is 1.3 s, and airdock's 0.2 s overlaps with it; the stock importer takes 1.75 s, of which
the daemon's are 1.2 s. So even a client that costs nothing would be 1.35 times as fast as it.
`strace -c -f` counts 2302 `fdatasync` and 966 `fsync` with airdock, which writes 180 names, and 2184
and 967 with `ctr`, which writes 60: what can be saved on that side is saved. On a disk that was busy
with other work, where flushes took longer than transactions, the ratio was 1.6: several blobs and names
are always under way.

containerd 1.6 hashes without the processor's SHA instructions and flushes blobs while it holds the
lock: more of its time can't overlap, and the ratios are smaller.

Compressed bundles (case F) are decompressed twice where something is missing: once to see what is
in them and that they are whole, once to send it; nothing is sent of a file that was cut. What is in
them is remembered, and a repair (case M) reads once. The stock
importer is fed by a decompressor that runs beside it, and imports what came before the cut. With gzip
the two passes take 1.6 s of 1.9 s.
";

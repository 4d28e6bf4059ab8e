//! What stands below the table: what bounds the figures.

pub(super) const READING: &str = "
## What bounds the figures

Ratios differ between machines: what the daemon does alike for both sides weighs more where the rest
is fast. On two AMD EPYC processors, about twice as fast as those above, the same commands gave 1.9 to
2.1× in case A on containerd 2.1, 2.3× in A2, 1.3× in B.

In case A on containerd 2.1 the daemon uses 1.8 s of processor time and airdock 0.7 s, in 1.5 s: five
sixths of two processors. The stock importer uses 1.9 s beside the daemon's 2.6 s, and they hardly
overlap. What is left to airdock is reading the bundle and writing to the socket, most of it in the
kernel; the daemon receives, hashes, copies to the page cache and flushes, as it does for every client.
Sending three large blobs side by side instead of two changes nothing that can be measured. Case K says
the same from the other side: a bare writer that knows all offsets and digests beforehand, and writes
neither names nor labels, is not faster.

Small blobs (case B) are bounded by the daemon's metadata. Each blob costs it two transactions, the
ingest and the commit, and a folder with five files that are made, partly flushed, and removed again;
each name costs one transaction. One lock is held for each of them, so that of 2.4 s on containerd 2.1
the daemon works for 2.3 s; airdock's own 0.4 s overlap with that, the stock importer's 1.1 s don't.
`strace -f` counts 484 folders made, 3841 files and folders removed, 2302 `fdatasync` and 966 `fsync`
with airdock, which writes 180 names, and 485, 3849, 2188 and 967 with `ctr`, which writes 60: what can
be saved on that side is saved. To leave out the size of small blobs, which is one of those files,
changed nothing that can be measured.

containerd 1.6 hashes without the processor's SHA instructions and flushes blobs while it holds the
lock: more of its time can't overlap, and the ratios are smaller.

Compressed bundles (case F) are decompressed twice where something is missing: once to see what is
in them and that they are whole, once to send it; nothing is sent of a file that was cut. What is in
them is remembered, and a repair (case M) reads once. The stock importer is fed by a decompressor that
runs beside it, and imports what came before the cut. With gzip two passes of inflate are most of the
time: an idle processor can only copy the file out of the page cache for them, ahead of the decoder.

An idle agent (case J) looks at its directories and at the store every five minutes (`resync`), and
uses no processor time in between. That look, at 100 files, 3,000 names and 2,040 blobs, is mostly
waiting for memory that was touched last five minutes ago; where nothing has changed, neither list is
decoded, which takes a quarter of the time that decoding and planning took (50 to 57 ms and 205 to
225 ms, looks a minute apart, side by side). To the daemon a look costs several times as much, against
9 ms a second that it uses by itself.
";

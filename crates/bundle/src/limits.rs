//! Every limit of this crate, with its reason. Input decides how much is read, never how much
//! memory that takes.

/// One kibibyte.
const KIB: usize = 1024;
/// One mebibyte.
const MIB: usize = 1024 * KIB;

// --- The outer file -----------------------------------------------------------------------

/// Compressed bytes read at a time: large enough that a read costs less than decoding it.
pub const INPUT_BUFFER: usize = 256 * KIB;
/// Of a compressed file that is larger than [`INPUT_BUFFER`], so many of them are read while one
/// is decoded: enough to be ahead, and little beside a decoder's window.
pub const PIECES_READ_AHEAD: usize = 2;
/// Decoded bytes handed on at a time: it stays in the second level cache, where the next stage
/// (a hash, a socket) finds it again.
pub const OUTPUT_BUFFER: usize = 256 * KIB;
/// The largest window a zstd frame may ask for: what `zstd -d` accepts without a flag, and the
/// largest that `zstd --long` (27) makes.
pub const ZSTD_WINDOW_LOG: u32 = 27;
/// What an xz decoder may take: twice the need of `xz -9`, the largest preset.
pub const XZ_MEMORY: u64 = 128 * MIB as u64;
/// Skippable frames to look past for the first real one. pzstd writes one before each frame,
/// seekable formats a few; a file of nothing else is no bundle.
pub const LEADING_SKIPPABLE_FRAMES: usize = 1024;
/// Output below this is never called a bomb, so that a small bundle may compress as well as it can.
pub const RATIO_FLOOR: u64 = 4 << 30;
/// Above [`RATIO_FLOOR`], output may not exceed the input by more than this factor. gzip's own
/// maximum is 1,032; what zstd and bzip2 do beyond it, they do to zeros.
pub const RATIO: u64 = 1100;
/// NULs behind the end of an archive in a compressed file: they are decoded for nothing. tar pads
/// to a record of some MiB at most, a copy of a whole tape or device to its end.
pub const PADDING: u64 = 1 << 30;
/// Decoded bytes looked through, behind an archive that cannot be read, for damage to the stream
/// that would explain it: a second of decoding or so.
pub const DIAGNOSED: u64 = 1 << 30;
/// Bytes looked at to tell what a file that is no bundle is instead.
pub const RECOGNISED_PREFIX: usize = 4 * KIB;
/// Bytes looked at for line ends that a text-mode transfer has rewritten.
pub const LINE_END_SAMPLE: usize = MIB;
/// Line feeds that must all follow a carriage return before a file counts as rewritten: in
/// compressed bytes that happens by chance once in 256^16.
pub const LINE_END_EVIDENCE: usize = 16;

// --- Tar ----------------------------------------------------------------------------------

/// Entries of an archive, or files of a directory. The largest bundles seen hold a few thousand.
pub const ENTRIES: usize = 100_000;
/// Content of one PAX or GNU long-name header. Real ones are under a few KiB, also with xattrs.
pub const SPECIAL_HEADER: u64 = MIB as u64;
/// Bytes of one entry's name or link target: `PATH_MAX`.
pub const ENTRY_NAME: usize = 4096;
/// Bytes of all names and link targets together: 168 for each of [`ENTRIES`].
pub const ENTRY_NAMES: usize = 16 * MIB;
/// First read after a jump over an entry's content: a page holds the next header and, mostly,
/// the small entry behind it.
pub const SEEK_WINDOW: usize = 4 * KIB;
/// The window grows to this while headers keep standing close to each other, so that 100,000
/// small entries cost a few hundred reads.
pub const SCAN_WINDOW: usize = 256 * KIB;
/// Links followed from one name before it is called a loop: what the kernel allows (`MAXSYMLINKS`).
pub const LINK_HOPS: usize = 40;

/// Entries of one name, where they are looked at because tools disagree which one counts. Some
/// write a config again for each image that has it.
pub const RIVALS: usize = 16;

// --- Directories --------------------------------------------------------------------------

/// Levels of a bundle directory. An image layout has three.
pub const DIRECTORY_DEPTH: usize = 16;

// --- What is kept of a compressed bundle ----------------------------------------------------

/// Bytes kept of each entry's start: one tar header, and the magic of any codec.
pub const HEAD: usize = 512;
/// Bytes of all starts together: enough for 32,768 entries, half of what a bundle may hold and
/// thirty times what a large one does.
pub const HEADS_KEPT: usize = 16 * MIB;
/// Bytes of all documents kept whole while a compressed bundle is indexed: eight hundred images
/// with a manifest, a config and an index each.
pub const DOCUMENTS_KEPT: usize = 24 * MIB;
/// A document larger than this is not kept on the chance that it is needed.
pub const DOCUMENT_KEPT: usize = MIB;
/// Passes over a compressed bundle for what was not kept. A few large configs need one each.
pub const EXTRA_PASSES: u32 = 16;
/// Bytes that the index of a compressed bundle takes when it is remembered, at most: its limits
/// above, and 29 for each of [`ENTRIES`].
pub const REMEMBERED: usize = 64 * MIB;
/// Of a bundle, this part of its size may be remembered. Real ones need a hundredth and less.
pub const REMEMBERED_SHARE: u64 = 8;
/// However small the bundle, this much may be: the starts of five hundred blobs.
pub const REMEMBERED_FLOOR: usize = 256 * KIB;
/// Content handed to a visitor at a time.
pub const VISIT_CHUNK: usize = 256 * KIB;

// --- Documents ----------------------------------------------------------------------------

/// An index or manifest. Registries accept 4 MiB.
pub const MANIFEST: u64 = 4 * MIB as u64;
/// An image config. A long build history with inline scripts stays under this.
pub const CONFIG: u64 = 8 * MIB as u64;
/// Nesting of a JSON document: what serde_json allows, and far more than any document has.
pub const JSON_DEPTH: usize = 128;
/// Descriptors in one index or manifest, and in all indexes of a bundle together.
pub const DESCRIPTORS: usize = 10_000;
/// Layers of one image: overlayfs stops at 500.
pub const LAYERS: usize = 1_000;
/// Indexes within indexes.
pub const INDEX_DEPTH: usize = 8;
/// Bytes of all indexes, manifests and configs of a bundle, which are held in memory. A thousand
/// images need 30 MiB.
pub const DOCUMENTS_HELD: u64 = 64 * MIB as u64;
/// Layers and blobs of all images of a bundle together: a thousand images with 25 layers each.
pub const BLOBS: usize = 50_000;
/// Platforms that an image is said to be for. The largest official images are for 20.
pub const PLATFORMS: usize = 64;
/// Warnings about one index.
pub const WARNINGS: usize = 16;

/// Bundles that a delta leaves layers to. A split makes a part a medium: nobody carries more.
pub const BASES: usize = 256;

// --- Verifying ----------------------------------------------------------------------------

/// Documents, blobs and references between them, for all platforms: a thousand images for eight
/// platforms with 25 layers each. They take a hundred bytes or two each.
pub const VERIFIED: usize = 200_000;
/// Threads that hash and unpack. Each may hold a zstd window, and disks are no faster than four.
pub const VERIFIERS: usize = 4;
/// Pieces of [`VISIT_CHUNK`] bytes that wait for one thread while the next are unpacked.
pub const PIECES_AHEAD: usize = 4;
/// What all layers of a bundle may always unpack to: that takes a few minutes, and small bundles
/// may hold much that compresses well.
pub const UNPACKED_FLOOR: u64 = 64 << 30;
/// Above [`UNPACKED_FLOOR`], all layers may unpack to this many times the bytes that are stored.
/// Real images come to two to five; [`RATIO`] for each would let a bundle of a gigabyte keep us
/// busy for an hour.
pub const UNPACKED_RATIO: u64 = 50;
/// Findings about one image: enough to see whether it is one bad sector or the whole disk.
pub const FINDINGS: usize = 16;
/// A list of names: 60,000 of the longest.
pub const REQUIRED_LIST: u64 = 16 * MIB as u64;

// --- Writing ------------------------------------------------------------------------------

/// The content of larger blobs starts at a multiple of this: the block size of file systems.
pub const ALIGNMENT: u64 = 4 * KIB as u64;
/// Content of one zstd frame of a bundle: a reader that wants a piece decodes at most this, and
/// frames can be decoded side by side.
pub const FRAME: u64 = 64 * MIB as u64;
/// zstd's own default. Layers are compressed already, and gain nothing by more.
pub const ZSTD_LEVEL: i32 = 3;

// --- Words --------------------------------------------------------------------------------

/// Characters of a reference's repository part, as the distribution specification has it.
pub const REFERENCE: usize = 255;
/// Characters of an operating system, an architecture or a variant. The longest in use has 11.
pub const PLATFORM_WORD: usize = 64;
/// Characters of archive text shown in a message or a log line.
pub const SHOWN_TEXT: usize = 256;

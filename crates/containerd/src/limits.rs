//! Every deadline and size of this crate, each with its reason.

use std::time::Duration;

/// containerd's own limit for a message, in both directions (`max_recv_message_size`). A list of
/// images is one message, and a client's usual 4 MiB ends near 10,000 of them.
pub const MESSAGE_SIZE: usize = 16 << 20;

/// Data in one WRITE message. From 256 KiB to 4 MiB throughput was the same; smaller ones cost the
/// daemon a system call and an answer each, larger ones memory on both sides.
pub const WRITE_SIZE: usize = 1 << 20;

/// A whole blob up to this size travels in one COMMIT message, which saves a transaction.
/// Well below [`MESSAGE_SIZE`], so that labels always fit beside it.
pub const COMMIT_SIZE: usize = 4 << 20;

/// Bytes of one blob that are on their way and not yet acknowledged: enough to keep both sides
/// busy (1 MiB to 16 MiB were measured alike), and all the memory that one writer takes.
pub const WRITE_WINDOW: u64 = 2 << 20;

/// A unary call. The daemon's metadata lock can be held for seconds by a garbage collection or by
/// another client's commit on a slow disk; a minute of silence means that it hangs.
pub const CALL_DEADLINE: Duration = Duration::from_secs(60);

/// A synchronous delete waits for a garbage collection, which unlinks whatever became unreachable.
pub const SYNC_DEADLINE: Duration = Duration::from_secs(300);

/// Silence of the daemon while it owes us answers to WRITE messages, or opens an ingest. It only
/// copies to the page cache, but a kernel that throttles writers can stop it for tens of seconds;
/// and where an earlier writer left bytes, it hashes them first.
pub const WRITE_IDLE: Duration = Duration::from_secs(120);

/// A COMMIT, which flushes the blob to disk: 10 GiB of dirty pages at 20 MB/s.
pub const COMMIT_DEADLINE: Duration = Duration::from_secs(600);

/// Applying one layer, which decompresses and writes it in the daemon and answers once, at the
/// end.
pub const APPLY_DEADLINE: Duration = Duration::from_secs(1800);

/// Pauses between attempts to open an ingest that somebody holds: doubled each time up to the
/// maximum, about ten seconds in all. A stream of ours that was cut off is noticed by then.
pub const LOCKED_PAUSE: Duration = Duration::from_millis(50);
pub const LOCKED_PAUSE_MAX: Duration = Duration::from_secs(2);
pub const LOCKED_PAUSES: usize = 9;

/// Receive window of one stream and of a connection, for reading content; the daemon chooses its
/// own for what we send. The default of 64 KiB costs a round trip for each 64 KiB.
pub const STREAM_WINDOW: u32 = 1 << 20;
pub const CONNECTION_WINDOW: u32 = 4 << 20;

/// Silence is the usual state of an event stream.
pub const EVENTS_IDLE: Duration = Duration::MAX;

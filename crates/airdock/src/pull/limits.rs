//! Every limit and timeout of pulling, with its reason.

use std::time::Duration;

/// A connection that takes longer is not made: TCP has sent its opening three times by then.
pub(super) const CONNECT: Duration = Duration::from_secs(15);
/// Silence in the middle of an answer. Registries that fetch from elsewhere first need most of it.
pub(super) const SILENCE: Duration = Duration::from_secs(60);
/// Redirects followed: a registry points to its storage, and that to a mirror of its own.
pub(super) const REDIRECTS: usize = 5;
/// What is tried again after a failure that may pass, unless told otherwise.
pub const RETRIES: u32 = 5;
/// The first pause before trying again; each further one is twice as long.
pub(super) const FIRST_PAUSE: Duration = Duration::from_millis(400);
/// The longest pause of our own choice.
pub(super) const LONGEST_PAUSE: Duration = Duration::from_secs(20);
/// The longest pause that a registry may ask for. Docker Hub's limit lasts six hours: a person
/// is to be told that, not kept waiting.
pub(super) const LONGEST_RETRY_AFTER: Duration = Duration::from_secs(60);
/// Bytes that make an attempt a success of sorts: a line that is cut again and again still gets
/// a large layer through.
pub(super) const PROGRESS: u64 = 1024 * 1024;
/// Pages of a list of what refers to an image: registries give fifty things a page and more.
pub(super) const PAGES: usize = 100;
/// Bytes read of an answer that says what is wrong.
pub(super) const ERROR_BODY: usize = 16 * 1024;
/// Bytes of a token service's answer. Tokens of the large clouds have up to 10 KiB.
pub(super) const TOKEN_BODY: usize = 256 * 1024;
/// How long a token lasts where its service doesn't say (distribution's token specification).
pub(super) const TOKEN_LIFE: Duration = Duration::from_secs(60);
/// A token is renewed this long before its end, so that it can't end on its way.
pub(super) const TOKEN_MARGIN: Duration = Duration::from_secs(10);
/// Bytes of a file with credentials.
pub(super) const CREDENTIAL_FILE: u64 = 4 * 1024 * 1024;
/// Bytes of what a credential helper prints.
pub(super) const HELPER_OUTPUT: usize = 256 * 1024;
/// A credential helper may ask a cloud, or a person to unlock a key ring.
pub(super) const HELPER: Duration = Duration::from_secs(60);
/// Blobs fetched at a time, unless told otherwise: what skopeo and Docker do.
pub const JOBS: usize = 6;
/// Pieces of a blob, of a few KiB each, that wait for the thread that hashes and writes them.
pub(super) const PIECES_AHEAD: usize = 128;
/// A partial blob that nobody has gone on with for so long is thrown away.
pub(super) const PARTIAL_LIFE: Duration = Duration::from_secs(14 * 24 * 60 * 60);

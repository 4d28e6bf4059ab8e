//! The memory that one input may take.

use std::alloc::System;
use std::panic;
use std::sync::Once;

use cap::Cap;

/// What opening a bundle may hold at once: buffers of both codecs' sides, an index, documents.
/// Inputs are some kilobytes, so that this is far above need and far below harm.
const MEMORY: usize = 16 << 20;

/// What a process may keep of an input: buffers of its first use of something.
const KEPT: usize = 64 << 10;

#[global_allocator]
static ALLOCATOR: Cap<System> = Cap::new(System, usize::MAX);

/// Runs `body`, and ends the process if it allocates too much, or keeps what it allocated.
///
/// Counts what Rust allocates; libFuzzer's own `-rss_limit_mb` watches over the decoders in C.
pub fn within_memory(body: fn(&[u8]), input: &[u8]) {
    static FAILURES_ARE_TOLD: Once = Once::new();
    FAILURES_ARE_TOLD.call_once(tell_failures);
    let before = ALLOCATOR.allocated();
    limit(before.saturating_add(MEMORY));
    body(input);
    limit(usize::MAX);
    let kept = ALLOCATOR.allocated().saturating_sub(before);
    assert!(kept < KEPT, "{kept} bytes were kept");
}

fn limit(bytes: usize) {
    assert!(ALLOCATOR.set_limit(bytes).is_ok(), "over {bytes} bytes");
}

/// A failed assertion needs memory to say where it stands.
fn tell_failures() {
    let told = panic::take_hook();
    panic::set_hook(Box::new(move |failure| {
        limit(usize::MAX);
        told(failure);
    }));
}

//! Memory that is given back: an agent idles for weeks on nodes where every page belongs to pods.
//!
//! glibc keeps an arena a thread, and frees their tops only: a look at a store of thousands of
//! images would leave megabytes behind that nothing uses.

/// Options of `mallopt(3)`, and their values.
#[cfg(target_env = "gnu")]
const OPTIONS: [(libc::c_int, libc::c_int); 2] = [
    // M_ARENA_MAX: the agent waits for the daemon, not for memory.
    (-8, 1),
    // M_TRIM_THRESHOLD: what is free at the top beyond so many bytes is given back. It is more than
    // a look at a small node's store takes.
    (-1, 256 * 1024),
];

/// To be called before there are other threads.
pub(crate) fn give_back() {
    #[cfg(target_env = "gnu")]
    OPTIONS.into_iter().for_each(set);
}

#[cfg(target_env = "gnu")]
#[expect(
    unsafe_code,
    reason = "the allocator's options are in none of the safe wrappers"
)]
fn set((option, value): (libc::c_int, libc::c_int)) {
    // SAFETY: it takes two ints, touches no memory of ours, and no other thread allocates yet. An
    // option that isn't taken changes nothing.
    unsafe { libc::mallopt(option, value) };
}

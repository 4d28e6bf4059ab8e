//! What stands above the table: where and how it was measured, and how to read it.

use std::fs;

use airdock_testkit::containerd::Installed;

use super::{BenchOptions, RELEASES};

/// The document's head.
pub(super) fn describe(options: &BenchOptions) -> String {
    let releases = RELEASES.into_iter().filter_map(Installed::find);
    let releases: Vec<String> = releases.map(|it| it.release).collect();
    format!(
        "{INTRODUCTION}\
        - Machine: {} × {}, {} MiB of memory, Linux {}.\n\
        - containerd: {}, without CRI; {}.\n\
        - Command: `{}`.\n\n",
        processors(),
        model(),
        memory(),
        kernel(),
        releases.join(" and "),
        flags(),
        command(options),
    )
}

/// What was typed, as far as it changes figures.
fn command(options: &BenchOptions) -> String {
    let runs = options.runs.map(|runs| format!(" --runs {runs}"));
    format!("cargo xtask bench{}", runs.unwrap_or_default())
}

const INTRODUCTION: &str = "\
# Benchmarks

Written by `cargo xtask bench`; don't edit. The cases are defined in `xtask/src/bench/case.rs`.

Absolute times mean little: what counts is the ratio of two medians, from runs that alternate on
one machine. Each run has a containerd of its own with a fresh store; bundles are in the page
cache for both sides; what earlier runs left to write is written before. Bytes read are those of
`read(2)` and its kin by `/proc/PID/io`; bytes sent are those that `airdock load` reports, and all
bytes written for the others. Processor time is that of a program with what feeds it, and that of
the daemon while it runs. Where two figures stand, the first is airdock's.

";

fn flags() -> &'static str {
    "the other side is `ctr images import --no-unpack` (1.6) or \
     `ctr images import --local --no-unpack` (2.x), which is the code that k0s and k3s run, \
     fed by `zstd -dc` or `gzip -dc` where the bundle is compressed"
}

fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

fn model() -> String {
    let text = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let mut names = text
        .lines()
        .filter_map(|line| line.strip_prefix("model name"));
    let name = names.next().unwrap_or_default();
    name.trim_start_matches([' ', '\t', ':']).to_owned()
}

fn memory() -> u64 {
    let text = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    super::measure::field(&text, "MemTotal").unwrap_or_default() >> 10
}

fn kernel() -> String {
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let mut parts = release.trim().split(['.', '-']);
    let mut part = || parts.next().unwrap_or_default().to_owned();
    format!("{}.{}", part(), part())
}

//! Packs a program: `airdock-dist PROGRAM --out DIR --time SECONDS`.

use std::path::PathBuf;

use airdock_dist::release::Release;
use clap::Parser;

/// Packs a program as a tar, a .deb and an .rpm.
#[derive(Parser)]
struct Options {
    /// The static program
    program: PathBuf,
    /// Where the packages go
    #[arg(long)]
    out: PathBuf,
    /// The time that every file gets, in seconds since 1970
    #[arg(long, env = "SOURCE_DATE_EPOCH")]
    time: u32,
}

#[expect(clippy::print_stdout, reason = "the output of a developer's command")]
fn main() -> anyhow::Result<()> {
    let Options { program, out, time } = Options::parse();
    for path in Release::of(&program, time)?.write(&out)? {
        println!(
            "{}: {} KiB",
            path.display(),
            path.metadata()?.len().div_ceil(1024)
        );
    }
    Ok(())
}

//! `cargo xtask`: what a developer and the continuous integration run.

mod bench;
mod ci;
mod daemons;
mod dist;
mod fixtures;
mod packages;
mod release;
mod setup;
mod shell;
mod soak;
mod suites;
mod test;

use std::process::ExitCode;

use clap::Parser;

/// Commands of this repository.
#[derive(Parser)]
#[command(name = "cargo xtask")]
enum Command {
    /// Gets what tests need: Debian packages (as root), daemons that no service starts.
    Setup,
    /// Set-up, then every test; ends with one line of sums.
    Test,
    /// Set-up, format, lints, docs, licences, the static binary, packages, every test.
    Ci,
    /// The static binary as a tar, a .deb and an .rpm with checksums, in target/dist.
    Dist,
    /// Builds the bundles in examples/ from their sources.
    Fixtures,
    /// Measures airdock beside `ctr images import`, and writes docs/benchmarks.md.
    Bench(bench::BenchOptions),
    /// Keeps an agent busy for a time, and fails if anything of it grows.
    Soak(soak::SoakOptions),
}

fn main() -> anyhow::Result<ExitCode> {
    match Command::parse() {
        Command::Setup => Ok(setup::run()),
        Command::Test => test::run(),
        Command::Ci => ci::run(),
        Command::Dist => dist::build().map(|()| ExitCode::SUCCESS),
        Command::Fixtures => fixtures::run(),
        Command::Bench(options) => bench::run(&options),
        Command::Soak(options) => soak::run(&options),
    }
}

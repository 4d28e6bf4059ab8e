//! The committed example bundles are what their sources give.

use std::fs;
use std::path::Path;
use std::process::ExitCode;

use airdock_testkit::{Need, Outcome, Suite, examples};

fn main() -> ExitCode {
    Suite::new()
        .test(
            "bundles_equal_their_sources",
            &[Need::Compiler],
            equal_their_sources,
        )
        .test("bundles_are_small", &[], are_small)
        .run()
}

fn equal_their_sources(_dir: &Path) -> Outcome {
    for example in examples::build()? {
        let committed = fs::read(examples::folder().join(example.file))?;
        assert!(
            committed == example.tar,
            "examples/{} is stale: run `cargo xtask fixtures`",
            example.file
        );
    }
    Ok(())
}

fn are_small(_dir: &Path) -> Outcome {
    /// A reader clones them with the sources.
    const MOST: u64 = 64 << 10;
    for file in ["hello.tar", "pod.tar"] {
        let len = fs::metadata(examples::folder().join(file))?.len();
        assert!((1..MOST).contains(&len), "{file} has {len} bytes");
    }
    Ok(())
}

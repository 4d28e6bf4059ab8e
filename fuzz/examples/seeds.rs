//! Writes the seeds of every target below `corpus/`, where `cargo fuzz` looks for them.

use std::fs;
use std::path::Path;

use airdock_fuzz::bodies::Target;
use airdock_testkit::fixture::sha256;

fn main() -> std::io::Result<()> {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus");
    for target in Target::ALL {
        let folder = corpus.join(target.name());
        fs::create_dir_all(&folder)?;
        for seed in target.seeds()? {
            fs::write(folder.join(sha256(&seed).replace("sha256:", "")), seed)?;
        }
    }
    Ok(())
}

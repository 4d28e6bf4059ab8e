//! A compressed bundle that has to be sent again is read once: what is in it is remembered.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

use airdock_testkit::fixture::{Bundle, Image, Layer, blob_path, gzip_stored, sha256};
use airdock_testkit::process::{Running, Signal};
use airdock_testkit::{Outcome, Suite, wait};

use crate::support::{DEADLINE, airdock_json, started, store_of, text, watch};

/// Bytes of layers.
const LAYERS: [usize; 2] = [4_000_000, 1_000_000];

pub(crate) fn tests(suite: Suite) -> Suite {
    suite
        .test(
            "a_compressed_bundle_is_read_once_to_be_sent_again",
            &[],
            sent_again,
        )
        .test(
            "a_compressed_bundle_is_read_whole_after_a_crash_of_the_machine",
            &[],
            crashed,
        )
        .test("an_index_that_is_torn_counts_as_absent", &[], torn)
        .test(
            "a_bundle_that_rotted_is_judged_as_if_nothing_were_remembered",
            &[],
            rotted,
        )
        .test("an_index_goes_with_its_bundle", &[], forgotten)
        .test("an_index_is_not_written_again", &[], kept)
}

fn image() -> Image {
    let layers = (0..).zip(LAYERS).map(|(seed, len)| Layer::noise(seed, len));
    layers.fold(Image::new(), Image::layer)
}

fn bundle(dir: &Path) -> PathBuf {
    dir.join("bundles/x.tar.gz")
}

/// The layers in the store.
fn blobs(dir: &Path) -> [PathBuf; 2] {
    let image = image();
    let blob = |layer: usize| {
        let digest = image.layers()[layer].digest();
        dir.join("store").join(blob_path(digest))
    };
    [blob(0), blob(1)]
}

/// An agent that has loaded the bundle and ended.
fn loaded(dir: &Path) -> io::Result<()> {
    let mut agent = started(dir, &[])?;
    let beside = dir.join("beside");
    let tree = Bundle::new().with(&["x:1"], image()).oci();
    let tree = tree.last(&blob_path(image().layers()[1].digest()));
    fs::write(&beside, gzip_stored(&tree.tar()))?;
    fs::rename(beside, bundle(dir))?;
    agent.wait_for_line(&["bundle loaded"], DEADLINE)?;
    wait::until("the entry", DEADLINE, || in_ledger(dir, "json"))?;
    end(agent)
}

fn end(mut agent: Running) -> io::Result<()> {
    agent.signal(Signal::TERM)?;
    agent.wait(DEADLINE).map(drop)
}

fn in_ledger(dir: &Path, extension: &str) -> Option<PathBuf> {
    let files = fs::read_dir(dir.join("state/ledger")).ok()?;
    let mut paths = files.filter_map(|file| Some(file.ok()?.path()));
    paths.find(|path| path.extension().is_some_and(|it| it == extension))
}

fn index(dir: &Path) -> PathBuf {
    in_ledger(dir, "index").expect("an index")
}

/// How often an agent has read the bundle, to tenths.
fn reads(agent: &Running, dir: &Path) -> io::Result<f64> {
    let io = fs::read_to_string(format!("/proc/{}/io", agent.pid()))?;
    let read = io.lines().find_map(|line| line.strip_prefix("rchar: "));
    let read: u32 = read.and_then(|it| it.parse().ok()).expect("a number");
    let size = u32::try_from(fs::metadata(bundle(dir))?.len()).expect("a small bundle");
    Ok((f64::from(read) / f64::from(size) * 10.0).round() / 10.0)
}

/// Has the layers lost while no agent runs; returns how often the bundle is read to bring them
/// back.
fn reads_to_repair(dir: &Path) -> io::Result<f64> {
    for blob in blobs(dir) {
        fs::remove_file(blob)?;
    }
    let mut agent = watch(dir, &[]);
    agent.wait_for_line(&["bundle loaded"], DEADLINE)?;
    for (blob, layer) in blobs(dir).iter().zip(image().layers()) {
        assert_eq!(sha256(&fs::read(blob)?), layer.digest());
    }
    let reads = reads(&agent, dir)?;
    end(agent)?;
    Ok(reads)
}

fn sent_again(dir: &Path) -> Outcome {
    loaded(dir)?;
    for _ in 0..2 {
        let reads = reads_to_repair(dir)?;
        assert!((1.0..1.3).contains(&reads), "{reads}");
    }
    Ok(())
}

/// As after a boot: another boot's id is in the marker.
fn crashed(dir: &Path) -> Outcome {
    loaded(dir)?;
    fs::write(dir.join("state/running"), "another-boot")?;
    let reads = reads_to_repair(dir)?;
    assert!((2.0..2.3).contains(&reads), "{reads}");
    let reads = reads_to_repair(dir)?;
    assert!((1.0..1.3).contains(&reads), "{reads}");
    Ok(())
}

fn torn(dir: &Path) -> Outcome {
    loaded(dir)?;
    let file = File::options().write(true).open(index(dir))?;
    file.set_len(file.metadata()?.len() / 2)?;
    let reads = reads_to_repair(dir)?;
    assert!((2.0..2.3).contains(&reads), "{reads}");
    Ok(())
}

fn rotted(dir: &Path) -> Outcome {
    loaded(dir)?;
    let whole = fs::read(bundle(dir))?;
    // One bit of the first layer, which only its digest tells before the stream ends; and some of
    // the stream's own.
    for damage in [vec![whole[2_000_000] ^ 1], vec![0xff; 300_000]] {
        overwrite(&bundle(dir), &damage, 2_000_000)?;
        let index = index(dir);
        fs::write(&index, forged(&fs::read(&index)?, &bundle(dir))?)?;
        let [lost, _] = blobs(dir);
        fs::remove_file(lost)?;
        let mut agent = watch(dir, &[]);
        agent.wait_for_line(&["bundle", &reason(dir)], DEADLINE)?;
        let said = agent.stderr();
        assert!(said.contains("msg=importing"), "the index was used: {said}");
        assert!(!said.contains("bundle loaded"), "{said}");
        assert!(!index.exists());
        // Sound again, it is brought again.
        overwrite(&bundle(dir), &whole, 0)?;
        agent.wait_for_line(&["bundle loaded"], DEADLINE)?;
        end(agent)?;
    }
    Ok(())
}

fn overwrite(path: &Path, content: &[u8], at: u64) -> io::Result<()> {
    let file = File::options().write(true).open(path)?;
    file.write_all_at(content, at)
}

/// What `load`, which remembers nothing, says of the bundle.
fn reason(dir: &Path) -> String {
    let bundle = bundle(dir);
    let (code, report) = airdock_json(&["load", text(&bundle), "--store", &store_of(dir)]);
    assert_ne!(code, 0, "{report}");
    report["reason"].as_str().expect("a reason").to_owned()
}

/// An index that is about the file as it is now: bit rot changes no time, and nothing else can
/// write a file without a new change time.
fn forged(index: &[u8], bundle: &Path) -> io::Result<Vec<u8>> {
    const MAGIC: usize = 16;
    const STAMP: usize = 56;
    const SEAL: usize = 71;
    let metadata = fs::metadata(bundle)?;
    let mut forged = index[..MAGIC].to_vec();
    forged.extend(metadata.dev().to_le_bytes());
    forged.extend(metadata.ino().to_le_bytes());
    forged.extend(metadata.size().to_le_bytes());
    forged.extend(metadata.mtime().to_le_bytes());
    forged.extend(metadata.mtime_nsec().to_le_bytes());
    forged.extend(metadata.ctime().to_le_bytes());
    forged.extend(metadata.ctime_nsec().to_le_bytes());
    forged.extend(&index[MAGIC + STAMP..index.len() - SEAL]);
    let seal = sha256(&forged);
    forged.extend(seal.as_bytes());
    Ok(forged)
}

fn forgotten(dir: &Path) -> Outcome {
    loaded(dir)?;
    assert!(index(dir).exists());
    let agent = watch(dir, &["--release-grace", "0"]);
    fs::remove_file(bundle(dir))?;
    wait::until("an empty ledger", DEADLINE, || {
        let mut files = fs::read_dir(dir.join("state/ledger")).ok()?;
        files.next().is_none().then_some(())
    })?;
    end(agent)?;
    Ok(())
}

fn kept(dir: &Path) -> Outcome {
    loaded(dir)?;
    let written = || fs::metadata(index(dir)).map(|it| (it.ino(), it.mtime_nsec()));
    let before = written()?;
    reads_to_repair(dir)?;
    assert_eq!(written()?, before);
    Ok(())
}

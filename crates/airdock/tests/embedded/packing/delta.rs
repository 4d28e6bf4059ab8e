//! Bundles that leave layers to others.

use std::path::Path;

use airdock_testkit::fixture::{Bundle, Image, Layer};
use airdock_testkit::{Outcome, Suite, wait};

use super::{packed, write};
use crate::support::{DEADLINE, airdock, airdock_json, names_in, started, store_of, text};

const LAYERS: u64 = 40;
pub(crate) const SIZE: usize = 20_000;

pub(crate) fn tests(suite: Suite) -> Suite {
    suite
        .test(
            "a_delta_is_small_and_completes_what_the_store_has",
            &[],
            completes,
        )
        .test("a_delta_without_its_base_says_what_it_needs", &[], without)
        .test(
            "a_delta_takes_the_rest_from_a_bundle_beside_it",
            &[],
            beside,
        )
        .test("a_delta_that_came_first_waits_for_its_base", &[], waits)
        .test("a_damaged_base_gives_nothing", &[], damaged_base)
        .test("a_list_of_digests_is_a_base_too", &[], listed)
        .test("a_plan_says_what_must_come_from_elsewhere", &[], planned)
        .test("inspect_and_verify_show_what_is_left_out", &[], shown)
}

/// An image of many layers; the last is of its version.
pub(crate) fn version(version: u64) -> Bundle {
    let below = (1..LAYERS).map(|seed| Layer::noise(seed, SIZE));
    let image = below.fold(Image::new(), Image::layer);
    let image = image.layer(Layer::noise(1000 + version, SIZE));
    Bundle::new().with(&[&format!("example.com/app:{version}")], image)
}

/// The base, all of the next version, and the delta between them.
struct Files {
    base: std::path::PathBuf,
    full: std::path::PathBuf,
    delta: std::path::PathBuf,
}

fn files(dir: &Path) -> std::io::Result<Files> {
    let files = Files {
        base: write(dir, "base.tar", &version(1).oci())?,
        full: write(dir, "full.tar", &version(2).oci())?,
        delta: dir.join("delta.tar"),
    };
    packed(&files.delta, &files.full, &["--base", text(&files.base)]);
    Ok(files)
}

fn load(dir: &Path, paths: &[&Path]) -> (i32, String) {
    let store = store_of(dir);
    let mut args = vec!["load", "--store", &store, "--platform", "linux/amd64"];
    args.extend(paths.iter().map(|path| text(path)));
    let ended = airdock(&args);
    (ended.code, ended.stdout + &ended.stderr)
}

fn planned(dir: &Path) -> Outcome {
    let files = files(dir)?;
    let store = store_of(dir);
    let args = ["plan", text(&files.delta), "--store", &store];
    let args = [&args[..], &["--platform", "linux/amd64"]].concat();
    let elsewhere = || airdock_json(&args).1["bundles"][0]["bytes_elsewhere"].as_u64();
    let layers = (1..LAYERS).map(|seed| Layer::noise(seed, SIZE));
    let bytes: usize = layers.map(|it| it.blob().content.len()).sum();
    assert_eq!(elsewhere(), Some(u64::try_from(bytes)?));
    let said = airdock(&args).stdout;
    let words = format!("must come from another bundle: {}", id_of(&files.base));
    assert!(said.contains(&words), "{said}");
    assert_eq!(load(dir, &[&files.base]).0, 0);
    assert_eq!(elsewhere(), Some(0));
    assert!(!airdock(&args).stdout.contains("a delta"));
    Ok(())
}

fn id_of(path: &Path) -> String {
    let (_, report) = airdock_json(&["inspect", text(path), "--platform", "linux/amd64"]);
    report["id"].as_str().unwrap_or_default().to_owned()
}

fn completes(dir: &Path) -> Outcome {
    let files = files(dir)?;
    let size = |path: &Path| std::fs::metadata(path).map(|it| it.len());
    let (delta, full) = (size(&files.delta)?, size(&files.full)?);
    assert!(delta * 20 < full, "{delta} of {full}");
    let (code, said) = load(dir, &[&files.base]);
    assert_eq!(code, 0, "{said}");
    let (code, said) = load(dir, &[&files.delta]);
    assert_eq!(code, 0, "{said}");
    let names = names_in(&dir.join("store"));
    assert_eq!(names.len(), 2, "{names:?}");
    // The store holds all of it: what it exports is the full bundle.
    let (from_store, from_full) = (dir.join("a.tar"), dir.join("b.tar"));
    packed(&from_store, &dir.join("store"), &["example.com/app:2"]);
    packed(&from_full, &files.full, &[]);
    assert_eq!(std::fs::read(from_store)?, std::fs::read(from_full)?);
    Ok(())
}

fn without(dir: &Path) -> Outcome {
    let files = files(dir)?;
    let (code, said) = load(dir, &[&files.delta]);
    assert_eq!(code, 6, "{said}");
    let needs = format!("incomplete: it needs {}", id_of(&files.base));
    assert!(said.contains(&needs), "{said}");
    let first = Layer::noise(1, SIZE);
    let all: Vec<_> = (1..LAYERS).map(|seed| Layer::noise(seed, SIZE)).collect();
    let listed = all.iter().filter(|layer| said.contains(layer.digest()));
    assert_eq!(listed.count(), 8, "{said}");
    assert!(
        said.contains("and 31 more") && first.digest().len() > 8,
        "{said}"
    );
    assert!(names_in(&dir.join("store")).is_empty());
    Ok(())
}

fn beside(dir: &Path) -> Outcome {
    let files = files(dir)?;
    let zipped = dir.join("base.tar.zst");
    packed(&zipped, &files.base, &["--compress", "zstd"]);
    for (n, base) in [&files.base, &zipped].into_iter().enumerate() {
        let dir = dir.join(n.to_string());
        let (code, said) = load(&dir, &[&files.delta, base]);
        assert_eq!(code, 0, "{said}");
        assert_eq!(names_in(&dir.join("store")).len(), 2);
    }
    Ok(())
}

fn waits(dir: &Path) -> Outcome {
    let files = files(dir)?;
    let mut agent = started(dir, &[])?;
    let bundles = dir.join("bundles");
    std::fs::rename(&files.delta, bundles.join("delta.tar"))?;
    agent.wait_for_line(&["delta.tar", "it needs"], DEADLINE)?;
    std::fs::rename(&files.base, bundles.join("base.tar"))?;
    wait::until("both versions", DEADLINE, || {
        (names_in(&dir.join("store")).len() == 2).then_some(())
    })?;
    agent.kill()?;
    Ok(())
}

fn damaged_base(dir: &Path) -> Outcome {
    let files = files(dir)?;
    let one = Layer::noise(5, SIZE);
    let path = airdock_testkit::fixture::blob_path(one.digest());
    let bad = write(dir, "bad.tar", &version(1).oci().flipped(&path, 99))?;
    let (code, said) = load(dir, &[&files.delta, &bad]);
    assert_eq!(code, 7, "{said}");
    assert!(
        said.contains(&format!("has 1 layer with 21.5 KiB: {}", one.digest())),
        "{said}"
    );
    assert!(names_in(&dir.join("store")).is_empty());
    Ok(())
}

fn listed(dir: &Path) -> Outcome {
    let files = files(dir)?;
    let layers: Vec<_> = (1..LAYERS).map(|seed| Layer::noise(seed, SIZE)).collect();
    let list = dir.join("list");
    let lines: String = layers
        .iter()
        .map(|it| format!("{}\n", it.digest()))
        .collect();
    std::fs::write(&list, lines)?;
    let out = dir.join("by-list.tar");
    packed(&out, &files.full, &["--base", text(&list)]);
    let size = |path: &Path| std::fs::metadata(path).map(|it| it.len());
    assert_eq!(size(&out)?, size(&files.delta)?);
    Ok(())
}

fn shown(dir: &Path) -> Outcome {
    let files = files(dir)?;
    let base = id_of(&files.base);
    for command in ["inspect", "verify"] {
        let ended = airdock(&[command, text(&files.delta), "--platform", "linux/amd64"]);
        assert_eq!(ended.code, 0, "{}", ended.stdout);
        let line = format!("  a delta: 39 layers with 838.5 KiB are left to {base}");
        assert!(ended.stdout.contains(&line), "{}", ended.stdout);
    }
    Ok(())
}

//! What these tests share: the program, a store in a folder, and what is in it.

use std::collections::BTreeMap;
use std::path::Path;

use airdock_testkit::fixture::{Bundle, Image};
use airdock_testkit::process::{Ended, Running, run};
use airdock_testkit::wait;
use serde_json::Value;

pub(crate) use airdock_testkit::process::text;
pub(crate) use airdock_testkit::wait::DEADLINE;

pub(crate) const AIRDOCK: &str = env!("CARGO_BIN_EXE_airdock");

/// Runs the program to its end.
pub(crate) fn airdock(args: &[&str]) -> Ended {
    run(AIRDOCK, args).expect("airdock starts")
}

/// Runs it, and reads the JSON that it prints.
pub(crate) fn airdock_json(args: &[&str]) -> (i32, Value) {
    let ended = airdock(&[args, &["--output", "json"]].concat());
    let document = serde_json::from_str(&ended.stdout);
    let document = document.unwrap_or_else(|e| panic!("{e}: {} {}", ended.stdout, ended.stderr));
    (ended.code, document)
}

pub(crate) fn store_of(dir: &Path) -> String {
    format!("oci:{}", text(&dir.join("store")))
}

/// A small image of its own, whose content follows from `seed`.
pub(crate) fn small(name: &str, seed: &str) -> Bundle {
    Bundle::new().with(&[name], Image::small(seed))
}

/// The digests of a bundle's targets, as the fixture writer computed them.
pub(crate) fn digest_of(seed: &str) -> String {
    airdock_testkit::fixture::Target::from(Image::small(seed)).digest()
}

/// Names in the store's index, read without the product's code, and what they point to.
pub(crate) fn names_in(store: &Path) -> BTreeMap<String, String> {
    let Ok(bytes) = std::fs::read(store.join("index.json")) else {
        return BTreeMap::new();
    };
    let index: Value = serde_json::from_slice(&bytes).expect("the index is JSON");
    let entries = index["manifests"].as_array().expect("it lists manifests");
    let name = |entry: &Value| {
        let name = entry["annotations"]["io.containerd.image.name"].as_str()?;
        Some((name.to_owned(), entry["digest"].as_str()?.to_owned()))
    };
    entries.iter().filter_map(name).collect()
}

/// Starts the agent on `dir/bundles` with a store in `dir/store`.
pub(crate) fn watch(dir: &Path, more: &[&str]) -> Running {
    let (store, state, bundles) = (store_of(dir), dir.join("state"), dir.join("bundles"));
    let mut args = vec!["watch", text(&bundles), "--store", &store];
    args.extend(["--state-dir", text(&state)]);
    args.extend(more);
    Running::start(AIRDOCK, &args).expect("airdock starts")
}

/// An agent that has looked at an empty directory.
pub(crate) fn started(dir: &Path, more: &[&str]) -> Result<Running, std::io::Error> {
    std::fs::create_dir_all(dir.join("bundles"))?;
    let mut agent = watch(dir, more);
    agent.wait_for_line(&["started to watch"], DEADLINE)?;
    Ok(agent)
}

/// Writes a bundle beside the directory and renames it into it.
pub(crate) fn put(dir: &Path, file: &str, name: &str, seed: &str) -> std::io::Result<()> {
    let beside = dir.join(format!("beside-{file}"));
    small(name, seed).oci().write_tar(&beside)?;
    std::fs::rename(beside, dir.join("bundles").join(file))
}

pub(crate) fn names_become(dir: &Path, expected: &[(&str, &str)]) -> std::io::Result<()> {
    let expected: Vec<(String, String)> = expected
        .iter()
        .map(|(name, seed)| ((*name).to_owned(), digest_of(seed)))
        .collect();
    let store = dir.join("store");
    wait::until(&format!("{expected:?} in the store"), DEADLINE, || {
        let names: Vec<_> = names_in(&store).into_iter().collect();
        (names == expected).then_some(())
    })
}

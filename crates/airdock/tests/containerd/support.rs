//! What these tests share.

use std::collections::BTreeMap;
use std::path::Path;

use airdock_testkit::fixture::{Bundle, Image, Target};
use airdock_testkit::process::{Ended, Running, run};
use airdock_testkit::proxy::Proxy;
use airdock_testkit::{Daemon, Outcome, wait};
use serde_json::Value;

pub(crate) use airdock_testkit::process::text;
pub(crate) use airdock_testkit::wait::DEADLINE;

pub(crate) const AIRDOCK: &str = env!("CARGO_BIN_EXE_airdock");

pub(crate) fn store_of(daemon: &Daemon) -> String {
    format!("containerd:{}", daemon.socket().display())
}

pub(crate) fn load(daemon: &Daemon, bundle: &Path) -> Ended {
    let store = store_of(daemon);
    let args = ["load", text(bundle), "--store", &store];
    let args = [&args[..], &["--platform", "linux/amd64"]].concat();
    run(AIRDOCK, &args).expect("airdock starts")
}

pub(crate) fn load_json(daemon: &Daemon, bundle: &Path) -> (i32, Value) {
    let store = store_of(daemon);
    let args = ["load", text(bundle), "--store", &store, "--output", "json"];
    let ended = run(AIRDOCK, &args).expect("airdock starts");
    let document = serde_json::from_str(&ended.stdout);
    let document = document.unwrap_or_else(|e| panic!("{e}: {} {}", ended.stdout, ended.stderr));
    (ended.code, document)
}

/// Starts the agent on `dir/bundles`.
pub(crate) fn watch(daemon: &Daemon, dir: &Path, more: &[&str]) -> std::io::Result<Running> {
    std::fs::create_dir_all(dir.join("bundles"))?;
    watch_only(daemon, dir, more)
}

/// The same, whether there is such a directory or not.
pub(crate) fn watch_only(daemon: &Daemon, dir: &Path, more: &[&str]) -> std::io::Result<Running> {
    watch_at(&daemon.socket(), dir, more)
}

/// The same, with a proxy before the daemon.
pub(crate) fn watch_through(proxy: &Proxy, dir: &Path, more: &[&str]) -> std::io::Result<Running> {
    std::fs::create_dir_all(dir.join("bundles"))?;
    watch_at(&proxy.socket(), dir, more)
}

fn watch_at(socket: &Path, dir: &Path, more: &[&str]) -> std::io::Result<Running> {
    let bundles = dir.join("bundles");
    let (store, state) = (
        format!("containerd:{}", socket.display()),
        dir.join("state"),
    );
    let mut args = vec!["watch", text(&bundles), "--store", &store];
    args.extend(["--state-dir", text(&state)]);
    args.extend(more);
    Running::start(AIRDOCK, &args)
}

/// An agent that has looked at its directory and at the store.
pub(crate) fn started(daemon: &Daemon, dir: &Path, more: &[&str]) -> std::io::Result<Running> {
    let mut agent = watch(daemon, dir, more)?;
    agent.wait_for_line(&["the store answers"], DEADLINE)?;
    Ok(agent)
}

/// What the agent tells of itself, once it can be asked.
pub(crate) fn status(dir: &Path) -> Option<Value> {
    let socket = dir.join("state/airdock.sock");
    let args = ["status", "--output", "json", "--socket", text(&socket)];
    serde_json::from_str(&run(AIRDOCK, &args).ok()?.stdout).ok()
}

/// Writes a bundle beside the directory and renames it into it.
pub(crate) fn put(dir: &Path, file: &str, bundle: &Bundle) -> std::io::Result<()> {
    let beside = dir.join(format!("beside-{file}"));
    bundle.oci().write_tar(&beside)?;
    std::fs::rename(beside, dir.join("bundles").join(file))
}

/// Waits until the agent has written down what it knows of one bundle: an agent that is killed
/// before doesn't know it.
pub(crate) fn remembered(dir: &Path) -> std::io::Result<()> {
    wait::until("the ledger", DEADLINE, || {
        let mut entries = std::fs::read_dir(dir.join("state/ledger")).ok()?;
        let is_entry = |path: &Path| path.extension().is_some_and(|e| e == "json");
        entries
            .any(|e| e.is_ok_and(|e| is_entry(&e.path())))
            .then_some(())
    })
}

pub(crate) fn small(name: &str, seed: &str) -> Bundle {
    Bundle::new().with(&[name], Image::small(seed))
}

pub(crate) fn digest_of(seed: &str) -> String {
    Target::from(Image::small(seed)).digest()
}

/// Names in a store, each with what it points to and its labels.
pub(crate) type Records = BTreeMap<String, (String, String)>;

/// Every record that `ctr` lists.
pub(crate) fn records(daemon: &Daemon) -> std::io::Result<Records> {
    Ok(listed_records(&daemon.ctr_text(&["images", "ls"])?))
}

/// The records in what `ctr images ls` prints.
pub(crate) fn listed_records(listed: &str) -> Records {
    let record = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let digest = words.iter().find(|word| word.starts_with("sha256:"))?;
        // A record's own name may be a digest too.
        let digest = words
            .get(2)
            .filter(|w| w.starts_with("sha256:"))
            .unwrap_or(digest);
        let labels = words.last()?;
        Some((
            (*words.first()?).to_owned(),
            ((*digest).to_owned(), (*labels).to_owned()),
        ))
    };
    listed.lines().skip(1).filter_map(record).collect()
}

/// `ctr` itself finds all content of a name for this platform.
pub(crate) fn complete(daemon: &Daemon, name: &str, digest: &str) -> Outcome {
    let filter = format!("name=={name}");
    let checked = daemon.ctr_text(&["images", "check", &filter])?;
    let line = checked.lines().find(|line| line.contains(digest));
    let line = line.ok_or(format!("{name}: {checked}"))?;
    assert!(
        line.contains("complete (") && !line.contains("incomplete"),
        "{line}"
    );
    Ok(())
}

/// Waits until a name points to an image.
pub(crate) fn name_becomes(daemon: &Daemon, name: &str, digest: &str) -> std::io::Result<()> {
    wait::until(&format!("{name} to be {digest}"), DEADLINE, || {
        let records = records(daemon).ok()?;
        (records.get(name)?.0 == digest).then_some(())
    })
}

pub(crate) fn leases(daemon: &Daemon) -> std::io::Result<Vec<String>> {
    let listed = daemon.ctr_text(&["leases", "ls", "-q"])?;
    Ok(listed.lines().map(str::to_owned).collect())
}

pub(crate) fn ingests(daemon: &Daemon) -> std::io::Result<Vec<String>> {
    let listed = daemon.ctr_text(&["content", "active"])?;
    Ok(listed.lines().skip(1).map(str::to_owned).collect())
}

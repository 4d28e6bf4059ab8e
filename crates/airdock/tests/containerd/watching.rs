//! The agent with real daemons: what is undone is put right, what goes is released.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

use airdock_testkit::fixture::{Bundle, Image, Layer, gzip};
use airdock_testkit::process::{Signal, run};
use airdock_testkit::proxy::Proxy;
use airdock_testkit::{Daemon, Outcome, Suite, wait};

use crate::support::{
    AIRDOCK, DEADLINE, digest_of, ingests, leases, load, name_becomes, put, records, remembered,
    small, started, status, store_of, text, watch, watch_through,
};

const X: &str = "docker.io/library/x:1";

/// Keeps a manifest's first layer alive.
const LAYER_REF: &str = "containerd.io/gc.ref.content.l.0";

pub(crate) fn tests(suite: Suite) -> Suite {
    suite
        .on_each_containerd("a_bundle_that_appears_is_imported", &[], appears)
        .on_each_containerd("a_bundle_beside_many_does_not_list_them", &[], beside_many)
        .on_each_containerd("an_image_that_is_deleted_comes_back", &[], deleted)
        .on_each_containerd(
            "a_compressed_bundle_is_read_once_to_bring_its_image_back",
            &[],
            read_once,
        )
        .on_each_containerd("a_pin_that_is_dropped_comes_back", &[], unpinned)
        .on_each_containerd("what_no_event_tells_of_is_found", &[], untold)
        .on_each_containerd("a_removed_bundle_is_unpinned", &[], removed)
        .on_each_containerd("delete_removes_the_names_of_a_removed_bundle", &[], delete)
        .on_each_containerd("nothing_is_written_for_what_is_unchanged", &[], unchanged)
        .on_each_containerd("a_daemon_that_starts_late_is_waited_for", &[], late)
        .on_each_containerd("a_daemon_that_restarts_is_met_again", &[], restarted)
        .on_each_containerd("wait_believes_the_store_and_no_memory", &[], believed)
        .on_each_containerd("a_signal_in_mid_import_leaves_nothing_behind", &[], stopped)
        .on_each_containerd("what_a_power_cut_tore_is_brought_again", &[], power_cut)
        .on_each_containerd("a_plan_says_what_a_load_then_does", &[], planned)
        .on_each_containerd(
            "the_doctor_finds_what_is_wrong_and_what_is_right",
            &[],
            doctor,
        )
        .on_each_containerd("a_foreign_pin_stays_when_a_bundle_goes", &[], foreign_pin)
}

fn appears(daemon: &mut Daemon, dir: &Path) -> Outcome {
    let mut agent = started(daemon, dir, &[])?;
    put(dir, "x.tar", &small("x:1", "one"))?;
    agent.wait_for_line(&["bundle loaded"], DEADLINE)?;
    name_becomes(daemon, X, &digest_of("one"))?;
    put(dir, "x.tar", &small("x:1", "two"))?;
    name_becomes(daemon, X, &digest_of("two"))?;
    Ok(())
}

/// What it needs to know is asked for by itself: its own names and blobs, those that are there
/// and those that aren't.
fn beside_many(daemon: &mut Daemon, dir: &Path) -> Outcome {
    let named = |n| (format!("many-{n}:1"), Image::small(&format!("many {n}")));
    let many = (0..60)
        .map(named)
        .fold(Bundle::new(), |bundle, (name, image)| {
            bundle.with(&[&name], image)
        });
    let proxy = Proxy::before(&daemon.socket())?;
    let mut agent = watch_through(&proxy, dir, &[])?;
    put(dir, "many.tar", &many)?;
    agent.wait_for_line(&["bundle loaded", "many.tar"], DEADLINE)?;
    let asked = |method: &str| {
        let calls = proxy.calls().into_iter();
        calls.filter(|call| call.path.ends_with(method)).count()
    };
    let before = asked("Images/Get") + asked("Content/Info");
    put(dir, "x.tar", &small("x:1", "one"))?;
    name_becomes(daemon, X, &digest_of("one"))?;
    put(dir, "x.tar", &small("x:1", "two"))?;
    name_becomes(daemon, X, &digest_of("two"))?;
    put(dir, "same.tar", &small("same:1", "many 7"))?;
    name_becomes(daemon, "docker.io/library/same:1", &digest_of("many 7"))?;
    assert!(asked("Images/Get") + asked("Content/Info") > before + 9);
    daemon.ctr_text(&["images", "check", &format!("name=={X}")])?;
    Ok(())
}

fn deleted(daemon: &mut Daemon, dir: &Path) -> Outcome {
    let mut agent = started(daemon, dir, &[])?;
    put(dir, "x.tar", &small("x:1", "one"))?;
    agent.wait_for_line(&["bundle loaded"], DEADLINE)?;
    let names: Vec<String> = records(daemon)?.into_keys().collect();
    let mut rm = vec!["images", "rm", "--sync"];
    rm.extend(names.iter().map(String::as_str));
    daemon.ctr_text(&rm)?;
    for name in &names {
        name_becomes(daemon, name, &digest_of("one"))?;
    }
    agent.wait_for_line(&["putting them right"], DEADLINE)?;
    daemon.ctr_text(&["images", "check", &format!("name=={X}")])?;
    Ok(())
}

fn read_once(daemon: &mut Daemon, dir: &Path) -> Outcome {
    let mut agent = started(daemon, dir, &[])?;
    // Noise, which no compression makes smaller.
    let image = Image::new().layer(Layer::noise(1, 4_000_000));
    let layer = image.layers()[0].digest().to_owned();
    let packed = gzip(&Bundle::new().with(&["x:1"], image).oci().tar());
    fs::write(dir.join("beside"), &packed)?;
    fs::rename(dir.join("beside"), dir.join("bundles/x.tar.gz"))?;
    agent.wait_for_line(&["bundle loaded"], DEADLINE)?;
    let io = format!("/proc/{}/io", agent.pid());
    let read = || -> std::io::Result<usize> {
        let io = fs::read_to_string(&io)?;
        let read = io.lines().find_map(|line| line.strip_prefix("rchar: "));
        Ok(read.and_then(|it| it.parse().ok()).expect("a number"))
    };
    let before = read()?;
    // The name tells the daemons that tell nothing of content.
    daemon.ctr_text(&["content", "rm", &layer])?;
    daemon.ctr_text(&["images", "rm", X])?;
    agent.wait_for_line(&["bundle loaded"], DEADLINE)?;
    wait::until("the image", DEADLINE, || {
        let is_named = records(daemon).ok()?.contains_key(X);
        is_named.then_some(())
    })?;
    let passes = (read()? - before) * 10 / packed.len();
    assert!((10..13).contains(&passes), "{passes} tenths");
    daemon.ctr_text(&["images", "check", &format!("name=={X}")])?;
    Ok(())
}

fn labels_of(daemon: &Daemon, name: &str) -> std::io::Result<String> {
    let records = records(daemon)?;
    Ok(records.get(name).map(|r| r.1.clone()).unwrap_or_default())
}

fn unpinned(daemon: &mut Daemon, dir: &Path) -> Outcome {
    let mut agent = started(daemon, dir, &[])?;
    put(dir, "x.tar", &small("x:1", "one"))?;
    agent.wait_for_line(&["bundle loaded"], DEADLINE)?;
    daemon.ctr_text(&[
        "images",
        "label",
        X,
        "io.cri-containerd.pinned=",
        "mine=kept",
    ])?;
    wait::until("the pin", DEADLINE, || {
        let labels = labels_of(daemon, X).ok()?;
        labels
            .contains("io.cri-containerd.pinned=pinned")
            .then_some(())
    })?;
    assert!(labels_of(daemon, X)?.contains("mine=kept"));
    Ok(())
}

/// After looks that found all in order, and that spared themselves the details.
fn untold(daemon: &mut Daemon, dir: &Path) -> Outcome {
    let mut agent = started(daemon, dir, &["--resync", "0.1"])?;
    put(dir, "x.tar", &small("x:1", "one"))?;
    agent.wait_for_line(&["bundle loaded"], DEADLINE)?;
    let looks = || status(dir)?["agent"]["resyncs"].as_u64();
    let before = wait::until("the status", DEADLINE, looks)?;
    let more = || looks().filter(|looks| *looks > before + 3);
    wait::until("more looks", DEADLINE, more)?;
    let manifest = digest_of("one");
    let label = format!("{LAYER_REF}=");
    daemon.ctr_text(&["content", "label", &manifest, &label])?;
    wait::until("the label", DEADLINE, || {
        let listed = daemon.ctr_text(&["content", "ls"]).ok()?;
        let line = listed.lines().find(|line| line.starts_with(&manifest))?;
        line.contains(LAYER_REF).then_some(())
    })?;
    let imports = agent.stderr().matches("msg=importing").count();
    assert_eq!(imports, 1, "{}", agent.stderr());
    Ok(())
}

fn removed(daemon: &mut Daemon, dir: &Path) -> Outcome {
    let mut agent = started(daemon, dir, &["--release-grace", "0"])?;
    put(dir, "x.tar", &small("x:1", "one"))?;
    agent.wait_for_line(&["bundle loaded"], DEADLINE)?;
    fs::remove_file(dir.join("bundles/x.tar"))?;
    agent.wait_for_line(&["released image docker.io/library/x:1"], DEADLINE)?;
    for (name, (_, labels)) in records(daemon)? {
        assert!(!labels.contains("pinned"), "{name}: {labels}");
        assert!(!labels.contains("io.airdock"), "{name}: {labels}");
    }
    assert_eq!(records(daemon)?.len(), 3, "unpin takes no name away");
    Ok(())
}

fn delete(daemon: &mut Daemon, dir: &Path) -> Outcome {
    let more = ["--release-grace", "0", "--on-remove", "delete"];
    let mut agent = started(daemon, dir, &more)?;
    put(dir, "x.tar", &small("x:1", "one"))?;
    put(dir, "y.tar", &small("y:1", "two"))?;
    name_becomes(daemon, X, &digest_of("one"))?;
    name_becomes(daemon, "docker.io/library/y:1", &digest_of("two"))?;
    fs::remove_file(dir.join("bundles/x.tar"))?;
    agent.wait_for_line(&["released image docker.io/library/x:1"], DEADLINE)?;
    let records = records(daemon)?;
    assert!(!records.contains_key(X), "{records:?}");
    assert_eq!(records.len(), 3, "what the other bundle holds stays");
    Ok(())
}

fn unchanged(daemon: &mut Daemon, dir: &Path) -> Outcome {
    let mut agent = started(daemon, dir, &[])?;
    put(dir, "x.tar", &small("x:1", "one"))?;
    agent.wait_for_line(&["bundle loaded"], DEADLINE)?;
    remembered(dir)?;
    drop(agent);
    collect(daemon)?;
    let metadata = daemon.root().join("io.containerd.metadata.v1.bolt/meta.db");
    let written = || fs::metadata(&metadata).and_then(|metadata| metadata.modified());
    let before = written()?;
    let mut again = started(daemon, dir, &["--log-level", "debug"])?;
    // A second bundle shows that the first has been passed over, without waiting for nothing.
    put(dir, "bad.tar", &small("Bad:1", "two"))?;
    again.wait_for_line(&["refused bundle"], DEADLINE)?;
    assert_eq!(written()?, before, "the daemon's metadata was written");
    assert!(!again.stderr().contains("x.tar"), "{}", again.stderr());
    Ok(())
}

/// Has the daemon collect its garbage now, so that none is left to be collected later.
fn collect(daemon: &Daemon) -> std::io::Result<()> {
    daemon.ctr_text(&["leases", "create", "--id", "collect"])?;
    daemon.ctr_text(&["leases", "rm", "--sync", "collect"])?;
    Ok(())
}

fn late(daemon: &mut Daemon, dir: &Path) -> Outcome {
    daemon.stop()?;
    let mut agent = watch(daemon, dir, &[])?;
    put(dir, "x.tar", &small("x:1", "one"))?;
    agent.wait_for_line(&["the store does not answer"], DEADLINE)?;
    daemon.restart()?;
    name_becomes(daemon, X, &digest_of("one"))?;
    Ok(())
}

fn restarted(daemon: &mut Daemon, dir: &Path) -> Outcome {
    let mut agent = started(daemon, dir, &[])?;
    put(dir, "x.tar", &small("x:1", "one"))?;
    agent.wait_for_line(&["bundle loaded"], DEADLINE)?;
    daemon.restart()?;
    put(dir, "y.tar", &small("y:1", "two"))?;
    name_becomes(daemon, "docker.io/library/y:1", &digest_of("two"))?;
    // Its events are heard again too.
    daemon.ctr_text(&["images", "rm", X])?;
    name_becomes(daemon, X, &digest_of("one"))?;
    assert_eq!(ingests(daemon)?, Vec::<String>::new());
    wait::until("no lease of ours", DEADLINE, || {
        leases(daemon).ok()?.is_empty().then_some(())
    })?;
    Ok(())
}

/// From the signal to the end, as the documentation promises.
const STOP: Duration = Duration::from_secs(5);

/// What an agent remembers from before its start isn't in the store for that.
fn believed(daemon: &mut Daemon, dir: &Path) -> Outcome {
    let mut agent = started(daemon, dir, &[])?;
    put(dir, "x.tar", &small("x:1", "one"))?;
    agent.wait_for_line(&["bundle loaded"], DEADLINE)?;
    remembered(dir)?;
    agent.kill()?;
    daemon.stop()?;
    let mut agent = watch(daemon, dir, &[])?;
    agent.wait_for_line(&["the store does not answer"], DEADLINE)?;
    let socket = dir.join("state/airdock.sock");
    let ask = |what: &[&str], timeout: &str| {
        let args = ["--socket", text(&socket), "--timeout", timeout];
        run(AIRDOCK, &[&["wait"], what, &args].concat())
    };
    let all = [&["x.tar"][..], &["--image", "x:1"], &["--all"]];
    for what in all {
        let ended = ask(what, "0.3")?;
        assert_ne!(ended.code, 0, "{what:?}: {}", ended.stdout);
        assert_ne!(ended.stdout.trim(), "imported", "{what:?}");
    }
    daemon.restart()?;
    for what in all {
        let ended = ask(what, "60")?;
        assert_eq!(ended.stdout.trim(), "imported", "{what:?}");
    }
    Ok(())
}

fn stopped(daemon: &mut Daemon, dir: &Path) -> Outcome {
    let mut agent = started(daemon, dir, &[])?;
    let layers = (0..8).map(|seed| Layer::noise(seed, 20_000_000));
    let image = layers.fold(Image::new(), Image::layer);
    put(dir, "x.tar", &Bundle::new().with(&["x:1"], image))?;
    agent.wait_for_line(&["msg=importing"], DEADLINE)?;
    agent.signal(Signal::TERM)?;
    assert!(agent.wait(STOP)?.success(), "{}", agent.stderr());
    assert_eq!(leases(daemon)?, Vec::<String>::new());
    assert_eq!(ingests(daemon)?, Vec::<String>::new());
    assert!(records(daemon)?.is_empty());
    Ok(())
}

fn power_cut(daemon: &mut Daemon, dir: &Path) -> Outcome {
    let mut agent = started(daemon, dir, &[])?;
    put(dir, "x.tar", &small("x:1", "one"))?;
    agent.wait_for_line(&["bundle loaded"], DEADLINE)?;
    remembered(dir)?;
    agent.kill()?;
    // The same as after a boot: another boot's id in the marker and in what was imported then.
    let boot = fs::read_to_string(dir.join("state/running"))?;
    for file in fs::read_dir(dir.join("state/ledger"))? {
        let path = file?.path();
        let entry = fs::read_to_string(&path)?;
        fs::write(&path, entry.replace(boot.trim(), "another-boot"))?;
    }
    fs::write(dir.join("state/running"), "another-boot")?;
    let layer = Image::small("one").layers()[0].digest().to_owned();
    let blob = daemon.blob(&layer);
    let whole = fs::read(&blob)?;
    fs::write(&blob, vec![0; whole.len()])?;
    let mut again = started(daemon, dir, &[])?;
    again.wait_for_line(&["reading back"], DEADLINE)?;
    again.wait_for_line(&["damaged", &layer], DEADLINE)?;
    wait::until("the layer", DEADLINE, || {
        (fs::read(&blob).ok()? == whole).then_some(())
    })?;
    Ok(())
}

fn planned(daemon: &mut Daemon, dir: &Path) -> Outcome {
    let bundle = dir.join("x.tar");
    small("x:1", "one").oci().write_tar(&bundle)?;
    let store = store_of(daemon);
    let plan = || -> Result<serde_json::Value, Box<dyn std::error::Error>> {
        let args = ["plan", text(&bundle), "--store", &store, "--output", "json"];
        let ended = run(AIRDOCK, &args)?;
        assert_eq!(ended.code, 0, "{}", ended.stderr);
        Ok(serde_json::from_str(&ended.stdout)?)
    };
    let before = plan()?;
    assert_eq!(
        before["bundles"][0]["names"].as_array().map(Vec::len),
        Some(3)
    );
    assert!(before["bytes_to_send"].as_u64() > Some(0), "{before}");
    assert_eq!(before["disk"]["fits"], true);
    assert!(records(daemon)?.is_empty(), "a plan changes nothing");
    assert_eq!(load(daemon, &bundle).code, 0);
    let after = plan()?;
    assert_eq!(after["bytes_to_send"], 0);
    assert_eq!(after["bytes_present"], before["bytes_to_send"]);
    assert_eq!(
        after["bundles"][0]["names"].as_array().map(Vec::len),
        Some(0)
    );
    Ok(())
}

fn doctor(daemon: &mut Daemon, dir: &Path) -> Outcome {
    let (store, bundles) = (store_of(daemon), dir.join("bundles"));
    let examine = || -> Result<(i32, String), Box<dyn std::error::Error>> {
        let args = ["doctor", text(&bundles), "--store", &store];
        let ended = run(AIRDOCK, &args)?;
        Ok((ended.code, ended.stdout))
    };
    let (code, told) = examine()?;
    assert_eq!(code, 1, "{told}");
    assert!(
        told.contains("install -d"),
        "the directory is missing: {told}"
    );
    fs::create_dir(&bundles)?;
    let (code, told) = examine()?;
    assert_eq!(code, 0, "{told}");
    for part in ["containerd", "k8s.io", "free in", "inotify", "cri"] {
        assert!(told.contains(part), "{part}: {told}");
    }
    fs::set_permissions(&bundles, fs::Permissions::from_mode(0o777))?;
    let (code, told) = examine()?;
    assert_eq!(code, 1, "the agent doesn't use it: {told}");
    assert!(told.contains("can be written by everybody"), "{told}");
    assert!(told.contains("chmod go-w"), "{told}");
    daemon.stop()?;
    let (code, told) = examine()?;
    assert_eq!(code, 1);
    assert!(told.contains("no such socket"), "{told}");
    Ok(())
}

fn foreign_pin(daemon: &mut Daemon, dir: &Path) -> Outcome {
    let bundle = dir.join("x.tar");
    small(X, "one").oci().write_tar(&bundle)?;
    daemon.ctr_text(&["images", "import", "--no-unpack", &bundle.to_string_lossy()])?;
    daemon.ctr_text(&["images", "label", X, "io.cri-containerd.pinned=pinned"])?;
    let mut agent = started(
        daemon,
        dir,
        &["--release-grace", "0", "--on-remove", "delete"],
    )?;
    put(dir, "x.tar", &small("x:1", "one"))?;
    agent.wait_for_line(&["bundle loaded"], DEADLINE)?;
    fs::remove_file(dir.join("bundles/x.tar"))?;
    agent.wait_for_line(&["released image docker.io/library/x:1"], DEADLINE)?;
    let labels = labels_of(daemon, X)?;
    assert!(
        labels.contains("io.cri-containerd.pinned=pinned"),
        "{labels}"
    );
    assert!(!labels.contains("io.airdock"), "{labels}");
    Ok(())
}

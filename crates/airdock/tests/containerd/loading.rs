//! `airdock load` into real daemons.

use std::path::Path;
use std::process::Command;

use airdock_testkit::fixture::{Bundle, Image, Layer, Target, gzip};
use airdock_testkit::{Daemon, Outcome, Suite, corpus};

use crate::support::{complete, digest_of, ingests, leases, load, load_json, records, small};

pub(crate) fn tests(suite: Suite) -> Suite {
    suite
        .on_each_containerd(
            "the_good_corpus_rows_land_with_their_names",
            &[],
            corpus_rows,
        )
        .on_each_containerd("no_bad_corpus_row_changes_the_store", &[], bad_rows)
        .on_each_containerd("an_image_has_the_names_that_a_pull_leaves", &[], names)
        .on_each_containerd("a_second_load_sends_nothing", &[], second_load)
        .on_each_containerd("a_docker_archive_has_the_digest_of_ctr", &[], docker_digest)
        .on_each_containerd("garbage_collection_spares_what_was_loaded", &[], collected)
        .on_each_containerd("a_damaged_image_does_not_stop_the_others", &[], damaged)
        .on_each_containerd("shared_layers_are_sent_once", &[], shared)
        .on_each_containerd("a_large_layer_arrives_whole", &[], large)
}

fn corpus_rows(daemon: &mut Daemon, _dir: &Path) -> Outcome {
    for row in corpus::rows()?.into_iter().filter(|row| row.is_ok()) {
        let ended = load(daemon, &row.path());
        assert_eq!(
            ended.code, 0,
            "{}: {}{}",
            row.file, ended.stdout, ended.stderr
        );
        let records = records(daemon)?;
        for name in &row.names {
            let (digest, labels) = records
                .get(name)
                .ok_or(format!("{} lacks {name}", row.file))?;
            assert!(
                labels.contains("io.cri-containerd.pinned=pinned"),
                "{labels}"
            );
            complete(daemon, name, digest)?;
        }
    }
    assert_eq!(leases(daemon)?, Vec::<String>::new());
    assert_eq!(ingests(daemon)?, Vec::<String>::new());
    Ok(())
}

fn bad_rows(daemon: &mut Daemon, _dir: &Path) -> Outcome {
    for row in corpus::rows()?.into_iter().filter(|row| !row.is_ok()) {
        let ended = load(daemon, &row.path());
        assert_ne!(ended.code, 0, "{}: {}", row.file, ended.stdout);
        let records = records(daemon)?;
        assert!(records.is_empty(), "{}: {records:?}", row.file);
    }
    assert_eq!(leases(daemon)?, Vec::<String>::new());
    assert_eq!(ingests(daemon)?, Vec::<String>::new());
    Ok(())
}

fn names(daemon: &mut Daemon, dir: &Path) -> Outcome {
    let bundle = dir.join("x.tar");
    small("x:1", "one").oci().write_tar(&bundle)?;
    assert_eq!(load(daemon, &bundle).code, 0);
    let (target, config) = (digest_of("one"), Image::small("one").config());
    let records = records(daemon)?;
    let by_digest = format!("docker.io/library/x@{target}");
    for name in ["docker.io/library/x:1", &by_digest, config.digest()] {
        let (digest, labels) = records.get(name).ok_or(format!("{name} in {records:?}"))?;
        assert_eq!(digest, &target);
        for label in ["io.cri-containerd.pinned=pinned", "io.airdock.bundle="] {
            assert!(labels.contains(label), "{name}: {labels}");
        }
    }
    assert_eq!(records.len(), 3, "{records:?}");
    Ok(())
}

fn second_load(daemon: &mut Daemon, dir: &Path) -> Outcome {
    let bundle = dir.join("x.tar.gz");
    std::fs::write(&bundle, gzip(&small("x:1", "one").oci().tar()))?;
    let (code, first) = load_json(daemon, &bundle);
    assert_eq!(code, 0, "{first}");
    let sent = first["bytes_sent"].as_u64().expect("a number");
    assert!(sent > 0);
    let before = daemon.ctr_text(&["images", "ls"])?;
    let (code, second) = load_json(daemon, &bundle);
    assert_eq!((code, &second["bytes_sent"]), (0, &0.into()), "{second}");
    assert_eq!(second["bytes_skipped"], sent);
    assert_eq!(daemon.ctr_text(&["images", "ls"])?, before);
    Ok(())
}

fn docker_digest(daemon: &mut Daemon, _dir: &Path) -> Outcome {
    let folder = corpus::folder();
    for (file, name) in [
        ("real/docker20-one.tar", "docker.io/library/hello:v1"),
        ("made/d18-repeated-layer.tar", "docker.io/library/t:1"),
        ("made/d27-layer-gz-in-docker.tar", "docker.io/library/t:1"),
    ] {
        let bundle = folder.join(file);
        let ours = load(daemon, &bundle);
        assert_eq!(ours.code, 0, "{file}: {}", ours.stderr);
        let digest = records(daemon)?[name].0.clone();
        let fresh = Daemon::start(daemon.version())?;
        let path = bundle.to_string_lossy().into_owned();
        fresh.ctr_text(&["images", "import", "--no-unpack", &path])?;
        assert_eq!(records(&fresh)?[name].0, digest, "{file}");
    }
    Ok(())
}

fn collected(daemon: &mut Daemon, dir: &Path) -> Outcome {
    let bundle = dir.join("x.tar");
    small("x:1", "one").oci().write_tar(&bundle)?;
    assert_eq!(load(daemon, &bundle).code, 0);
    // A name that is removed with `--sync` is followed by a collection before ctr returns.
    let other = dir.join("y.tar");
    small("docker.io/library/y:1", "two")
        .oci()
        .write_tar(&other)?;
    let other = other.to_string_lossy().into_owned();
    daemon.ctr_text(&["images", "import", "--no-unpack", &other])?;
    daemon.ctr_text(&["images", "rm", "--sync", "docker.io/library/y:1"])?;
    let content = daemon.ctr_text(&["content", "ls", "-q"])?;
    assert!(!content.contains(&digest_of("two")), "{content}");
    for blob in Target::from(Image::small("one")).blobs() {
        assert!(
            content.contains(blob.digest()),
            "{}: {content}",
            blob.digest()
        );
    }
    Ok(())
}

fn damaged(daemon: &mut Daemon, dir: &Path) -> Outcome {
    let bad = Image::small("bad");
    let layer = bad.layers()[0].blob().path();
    let bundle = Bundle::new()
        .with(&["good:1"], Image::small("good"))
        .with(&["bad:1"], bad);
    let path = dir.join("x.tar");
    bundle.oci().flipped(&layer, 40).write_tar(&path)?;
    let (code, report) = load_json(daemon, &path);
    assert_eq!(
        (code, &report["verdict"]),
        (3, &"partial".into()),
        "{report}"
    );
    assert_eq!(report["refused"][0]["image"], "docker.io/library/bad:1");
    let records = records(daemon)?;
    assert!(records.contains_key("docker.io/library/good:1"));
    assert!(
        !records.contains_key("docker.io/library/bad:1"),
        "{records:?}"
    );
    Ok(())
}

fn shared(daemon: &mut Daemon, dir: &Path) -> Outcome {
    let base = Layer::noise(7, 100_000);
    let image = |seed| {
        Image::new()
            .layer(base.clone())
            .layer(Layer::noise(seed, 1000))
    };
    let bundle = Bundle::new()
        .with(&["x:1"], image(1))
        .with(&["y:1"], image(2));
    let path = dir.join("x.tar");
    bundle.oci().write_tar(&path)?;
    let (code, report) = load_json(daemon, &path);
    assert_eq!(code, 0, "{report}");
    let sent = report["bytes_sent"].as_u64().expect("a number");
    assert!((100_000..200_000).contains(&sent), "{sent}");
    Ok(())
}

/// Layers of several messages, from a plain bundle and from a compressed one.
fn large(daemon: &mut Daemon, dir: &Path) -> Outcome {
    let tar = |seed| {
        let image = Image::new()
            .layer(Layer::noise(seed, 5_000_000))
            .layer(Layer::noise(seed + 1, 3_000_001));
        let name = format!("x:{seed}");
        Bundle::new().with(&[&name], image).oci().tar()
    };
    let (plain, packed) = (dir.join("plain.tar"), dir.join("packed.tar.gz"));
    std::fs::write(&plain, tar(1))?;
    std::fs::write(&packed, gzip(&tar(11)))?;
    for (path, name) in [(&plain, "x:1"), (&packed, "x:11")] {
        let ended = load(daemon, path);
        assert_eq!(ended.code, 0, "{}", ended.stderr);
        let name = format!("docker.io/library/{name}");
        complete(daemon, &name, &records(daemon)?[&name].0)?;
    }
    for digest in daemon.ctr_text(&["content", "ls", "-q"])?.lines() {
        let script = format!(
            "sha256:$({} | sha256sum | cut -c1-64)",
            content_get(daemon, digest)
        );
        let hashed = Command::new("/bin/sh")
            .args(["-c", &format!("echo {script}")])
            .output()?;
        assert_eq!(String::from_utf8_lossy(&hashed.stdout).trim(), digest);
    }
    Ok(())
}

/// A shell command that prints a blob as it lies in the daemon's folder.
fn content_get(daemon: &Daemon, digest: &str) -> String {
    let hex = digest.trim_start_matches("sha256:");
    let blobs = "io.containerd.content.v1.content/blobs/sha256";
    format!("cat {}/{blobs}/{hex}", daemon.root().display())
}

//! `airdock pack` against real daemons: what `ctr` imports, and what is taken from a daemon.

use std::path::Path;

use airdock_testkit::fixture::{Bundle, Image, Layer, Target};
use airdock_testkit::process::{Ended, run};
use airdock_testkit::{Daemon, Outcome, Suite};

use crate::support::{AIRDOCK, complete, load, records, store_of, text};

const NAME: &str = "example.com/packed:1";

pub(crate) fn tests(suite: Suite) -> Suite {
    suite
        .on_each_containerd("ctr_imports_what_was_packed", &[], imported)
        .on_each_containerd("a_containerd_is_a_source", &[], source)
        .on_each_containerd("a_delta_completes_what_a_containerd_has", &[], delta)
}

fn image() -> Image {
    let image = Image::small("x").layer(Layer::noise(1, 3 << 20));
    image.layer(Layer::noise(2, 50_000).gzip())
}

fn pack(out: &Path, from: &str, more: &[&str]) -> Ended {
    let args = [
        "pack",
        "-o",
        text(out),
        "--from",
        from,
        "--platform",
        "linux/amd64",
    ];
    run(AIRDOCK, &[&args[..], more].concat()).expect("airdock starts")
}

fn packed(out: &Path, from: &str, more: &[&str]) {
    let ended = pack(out, from, more);
    assert_eq!(ended.code, 0, "{}{}", ended.stdout, ended.stderr);
}

fn imported(daemon: &mut Daemon, dir: &Path) -> Outcome {
    let (source, out) = (dir.join("in.tar"), dir.join("out.tar"));
    let index = Target::index([image(), Image::small("arm").platform("linux/arm64")]);
    let digest = index.digest();
    Bundle::new()
        .with(&[NAME], index)
        .oci()
        .write_tar(&source)?;
    packed(&out, text(&source), &["--docker"]);
    let args = ["images", "import", "--platform", "linux/amd64", text(&out)];
    daemon.ctr_text(&args)?;
    complete(daemon, NAME, &digest)
}

fn source(daemon: &mut Daemon, dir: &Path) -> Outcome {
    let source = dir.join("in.tar");
    Bundle::new()
        .with(&[NAME], image())
        .oci()
        .write_tar(&source)?;
    let loaded = load(daemon, &source);
    assert_eq!(loaded.code, 0, "{}", loaded.stderr);
    let (from_daemon, from_file) = (dir.join("d.tar"), dir.join("f.tar"));
    packed(&from_daemon, &store_of(daemon), &[NAME]);
    packed(&from_file, text(&source), &[NAME]);
    assert_eq!(std::fs::read(&from_daemon)?, std::fs::read(&from_file)?);
    let ended = pack(
        &dir.join("no.tar"),
        &store_of(daemon),
        &["example.com/gone:1"],
    );
    assert_eq!(ended.code, 1, "{}", ended.stderr);
    assert!(
        ended
            .stderr
            .contains("example.com/gone:1: it is not in containerd:")
    );
    let ended = pack(&dir.join("no.tar"), &store_of(daemon), &[]);
    assert_eq!(ended.code, 2, "{}", ended.stderr);
    Ok(())
}

fn delta(daemon: &mut Daemon, dir: &Path) -> Outcome {
    let next = image().layer(Layer::noise(3, 9_000));
    let digest = Target::from(next.clone()).digest();
    let (base, full, delta) = (dir.join("b.tar"), dir.join("f.tar"), dir.join("d.tar"));
    Bundle::new()
        .with(&[NAME], image())
        .oci()
        .write_tar(&base)?;
    Bundle::new().with(&[NAME], next).oci().write_tar(&full)?;
    packed(&delta, text(&full), &["--base", text(&base)]);
    let alone = load(daemon, &delta);
    assert_eq!(alone.code, 6, "{}", alone.stderr);
    assert!(records(daemon)?.is_empty());
    for path in [&base, &delta] {
        let loaded = load(daemon, path);
        assert_eq!(loaded.code, 0, "{}", loaded.stderr);
    }
    complete(daemon, NAME, &digest)
}

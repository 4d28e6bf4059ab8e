//! Bundles cut, joined and compared, and made for one node.

use std::path::{Path, PathBuf};

use airdock_testkit::fixture::{Bundle, Image, Layer, blob_path};
use airdock_testkit::process::Ended;
use airdock_testkit::{Outcome, Suite, wait};
use serde_json::Value;

use super::delta::{SIZE, version};
use super::{files, packed, write};
use crate::support::{DEADLINE, airdock, airdock_json, names_in, small, started, store_of, text};

pub(crate) fn tests(suite: Suite) -> Suite {
    suite
        .test("a_merge_holds_what_all_hold", &[], merged)
        .test(
            "a_delta_and_its_base_make_a_whole_bundle",
            &[],
            merged_delta,
        )
        .test("a_damaged_base_costs_a_merge_only_its_images", &[], damaged)
        .test("of_two_images_with_one_name_a_merge_tells", &[], conflict)
        .test("parts_fit_and_come_to_the_whole_in_any_order", &[], split)
        .test("a_part_of_an_earlier_split_is_not_left_beside", &[], left)
        .test("a_layer_that_fits_into_no_part_is_named", &[], too_small)
        .test("diff_tells_what_differs_and_exits_like_diff", &[], diff)
        .test(
            "diff_knows_stores_and_directories_of_bundles",
            &[],
            diff_places,
        )
        .test("what_a_node_has_is_left_out", &[], for_node)
}

fn run(args: &[&str]) -> (i32, String) {
    let ended = airdock(args);
    (ended.code, ended.stdout + &ended.stderr)
}

fn done(args: &[&str]) -> String {
    let (code, said) = run(args);
    assert_eq!(code, 0, "{said}");
    said
}

fn load(dir: &Path, paths: &[&Path]) -> (i32, String) {
    let store = store_of(dir);
    let mut args = vec!["load", "--store", &store, "--platform", "linux/amd64"];
    args.extend(paths.iter().map(|path| text(path)));
    run(&args)
}

fn merged(dir: &Path) -> Outcome {
    let shared = Layer::noise(1, 9_000);
    let of = |name: &str| {
        let image = Image::small(name).layer(shared.clone());
        Bundle::new().with(&[name], image)
    };
    let (a, b) = (of("example.com/a:1"), of("example.com/b:1"));
    let a = write(dir, "a.tar", &a.oci())?;
    let b = write(dir, "b.tar", &b.docker())?;
    let (out, other) = (dir.join("ab.tar"), dir.join("ba.tar"));
    done(&["merge", "-o", text(&out), text(&a), text(&b)]);
    done(&["merge", "-o", text(&other), text(&b), text(&a)]);
    assert_eq!(std::fs::read(&out)?, std::fs::read(&other)?);
    let (code, said) = load(dir, &[&out]);
    assert_eq!(code, 0, "{said}");
    let (code, said) = load(&dir.join("each"), &[&a, &b]);
    assert_eq!(code, 0, "{said}");
    assert_eq!(
        names_in(&dir.join("store")),
        names_in(&dir.join("each/store"))
    );
    Ok(())
}

fn merged_delta(dir: &Path) -> Outcome {
    let base = write(dir, "base.tar", &version(1).oci())?;
    let full = write(dir, "full.tar", &version(2).oci())?;
    let delta = dir.join("delta.tar");
    packed(&delta, &full, &["--base", text(&base)]);
    let (whole, alone) = (dir.join("whole.tar"), dir.join("alone.tar"));
    done(&["merge", "-o", text(&whole), text(&delta), text(&base)]);
    let (code, said) = load(dir, &[&whole]);
    assert_eq!(code, 0, "{said}");
    assert_eq!(names_in(&dir.join("store")).len(), 2);
    // What nobody has stays left out.
    done(&["merge", "-o", text(&alone), text(&delta)]);
    assert_eq!(std::fs::read(alone)?, std::fs::read(delta)?);
    Ok(())
}

fn damaged(dir: &Path) -> Outcome {
    let full = write(dir, "full.tar", &version(2).oci())?;
    let base = write(dir, "base.tar", &version(1).oci())?;
    let delta = dir.join("delta.tar");
    packed(&delta, &full, &["--base", text(&base)]);
    let layer = blob_path(Layer::noise(1, SIZE).digest());
    let base = write(dir, "base.tar", &version(1).oci().flipped(&layer, 100))?;
    let other = write(dir, "other.tar", &small("example.com/good:1", "good").oci())?;
    let out = dir.join("out.tar");
    let paths = [&delta, &base, &other].map(|path| text(path));
    let args = [&["merge", "-o", text(&out)], &paths[..]].concat();
    let (code, said) = run(&args);
    assert_eq!(code, 7, "{said}");
    let needing = "needed by example.com/app:2, example.com/app:1";
    assert!(said.contains(needing), "{said}");
    let (code, said) = run(&[&args[..], &["--keep-going"]].concat());
    assert_eq!(code, 3, "{said}");
    assert!(said.contains("packed example.com/good:1 "), "{said}");
    Ok(())
}

fn conflict(dir: &Path) -> Outcome {
    let of = |seed| {
        Bundle::new()
            .with(&["example.com/x:1"], Image::small(seed))
            .oci()
    };
    let (a, b) = (
        write(dir, "a.tar", &of("a"))?,
        write(dir, "b.tar", &of("b"))?,
    );
    let out = dir.join("out.tar");
    let (code, said) = run(&["merge", "-o", text(&out), text(&a), text(&b)]);
    assert_eq!(code, 7, "{said}");
    assert!(said.contains("example.com/x:1: it is sha256:"), "{said}");
    let (code, said) = run(&[
        "merge",
        "-o",
        text(&out),
        text(&a),
        text(&b),
        "--keep-going",
    ]);
    assert_eq!(code, 3, "{said}");
    let (code, _) = run(&["verify", text(&out), "--platform", "linux/amd64"]);
    assert_eq!(code, 0);
    Ok(())
}

/// Three images with a shared layer, one of which is larger than a part.
fn large() -> Bundle {
    let shared = Layer::noise(1, 100_000);
    let big = (10..16).map(|seed| Layer::noise(seed, 100_000));
    let big = big.fold(Image::small("big").layer(shared.clone()), Image::layer);
    let of = |seed: u64| {
        let image = Image::small(&seed.to_string()).layer(shared.clone());
        image.layer(Layer::noise(seed, 200_000))
    };
    Bundle::new()
        .with(&["example.com/a:1"], of(2))
        .with(&["example.com/big:1"], big)
        .with(&["example.com/z:1"], of(3))
}

/// Splits it into files that begin with `part`.
fn cut(dir: &Path, size: &str, own: &[&str]) -> std::io::Result<Ended> {
    let source = write(dir, "in.tar", &large().oci())?;
    let prefix = dir.join("part");
    let args = ["split", text(&source), "-o", text(&prefix)];
    let more = ["--max-size", size, "--output", "json"];
    Ok(airdock(&[&args[..], &more, own].concat()))
}

fn split(dir: &Path) -> Outcome {
    let ended = cut(dir, "500K", &[])?;
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    let report: Value = serde_json::from_str(&ended.stdout)?;
    let parts: Vec<PathBuf> = report["parts"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|part| part["path"].as_str().map(PathBuf::from))
        .collect();
    assert!(parts.len() >= 3, "{report}");
    for part in &parts {
        assert!(std::fs::metadata(part)?.len() <= 500 << 10);
        let (code, said) = run(&["verify", text(part), "--platform", "linux/amd64"]);
        assert_eq!(code, 0, "{said}");
    }
    let layers = |report: &Value| {
        report["parts"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|part| part["layers"].as_u64())
            .sum::<u64>()
    };
    // Three texts, the shared one, two of 200 kB and six of 100.
    assert_eq!(layers(&report), 12, "{report}");
    let mut order: Vec<&Path> = parts.iter().map(PathBuf::as_path).collect();
    for round in 0..order.len() {
        order.rotate_left(1);
        let dir = dir.join(round.to_string());
        let (code, said) = load(&dir, &order);
        assert_eq!(code, 0, "{said}");
        assert_eq!(names_in(&dir.join("store")).len(), 3);
    }
    watched(&dir.join("agent"), &order)
}

/// The agent waits until it has all parts, whichever comes last.
fn watched(dir: &Path, parts: &[&Path]) -> Outcome {
    let mut agent = started(dir, &[])?;
    for part in parts {
        let name = part.file_name().expect("a part has a name");
        std::fs::rename(part, dir.join("bundles").join(name))?;
    }
    wait::until("all images", DEADLINE, || {
        (names_in(&dir.join("store")).len() == 3).then_some(())
    })?;
    agent.kill()?;
    Ok(())
}

fn left(dir: &Path) -> Outcome {
    assert_eq!(cut(dir, "500K", &[])?.code, 0);
    let before = files(dir)?;
    let Ended { code, stderr, .. } = cut(dir, "5M", &["--force"])?;
    assert_eq!(code, 2, "{stderr}");
    let words = ["part-2.tar", "earlier split"];
    assert!(words.iter().all(|it| stderr.contains(it)), "{stderr}");
    assert_eq!(files(dir)?, before);
    Ok(())
}

fn too_small(dir: &Path) -> Outcome {
    let Ended { code, stderr, .. } = cut(dir, "150K", &[])?;
    assert_eq!(code, 2, "{stderr}");
    assert!(stderr.contains("doesn't fit into a part"), "{stderr}");
    assert_eq!(files(dir)?, ["in.tar"]);
    Ok(())
}

fn diff(dir: &Path) -> Outcome {
    let of = |name: &str, seed: &str| Bundle::new().with(&[name], Image::small(seed)).oci();
    let a = of("example.com/x:1", "a").joined(of("example.com/x:1", "a"));
    let a = write(dir, "a.tar", &a)?;
    let b = write(dir, "b.tar", &of("example.com/x:1", "b"))?;
    let c = write(dir, "c.tar", &of("example.com/y:1", "b"))?;
    let diff = |a: &Path, b: &Path| run(&["diff", text(a), text(b), "--platform", "linux/amd64"]);
    let copy = dir.join("copy.tar");
    packed(&copy, &a, &[]);
    assert_eq!(diff(&a, &copy), (0, String::new()));
    let (code, said) = diff(&a, &b);
    assert_eq!(code, 1, "{said}");
    assert!(said.starts_with("~ example.com/x:1 sha256:"), "{said}");
    assert!(
        said.contains("3 blobs with ") && said.contains(" new\n"),
        "{said}"
    );
    let (code, said) = diff(&b, &c);
    assert_eq!(code, 1);
    let lines: Vec<&str> = said.lines().collect();
    assert!(
        lines[0].starts_with("- example.com/x:1 ") && lines[1].starts_with("+ example.com/y:1 ")
    );
    assert_eq!(lines.len(), 2, "{said}");
    let (code, said) = diff(&a, &dir.join("gone.tar"));
    assert_eq!(code, 8, "{said}");
    let (code, report) = airdock_json(&["diff", text(&a), text(&b)]);
    assert_eq!(
        (code, report["new"]["digests"].as_array().map(Vec::len)),
        (1, Some(3))
    );
    Ok(())
}

fn diff_places(dir: &Path) -> Outcome {
    let bundles = dir.join("bundles");
    std::fs::create_dir(&bundles)?;
    for name in ["a", "b"] {
        let bundle = Bundle::new().with(&[&format!("example.com/{name}:1")], Image::small(name));
        bundle
            .oci()
            .write_tar(&bundles.join(format!("{name}.tar")))?;
    }
    let (code, said) = load(dir, &[&bundles.join("a.tar")]);
    assert_eq!(code, 0, "{said}");
    let store = store_of(dir);
    let (code, said) = run(&["diff", "store:", text(&bundles), "--store", &store]);
    assert_eq!(code, 1, "{said}");
    assert!(
        said.starts_with("+ example.com/b:1 ") && !said.contains("example.com/a"),
        "{said}"
    );
    let (code, said) = load(dir, &[&bundles.join("b.tar")]);
    assert_eq!(code, 0, "{said}");
    assert_eq!(
        run(&["diff", "store:", text(&bundles), "--store", &store]),
        (0, String::new())
    );
    Ok(())
}

fn for_node(dir: &Path) -> Outcome {
    let node = dir.join("node");
    let mut agent = started(&node, &["--socket", text(&dir.join("a.sock"))])?;
    let base = write(dir, "base.tar", &version(1).oci())?;
    let full = write(dir, "full.tar", &version(2).oci())?;
    std::fs::copy(&base, node.join("bundles/base.tar"))?;
    wait::until("the base", DEADLINE, || {
        (names_in(&node.join("store")).len() == 1).then_some(())
    })?;
    let status = dir.join("status.json");
    let socket = dir.join("a.sock");
    wait::until("the status", DEADLINE, || {
        let args = ["status", "--socket", text(&socket), "--output", "json"];
        let said = airdock(&args).stdout;
        std::fs::write(&status, &said).ok()?;
        said.contains("\"imported\"").then_some(())
    })?;
    let delta = dir.join("delta.tar");
    let more = [
        "--from",
        text(&base),
        "example.com/app:2",
        "--for-node",
        text(&status),
    ];
    packed(&delta, &full, &more);
    assert!(std::fs::metadata(&delta)?.len() * 20 < std::fs::metadata(&full)?.len());
    std::fs::rename(&delta, node.join("bundles/delta.tar"))?;
    wait::until("the next version", DEADLINE, || {
        (names_in(&node.join("store")).len() == 2).then_some(())
    })?;
    agent.kill()?;
    Ok(())
}

//! `pack`: what it writes, what others read of it, and what it says when it can't.

mod delta;
mod engines;
mod parts;
mod readers;

use std::path::{Path, PathBuf};

use airdock_testkit::fixture::{
    Bundle, Image, Layer, Target, Tree, blob_path, gzip, media_type, sha256,
};
use airdock_testkit::process::Ended;
use airdock_testkit::{Need, Outcome, Suite, mount::Mount};

use crate::support::{airdock, airdock_json, names_in, small, store_of, text};

pub(crate) fn tests(suite: Suite) -> Suite {
    let suite = suite
        .test("two_runs_give_identical_bytes", &[], identical)
        .test("what_is_packed_is_loaded_with_the_same_digests", &[], round)
        .test(
            "an_index_keeps_its_digest_and_the_chosen_platforms",
            &[],
            platforms,
        )
        .test("attestations_of_what_is_chosen_come_along", &[], attested)
        .test(
            "a_name_with_tag_and_digest_is_checked_and_gives_both",
            &[],
            both,
        )
        .test(
            "a_missing_image_is_named_and_nothing_is_written",
            &[],
            missing,
        )
        .test("keep_going_packs_the_rest_and_says_so", &[], keep_going)
        .test("a_damaged_blob_is_named_with_its_images", &[], damaged)
        .test("an_existing_file_is_replaced_only_when_told", &[], existing)
        .test("a_full_disk_leaves_nothing_behind", &[Need::Root], full)
        .test("names_come_from_lists_and_manifests", &[], lists)
        .test("images_of_prints_names_sorted_and_once", &[], images_of);
    engines::tests(readers::tests(parts::tests(delta::tests(suite))))
}

pub(crate) fn write(dir: &Path, name: &str, tree: &Tree) -> std::io::Result<PathBuf> {
    let path = dir.join(name);
    tree.write_tar(&path)?;
    Ok(path)
}

/// Packs for linux/amd64 from one source.
pub(crate) fn pack(out: &Path, from: &Path, more: &[&str]) -> Ended {
    let args = ["pack", "-o", text(out), "--from", text(from)];
    let platform = ["--platform", "linux/amd64"];
    let platform = match more.contains(&"--platform") || more.contains(&"--all-platforms") {
        true => &[][..],
        false => &platform[..],
    };
    airdock(&[&args[..], platform, more].concat())
}

pub(crate) fn packed(out: &Path, from: &Path, more: &[&str]) {
    let ended = pack(out, from, more);
    assert_eq!(ended.code, 0, "{}{}", ended.stdout, ended.stderr);
}

fn images() -> Bundle {
    let shared = Layer::noise(1, 20_000).gzip();
    Bundle::new()
        .with(
            &["example.com/b:1", "example.com/b:2"],
            Image::small("b").layer(shared.clone()),
        )
        .with(&["example.com/a:1"], Image::small("a").layer(shared))
}

fn identical(dir: &Path) -> Outcome {
    let plain = write(dir, "in.tar", &images().oci())?;
    let zipped = dir.join("in.tar.gz");
    std::fs::write(&zipped, gzip(&images().oci().tar()))?;
    let layout = dir.join("layout");
    images().oci().write_dir(&layout)?;
    for compress in ["none", "zstd"] {
        let mut written = Vec::new();
        for (n, from) in [&plain, &plain, &zipped, &layout].into_iter().enumerate() {
            let out = dir.join(format!("{compress}{n}"));
            packed(&out, from, &["--compress", compress]);
            written.push(std::fs::read(out)?);
        }
        assert!(
            written.windows(2).all(|pair| pair[0] == pair[1]),
            "{compress}"
        );
    }
    let again = dir.join("again.tar");
    packed(&again, &dir.join("zstd0"), &[]);
    assert_eq!(std::fs::read(again)?, std::fs::read(dir.join("none0"))?);
    Ok(())
}

fn round(dir: &Path) -> Outcome {
    let from = [
        ("oci", images().oci().tar()),
        ("docker", images().docker().tar()),
    ];
    for (kind, bytes) in from {
        let (source, out) = (dir.join(kind), dir.join(format!("{kind}.out")));
        std::fs::write(&source, bytes)?;
        packed(&out, &source, &["--docker", "--sha256"]);
        let loaded = |path: &Path, store: &str| {
            let store = dir.join(format!("{kind}-{store}"));
            let to = format!("oci:{}", text(&store));
            let ended = airdock(&[
                "load",
                text(path),
                "--store",
                &to,
                "--platform",
                "linux/amd64",
            ]);
            assert_eq!(ended.code, 0, "{}{}", ended.stdout, ended.stderr);
            names_in(&store)
        };
        assert_eq!(loaded(&out, "packed"), loaded(&source, "source"), "{kind}");
        let sum = std::fs::read_to_string(dir.join(format!("{kind}.out.sha256")))?;
        let found = sha256(&std::fs::read(&out)?);
        let digits = found.trim_start_matches("sha256:");
        assert_eq!(sum, format!("{digits}  {kind}.out\n"));
    }
    Ok(())
}

fn multi() -> (Bundle, String) {
    let of = |platform: &str| Image::small(platform).platform(platform);
    let index = Target::index(["linux/amd64", "linux/arm64", "linux/s390x"].map(of));
    let digest = index.digest();
    (Bundle::new().with(&["example.com/m:1"], index), digest)
}

fn platforms(dir: &Path) -> Outcome {
    let (bundle, digest) = multi();
    let source = write(dir, "m.tar", &bundle.oci())?;
    for (more, layers) in [
        (&["--platform", "linux/amd64"][..], 1),
        (&["--platform", "linux/amd64,linux/arm64"], 2),
        (
            &["--platform", "linux/s390x", "--platform", "linux/arm64"],
            2,
        ),
        (&["--all-platforms"], 3),
    ] {
        let out = dir.join("out.tar");
        let more = [more, &["--force", "--output", "json"]].concat();
        let ended = pack(&out, &source, &more);
        let report: serde_json::Value = serde_json::from_str(&ended.stdout)?;
        assert_eq!(report["images"][0]["digest"], digest.as_str(), "{report}");
        assert_eq!(report["layers"], layers, "{more:?}");
    }
    let ended = pack(
        &dir.join("no.tar"),
        &source,
        &["--platform", "linux/riscv64"],
    );
    assert_eq!(ended.code, 1);
    assert!(
        ended
            .stderr
            .contains("no image for linux/riscv64, only for linux/amd64")
    );
    assert!(!dir.join("no.tar").exists());
    Ok(())
}

/// An index of two platforms, with what a build tool states about each.
fn attested_tree() -> (Tree, [String; 2]) {
    let images = ["linux/amd64", "linux/arm64"].map(|it| Image::small(it).platform(it));
    let mut tree = images.iter().fold(Tree::new(), |tree, image| {
        let blobs = image.blobs();
        blobs
            .iter()
            .fold(tree, |tree, blob| tree.file(&blob.path(), &blob.content))
    });
    let mut manifests = Vec::new();
    let mut statements = Vec::new();
    for image in &images {
        let subject = image.manifest().descriptor;
        let text = format!("a statement about {}", subject.digest);
        let statement = Image::new().layer(Layer::raw(text.into_bytes()));
        let blobs = statement.blobs();
        tree = blobs
            .iter()
            .fold(tree, |tree, blob| tree.file(&blob.path(), &blob.content));
        let manifest = statement.manifest();
        statements.push(statement.layers()[0].digest().to_owned());
        let platform = if manifests.is_empty() {
            "amd64"
        } else {
            "arm64"
        };
        manifests.push(serde_json::json!({
            "mediaType": media_type::MANIFEST, "digest": subject.digest,
            "size": image.manifest().content.len(),
            "platform": {"os": "linux", "architecture": platform},
        }));
        manifests.push(serde_json::json!({
            "mediaType": media_type::MANIFEST, "digest": manifest.descriptor.digest,
            "size": manifest.content.len(),
            "platform": {"os": "unknown", "architecture": "unknown"},
            "annotations": {"vnd.docker.reference.type": "attestation-manifest",
                "vnd.docker.reference.digest": subject.digest},
        }));
    }
    let index = |manifests: &serde_json::Value| {
        let index = serde_json::json!({"schemaVersion": 2, "mediaType": media_type::INDEX,
            "manifests": manifests});
        index.to_string().into_bytes()
    };
    let index_bytes = index(&manifests.into());
    let digest = sha256(&index_bytes);
    let top = index(
        &serde_json::json!([{"mediaType": media_type::INDEX, "digest": digest,
        "size": index_bytes.len(),
        "annotations": {"io.containerd.image.name": "example.com/m:1"}}]),
    );
    let tree = tree
        .file(&blob_path(&digest), &index_bytes)
        .file("oci-layout", br#"{"imageLayoutVersion":"1.0.0"}"#)
        .file("index.json", &top);
    let statements = statements.try_into().expect("two of them");
    (tree, statements)
}

fn attested(dir: &Path) -> Outcome {
    let (tree, [ours, foreign]) = attested_tree();
    let source = write(dir, "in.tar", &tree)?;
    let out = dir.join("out.tar");
    packed(&out, &source, &[]);
    let written = std::fs::read(&out)?;
    let holds = |digest: &str| String::from_utf8_lossy(&written).contains(&blob_path(digest));
    assert_eq!((holds(&ours), holds(&foreign)), (true, false));
    let (code, report) = airdock_json(&["inspect", text(&out), "--platform", "linux/amd64"]);
    assert_eq!(code, 0, "{report}");
    Ok(())
}

fn both(dir: &Path) -> Outcome {
    let source = write(dir, "in.tar", &small("example.com/x:1", "x").oci())?;
    let digest = crate::support::digest_of("x");
    let out = dir.join("out.tar");
    let name = format!("example.com/x:1@{digest}");
    packed(&out, &source, &[&name]);
    let bytes = std::fs::read(&out)?;
    let index = String::from_utf8_lossy(&bytes);
    for name in [
        "example.com/x:1".to_owned(),
        format!("example.com/x@{digest}"),
    ] {
        let entry = format!(r#""io.containerd.image.name":"{name}""#);
        assert!(index.contains(&entry), "{entry}");
    }
    let other = crate::support::digest_of("y");
    let ended = pack(
        &dir.join("no.tar"),
        &source,
        &[&format!("example.com/x:1@{other}")],
    );
    assert_eq!(ended.code, 1);
    assert!(
        ended.stderr.contains("not for the digest in its name"),
        "{}",
        ended.stderr
    );
    Ok(())
}

/// What stands in a folder.
pub(crate) fn files(dir: &Path) -> std::io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(dir)? {
        names.push(entry?.file_name().to_string_lossy().into_owned());
    }
    names.sort();
    Ok(names)
}

fn missing(dir: &Path) -> Outcome {
    let source = write(dir, "in.tar", &images().oci())?;
    let ended = pack(
        &dir.join("out.tar"),
        &source,
        &["example.com/a:1", "example.com/gone:1"],
    );
    assert_eq!(ended.code, 1);
    assert!(
        ended.stderr.contains("example.com/gone:1: it is not in "),
        "{}",
        ended.stderr
    );
    assert_eq!(files(dir)?, ["in.tar"]);
    Ok(())
}

fn keep_going(dir: &Path) -> Outcome {
    let source = write(dir, "in.tar", &images().oci())?;
    let (out, store) = (dir.join("out.tar"), store_of(dir));
    let ended = pack(
        &out,
        &source,
        &["example.com/a:1", "example.com/gone:1", "--keep-going"],
    );
    assert_eq!(ended.code, 3, "{}", ended.stderr);
    assert!(
        ended
            .stderr
            .contains("failed example.com/gone:1: it is not in ")
    );
    assert!(ended.stdout.contains(": partial: 1 image"));
    let loaded = airdock(&[
        "load",
        text(&out),
        "--store",
        &store,
        "--platform",
        "linux/amd64",
    ]);
    assert_eq!(loaded.code, 0);
    Ok(())
}

fn damaged(dir: &Path) -> Outcome {
    let bad = Layer::noise(7, 9_000);
    let path = blob_path(bad.digest());
    let tree = Bundle::new()
        .with(&["example.com/bad:1"], Image::small("bad").layer(bad))
        .with(&["example.com/good:1"], Image::small("good"))
        .oci();
    let source = write(dir, "in.tar", &tree.flipped(&path, 100))?;
    let out = dir.join("out.tar");
    let ended = pack(&out, &source, &[]);
    assert_eq!(ended.code, 7, "{}", ended.stderr);
    assert!(
        ended.stderr.contains("is damaged") && ended.stderr.contains("needed by example.com/bad:1")
    );
    assert_eq!(files(dir)?, ["in.tar"]);
    let ended = pack(&out, &source, &["--keep-going"]);
    assert_eq!(ended.code, 3, "{}", ended.stderr);
    assert!(ended.stdout.contains("packed example.com/good:1 "));
    assert_eq!(files(dir)?, ["in.tar", "out.tar"]);
    Ok(())
}

fn existing(dir: &Path) -> Outcome {
    let source = write(dir, "in.tar", &images().oci())?;
    let out = dir.join("out.tar");
    std::fs::write(&out, "mine")?;
    let ended = pack(&out, &source, &[]);
    assert_eq!(ended.code, 2);
    assert!(
        ended.stderr.contains("is there already"),
        "{}",
        ended.stderr
    );
    assert_eq!(std::fs::read(&out)?, b"mine");
    packed(&out, &source, &["--force"]);
    assert_ne!(std::fs::read(&out)?, b"mine");
    Ok(())
}

fn full(dir: &Path) -> Outcome {
    let big = Bundle::new().with(&["x:1"], Image::small("x").layer(Layer::noise(3, 3 << 20)));
    let source = write(dir, "in.tar", &big.oci())?;
    let point = dir.join("small");
    std::fs::create_dir(&point)?;
    let small = Mount::tmpfs(&point, 1 << 20)?;
    for compress in ["none", "zstd"] {
        let ended = pack(
            &small.point().join("out.tar"),
            &source,
            &["--compress", compress],
        );
        assert_eq!(ended.code, 10, "{compress}: {}", ended.stderr);
        assert!(ended.stderr.contains("no space for"), "{}", ended.stderr);
        assert_eq!(files(small.point())?, Vec::<String>::new());
    }
    Ok(())
}

fn lists(dir: &Path) -> Outcome {
    let source = write(dir, "in.tar", &images().oci())?;
    let (list, manifest) = (dir.join("list.txt"), dir.join("pod.yaml"));
    std::fs::write(&list, "# wanted\nexample.com/a:1 # this\n")?;
    std::fs::write(
        &manifest,
        "kind: Pod\nspec: {containers: [{image: 'example.com/b:2'}]}\n",
    )?;
    let out = dir.join("out.tar");
    packed(
        &out,
        &source,
        &["--list", text(&list), "--list", text(&manifest)],
    );
    let (_, report) = airdock_json(&["inspect", text(&out), "--platform", "linux/amd64"]);
    let names: Vec<&str> = report["images"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|image| image["names"][0].as_str())
        .collect();
    assert_eq!(names, ["example.com/a:1", "example.com/b:2"]);
    Ok(())
}

fn images_of(dir: &Path) -> Outcome {
    let (a, b) = (dir.join("a.txt"), dir.join("b.yaml"));
    std::fs::write(&a, "busybox\nexample.com/z:1\n")?;
    std::fs::write(
        &b,
        "kind: Pod\nspec: {initContainers: [{image: busybox:latest}, {image: a.example/x}]}\n",
    )?;
    let ended = airdock(&["images-of", text(&a), text(&b)]);
    assert_eq!(
        ended.stdout,
        "a.example/x:latest\ndocker.io/library/busybox:latest\nexample.com/z:1\n"
    );
    std::fs::write(&a, "Bad Name\n: [")?;
    assert_eq!(airdock(&["images-of", text(&a)]).code, 1);
    Ok(())
}

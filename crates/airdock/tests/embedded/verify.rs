//! `verify`: what it says of whole bundles, and the status it exits with.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use airdock_testkit::fixture::{Blob, Bundle, Image, Layer, Target, Tree, gzip, media_type};
use airdock_testkit::{Outcome, Suite, corpus};
use serde_json::{Value, json};

use crate::support::{airdock, airdock_json, small, text};

pub(crate) fn tests(suite: Suite) -> Suite {
    suite
        .test("a_sound_bundle_is_read_whole", &[], sound)
        .test("damage_of_a_foreign_platform_is_found", &[], foreign)
        .test("a_wrong_diff_id_is_found", &[], diff_id)
        .test("a_cut_layer_is_told_apart_from_a_damaged_one", &[], cut)
        .test("warnings_leave_the_status_alone", &[], warnings)
        .test("bundles_that_hold_all_names_lack_nothing", &[], complete)
        .test("a_lacking_name_has_a_status_of_its_own", &[], lacking)
        .test("a_bad_line_of_the_list_is_named", &[], bad_line)
        .test("json_has_the_documented_keys", &[], keys)
        .test("every_corpus_row_gets_its_verdict", &[], corpus_rows)
        .test("several_bundles_report_the_worst_of_them", &[], worst)
        .test("what_verify_shows_is_escaped", &[], escaped)
}

fn write(dir: &Path, name: &str, tree: &Tree) -> std::io::Result<PathBuf> {
    let path = dir.join(name);
    tree.write_tar(&path)?;
    Ok(path)
}

/// Status, and the only bundle of the report.
fn verify(path: &Path) -> (i32, Value) {
    let (code, report) = airdock_json(&["verify", text(path), "--platform", "linux/amd64"]);
    (code, report["bundles"][0].clone())
}

/// The lines that people get.
fn lines(path: &Path) -> Vec<String> {
    let ended = airdock(&["verify", text(path), "--platform", "linux/amd64"]);
    ended.stdout.lines().map(str::to_owned).collect()
}

fn sound(dir: &Path) -> Outcome {
    let image = Image::small("a").layer(Layer::noise(1, 100_000).gzip());
    let tree = Bundle::new().with(&["x:1"], image).oci();
    let path = write(dir, "x.tar", &tree)?;
    let (code, bundle) = verify(&path);
    assert_eq!((code, &bundle["verdict"]), (0, &json!("ok")), "{bundle}");
    assert_eq!(bundle["blobs_checked"], 4);
    assert!(bundle["bytes_unpacked"].as_u64() > Some(100_000));
    let lines = lines(&path);
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert!(lines[0].contains("x.tar: ok, 1 image, 4 blobs with "));
    Ok(())
}

fn foreign(dir: &Path) -> Outcome {
    let elsewhere = Image::small("elsewhere").platform("linux/s390x");
    let blob = elsewhere.layers()[0].blob().path();
    let target = Target::index([Image::small("here"), elsewhere]);
    let tree = Bundle::new().with(&["x:1"], target).oci();
    for (name, tree) in [("x.tar", tree.clone()), ("y.tar.gz", tree)] {
        let path = dir.join(name);
        let bytes = tree.flipped(&blob, 3).tar();
        let bytes = if name.ends_with(".gz") {
            gzip(&bytes)
        } else {
            bytes
        };
        std::fs::write(&path, bytes)?;
        let (code, bundle) = verify(&path);
        assert_eq!(code, 7, "{bundle}");
        let finding = &bundle["images"][0]["findings"][0];
        assert_eq!(finding["kind"], "differs");
        assert_eq!(finding["platform"], "linux/s390x");
        assert!(lines(&path)[1].contains("library/x:1: differs: linux/s390x: the content of"));
        // This node can import it nevertheless.
        let inspected = airdock(&["inspect", text(&path), "--platform", "linux/amd64"]);
        assert_eq!(inspected.code, 0, "{}", inspected.stdout);
    }
    Ok(())
}

fn diff_id(dir: &Path) -> Outcome {
    let other = json!([Layer::noise(2, 500).diff_id()]);
    let image = Image::new().layer(Layer::noise(1, 500).gzip());
    let image = image.with_config("/rootfs/diff_ids", other);
    let path = write(dir, "x.tar", &Bundle::new().with(&["x:1"], image).oci())?;
    let (code, bundle) = verify(&path);
    assert_eq!(code, 7, "{bundle}");
    assert_eq!(
        bundle["images"][0]["findings"][0]["kind"],
        "diff-id-differs"
    );
    assert!(
        bundle["reason"]
            .as_str()
            .is_some_and(|it| it.contains("unpacks to sha256:"))
    );
    Ok(())
}

fn cut(dir: &Path) -> Outcome {
    let content = Layer::noise(1, 5000);
    let mut stored = gzip(&content.blob().content);
    stored.truncate(3000);
    let blob = Blob::new(media_type::LAYER_GZIP, stored);
    let image = Image::new()
        .layer(content)
        .with_manifest("/layers/0", serde_json::to_value(&blob.descriptor)?);
    let tree = Bundle::new().with(&["x:1"], image).oci();
    let tree = tree.file(&blob.path(), &blob.content);
    for (name, tree, kind) in [
        ("cut.tar", tree.clone(), "cut"),
        (
            "short.tar",
            tree.clone().shortened(&blob.path(), 100),
            "cut",
        ),
        ("flipped.tar", tree.flipped(&blob.path(), 100), "differs"),
    ] {
        let path = write(dir, name, &tree)?;
        let (code, bundle) = verify(&path);
        assert_eq!(code, 7, "{bundle}");
        assert_eq!(bundle["images"][0]["findings"][0]["kind"], kind, "{bundle}");
        assert!(lines(&path)[1].contains(&format!("x:1: {kind}: linux/amd64: ")));
    }
    Ok(())
}

fn warnings(dir: &Path) -> Outcome {
    let image = Image::small("a")
        .with_config("/config/Labels", json!({"io.cri-containerd.x": "y"}))
        .with_config("/config/Volumes", json!({"../a": {}}))
        .with_config("/config/User", json!("2147483648"));
    let path = write(dir, "x.tar", &Bundle::new().with(&["x:1"], image).oci())?;
    let (code, bundle) = verify(&path);
    assert_eq!((code, &bundle["verdict"]), (0, &json!("ok")), "{bundle}");
    let warnings = bundle["images"][0]["warnings"].as_array().map(Vec::len);
    assert_eq!(warnings, Some(3), "{bundle}");
    let warned = lines(&path)
        .into_iter()
        .filter(|line| line.contains("x:1: warning: "));
    assert_eq!(warned.count(), 3);
    Ok(())
}

fn complete(dir: &Path) -> Outcome {
    let (a, b) = (
        write(dir, "a.tar", &small("a:1", "a").oci())?,
        write(dir, "b.tar", &small("example.com/b:1", "b").docker())?,
    );
    let list = dir.join("names");
    std::fs::write(&list, "# ours\r\n\r\na:1\r\nexample.com/b:1\r\n")?;
    let args = ["verify", text(&a), text(&b), "--require", text(&list)];
    let (code, report) = airdock_json(&args);
    assert_eq!((code, &report["required"]), (0, &json!(2)), "{report}");
    assert_eq!(report["lacking"], json!([]));
    let ended = airdock(&args);
    assert!(ended.stdout.ends_with("nothing is lacking of 2 names\n"));
    Ok(())
}

fn lacking(dir: &Path) -> Outcome {
    let image = Image::small("bad");
    let bad = Bundle::new().with(&["bad:1"], image.clone()).oci();
    let bad = bad.flipped(&image.layers()[0].blob().path(), 3);
    let paths = [
        write(dir, "a.tar", &small("a:1", "a").oci())?,
        write(dir, "bad.tar", &bad)?,
    ];
    let list = dir.join("names");
    std::fs::write(&list, "a:1\nbad:1\nb:1")?;
    let [a, bad] = paths.each_ref().map(|path| text(path));
    let (code, report) = airdock_json(&["verify", a, bad, "--require", text(&list)]);
    assert_eq!((code, &report["required"]), (11, &json!(3)), "{report}");
    let lacking = &report["lacking"];
    assert_eq!(lacking[0]["name"], "docker.io/library/b:1");
    assert_eq!(lacking[0]["reason"], Value::Null);
    assert_eq!(lacking[1]["name"], "docker.io/library/bad:1");
    let reason = lacking[1]["reason"].as_str().unwrap_or_default();
    assert!(reason.contains("is damaged"), "{report}");
    let ended = airdock(&["verify", a, "--require", text(&list)]);
    let line = "lacking docker.io/library/b:1: no image has that name";
    assert!(ended.stdout.contains(line), "{}", ended.stdout);
    assert_eq!(ended.code, 11);
    Ok(())
}

fn bad_line(dir: &Path) -> Outcome {
    let path = write(dir, "a.tar", &small("a:1", "a").oci())?;
    let list = dir.join("names");
    std::fs::write(&list, "a:1\n\nUpper/Case:1\n")?;
    for (list, words) in [
        (&list, "names: line 3, \"Upper/Case:1\", is no image name"),
        (&dir.join("none"), "none: No such file"),
    ] {
        let ended = airdock(&["verify", text(&path), "--require", text(list)]);
        assert_eq!((ended.code, ended.stdout.as_str()), (1, ""));
        assert!(ended.stderr.contains(words), "{}", ended.stderr);
    }
    Ok(())
}

fn keys(dir: &Path) -> Outcome {
    let of = |value: &Value| -> BTreeSet<String> {
        let keys = value.as_object().map(|object| object.keys().cloned());
        keys.into_iter().flatten().collect()
    };
    let set = |keys: &str| -> BTreeSet<String> { keys.split(' ').map(str::to_owned).collect() };
    let image = Image::small("a");
    let tree = Bundle::new().with(&["x:1"], image.clone()).oci();
    let tree = tree.flipped(&image.layers()[0].blob().path(), 0);
    let path = write(dir, "x.tar", &tree)?;
    let list = dir.join("names");
    std::fs::write(&list, "y:1")?;
    let (_, report) = airdock_json(&["verify", text(&path), "--require", text(&list)]);
    let (bundle, image) = (&report["bundles"][0], &report["bundles"][0]["images"][0]);
    assert_eq!(of(&report), set("bundles lacking required"));
    assert_eq!(
        of(bundle),
        set(
            "blobs_checked bytes_hashed bytes_unpacked compression findings findings_not_listed \
             format id images left_out path reason verdict"
        )
    );
    assert_eq!(
        of(image),
        set("digest findings names platforms reason verdict warnings")
    );
    assert_eq!(of(&image["findings"][0]), set("kind message platform"));
    assert_eq!(of(&report["lacking"][0]), set("name reason"));
    Ok(())
}

fn corpus_rows(_: &Path) -> Outcome {
    for row in corpus::rows()? {
        let (_, bundle) = verify(&row.path());
        assert_eq!(bundle["verdict"], row.verdict, "{}: {bundle}", row.file);
        assert_eq!(
            bundle["reason"].is_null(),
            row.is_ok(),
            "{}: {bundle}",
            row.file
        );
    }
    Ok(())
}

fn worst(dir: &Path) -> Outcome {
    let tree = small("x:1", "a").oci();
    let good = write(dir, "good.tar", &tree)?;
    let cut = dir.join("cut.tar");
    std::fs::write(&cut, tree.tar_without_end())?;
    let missing = dir.join("missing.tar");
    let (code, report) = airdock_json(&["verify", text(&cut), text(&good)]);
    assert_eq!(code, 6, "{report}");
    let (code, report) = airdock_json(&["verify", text(&cut), text(&missing), text(&good)]);
    assert_eq!(code, 8, "{report}");
    let verdicts = report["bundles"].as_array().into_iter().flatten();
    let verdicts: Vec<&Value> = verdicts.map(|bundle| &bundle["verdict"]).collect();
    assert_eq!(verdicts, ["incomplete", "failed", "ok"]);
    Ok(())
}

fn escaped(dir: &Path) -> Outcome {
    let image = Image::small("a").with_config(
        "/config/Labels",
        json!({"containerd.io/\u{1b}[31m\u{202e}": ""}),
    );
    let tree = Bundle::new().with(&["x\u{1b}[31m\u{202e}:1"], image).oci();
    let path = write(dir, "x.tar", &tree)?;
    for format in ["table", "json"] {
        let ended = airdock(&["verify", text(&path), "--output", format]);
        let shown = format!("{}{}", ended.stdout, ended.stderr);
        assert!(!shown.contains(['\u{1b}', '\u{202e}']), "{shown:?}");
        assert!(shown.contains("warning") && ended.code == 7, "{shown}");
    }
    Ok(())
}

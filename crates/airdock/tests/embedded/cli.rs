//! What the commands say, and the status they exit with.

use std::path::Path;

use airdock_testkit::fixture::{Bundle, Image, Layer, gzip};
use airdock_testkit::{Need, Outcome, Suite, corpus};

use crate::support::{AIRDOCK, airdock, airdock_json, digest_of, names_in, small, store_of, text};

pub(crate) fn tests(suite: Suite) -> Suite {
    suite
        .test(
            "every_corpus_row_gets_its_verdict_and_names",
            &[],
            corpus_rows,
        )
        .test(
            "no_bad_corpus_row_names_anything_in_the_store",
            &[],
            bad_rows,
        )
        .test("a_load_names_what_the_bundle_names", &[], load_names)
        .test("a_second_load_sends_nothing", &[], second_load)
        .test("standard_input_is_a_bundle", &[], standard_input)
        .test("an_unnamed_image_can_be_given_a_name", &[], given_name)
        .test(
            "load_and_verify_show_a_bar_on_a_terminal",
            &[Need::Program("script")],
            bar,
        )
        .test("several_bundles_report_the_worst", &[], worst)
        .test("a_missing_file_is_told_apart_from_a_bad_one", &[], missing)
        .test("without_a_socket_the_flag_to_type_is_told", &[], no_store)
        .test(
            "a_folder_of_other_things_is_not_turned_into_a_store",
            &[],
            foreign,
        )
        .test(
            "nothing_from_an_archive_reaches_the_terminal_raw",
            &[],
            escaped,
        )
}

fn corpus_rows(_: &Path) -> Outcome {
    for row in corpus::rows()? {
        let path = row.path();
        let args = ["inspect", text(&path), "--platform", "linux/amd64"];
        let (_, report) = airdock_json(&args);
        assert_eq!(report["verdict"], row.verdict, "{}: {report}", row.file);
        if row.is_ok() {
            let images = report["images"].as_array().expect("images are listed");
            let mut names: Vec<&str> = images
                .iter()
                .flat_map(|image| image["names"].as_array().expect("names are listed"))
                .filter_map(|name| name.as_str())
                .collect();
            names.sort_unstable();
            let mut expected: Vec<&str> = row.names.iter().map(String::as_str).collect();
            expected.sort_unstable();
            assert_eq!(names, expected, "{}", row.file);
        } else {
            assert!(report["reason"].is_string(), "{}: {report}", row.file);
        }
    }
    Ok(())
}

fn bad_rows(dir: &Path) -> Outcome {
    let store = store_of(dir);
    for row in corpus::rows()?.into_iter().filter(|row| !row.is_ok()) {
        let path = row.path();
        let args = ["load", text(&path), "--store", &store];
        let ended = airdock(&[&args[..], &["--platform", "linux/amd64"]].concat());
        assert_ne!(ended.code, 0, "{}: {}", row.file, ended.stdout);
        let names = names_in(&dir.join("store"));
        assert!(names.is_empty(), "{}: {names:?}", row.file);
    }
    Ok(())
}

fn load_names(dir: &Path) -> Outcome {
    let bundle = dir.join("x.tar");
    small("x:1", "one").oci().write_tar(&bundle)?;
    let ended = airdock(&["load", text(&bundle), "--store", &store_of(dir)]);
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    assert!(ended.stdout.contains("imported docker.io/library/x:1"));
    let names = names_in(&dir.join("store"));
    assert_eq!(names["docker.io/library/x:1"], digest_of("one"));
    Ok(())
}

fn second_load(dir: &Path) -> Outcome {
    let bundle = dir.join("x.tar.gz");
    std::fs::write(&bundle, gzip(&small("x:1", "one").oci().tar()))?;
    let store = store_of(dir);
    let args = ["load", text(&bundle), "--store", &store];
    let (code, first) = airdock_json(&args);
    assert_eq!((code, &first["bytes_skipped"]), (0, &0.into()), "{first}");
    let sent = first["bytes_sent"].as_u64().expect("a number");
    assert!(sent > 0);
    let (code, second) = airdock_json(&args);
    assert_eq!((code, &second["bytes_sent"]), (0, &0.into()), "{second}");
    assert_eq!(second["bytes_skipped"], sent);
    assert_eq!(
        second["names"],
        serde_json::json!(["docker.io/library/x:1"])
    );
    Ok(())
}

fn standard_input(dir: &Path) -> Outcome {
    let bundle = dir.join("x.tar");
    small("x:1", "one").oci().write_tar(&bundle)?;
    let store = store_of(dir);
    for command in ["cat", "sh -c"] {
        let script = match command {
            "cat" => format!(
                "cat {} | {AIRDOCK} load - --store {store}",
                bundle.display()
            ),
            _ => format!("{AIRDOCK} load - --store {store} < {}", bundle.display()),
        };
        let ended = airdock_testkit::process::run("/bin/sh", &["-c", &script])?;
        assert_eq!(ended.code, 0, "{}", ended.stderr);
    }
    assert_eq!(names_in(&dir.join("store")).len(), 1);
    Ok(())
}

fn given_name(dir: &Path) -> Outcome {
    let bundle = dir.join("x.tar");
    Bundle::new()
        .with(&[], Image::small("one"))
        .oci()
        .write_tar(&bundle)?;
    let store = store_of(dir);
    let args = ["load", text(&bundle), "--store", &store];
    assert_eq!(airdock(&args).code, 4, "unnamed");
    let named = airdock(&[&args[..], &["--name", "y:2"]].concat());
    assert_eq!(named.code, 0, "{}", named.stderr);
    let names = names_in(&dir.join("store"));
    assert_eq!(names["docker.io/library/y:2"], digest_of("one"));
    Ok(())
}

fn bar(dir: &Path) -> Outcome {
    let bundle = dir.join("x.tar");
    let layers = (0..4).map(|seed| Layer::noise(seed, 20_000_000));
    let image = layers.fold(Image::new(), Image::layer);
    Bundle::new()
        .with(&["x:1"], image)
        .oci()
        .write_tar(&bundle)?;
    let load = format!("load {} --store {}", text(&bundle), store_of(dir));
    let verify = format!("verify {}", text(&bundle));
    for (command, result) in [
        (load, "imported docker.io/library/x:1"),
        (verify, "x.tar: ok"),
    ] {
        let command = format!("{AIRDOCK} {command}");
        let shown = airdock_testkit::process::run("script", &["-qec", &command, "/dev/null"])?;
        assert_eq!(shown.code, 0, "{}", shown.stdout);
        for part in ["x.tar", "MiB", "/s", result] {
            assert!(shown.stdout.contains(part), "{part}: {}", shown.stdout);
        }
    }
    let piped = airdock(&[
        "load",
        text(&bundle),
        "--store",
        &store_of(&dir.join("other")),
    ]);
    assert!(
        !piped.stderr.contains("MiB"),
        "no bar where nobody looks: {}",
        piped.stderr
    );
    Ok(())
}

fn worst(dir: &Path) -> Outcome {
    let (good, bad) = (dir.join("good.tar"), dir.join("bad.tar"));
    let tree = small("x:1", "one").oci();
    tree.write_tar(&good)?;
    std::fs::write(&bad, tree.tar_without_end())?;
    let store = store_of(dir);
    let args = ["load", text(&bad), text(&good), "--store", &store];
    let (code, reports) = airdock_json(&args);
    assert_eq!(code, 6, "{reports}");
    assert_eq!(reports[0]["verdict"], "incomplete");
    assert_eq!(reports[1]["verdict"], "ok");
    Ok(())
}

fn missing(dir: &Path) -> Outcome {
    let ended = airdock(&["inspect", text(&dir.join("nothing.tar"))]);
    assert_eq!(ended.code, 8);
    assert!(ended.stdout.contains("nothing.tar"), "{}", ended.stdout);
    Ok(())
}

fn no_store(dir: &Path) -> Outcome {
    let bundle = dir.join("x.tar");
    small("x:1", "one").oci().write_tar(&bundle)?;
    let socket = format!("containerd:{}", text(&dir.join("none.sock")));
    let ended = airdock(&["load", text(&bundle), "--store", &socket]);
    assert_eq!(ended.code, 9, "{}", ended.stderr);
    assert!(ended.stderr.contains("none.sock"), "{}", ended.stderr);
    Ok(())
}

fn foreign(dir: &Path) -> Outcome {
    let (bundle, store) = (dir.join("x.tar"), dir.join("store"));
    small("x:1", "one").oci().write_tar(&bundle)?;
    std::fs::create_dir(&store)?;
    std::fs::write(store.join("letter.txt"), "dear all")?;
    let ended = airdock(&["load", text(&bundle), "--store", &store_of(dir)]);
    assert_eq!(ended.code, 9, "{}", ended.stderr);
    assert_eq!(std::fs::read_dir(&store)?.count(), 1, "nothing was added");
    Ok(())
}

fn escaped(dir: &Path) -> Outcome {
    let bundle = dir.join("x.tar");
    let hostile = "x\u{1b}[31m\u{202e}:1";
    small(hostile, "one").oci().write_tar(&bundle)?;
    let store = store_of(dir);
    for args in [
        vec!["inspect", text(&bundle)],
        vec!["inspect", text(&bundle), "--output", "json"],
        vec!["load", text(&bundle), "--store", &store],
    ] {
        let ended = airdock(&args);
        let shown = format!("{}{}", ended.stdout, ended.stderr);
        assert!(
            !shown.contains('\u{1b}') && !shown.contains('\u{202e}'),
            "{shown:?}"
        );
        assert_eq!(ended.code, 7, "{shown}");
    }
    Ok(())
}

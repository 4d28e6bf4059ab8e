//! The embedded store is a layout that other tools read.

use std::path::Path;

use airdock_testkit::fixture::{Bundle, Image, Target};
use airdock_testkit::process::run;
use airdock_testkit::{Need, Outcome, Suite};

use crate::support::{airdock, digest_of, small, store_of, text};

pub(crate) fn tests(suite: Suite) -> Suite {
    suite
        .test("skopeo_reads_the_store", &[Need::Program("skopeo")], skopeo)
        .test("umoci_lists_the_store", &[Need::Program("umoci")], umoci)
        .test("only_the_wanted_platform_is_stored", &[], sparse)
        .test("what_others_wrote_into_the_index_stays", &[], others)
}

fn load(dir: &Path, bundle: &Bundle) -> Outcome {
    let path = dir.join("x.tar");
    bundle.oci().write_tar(&path)?;
    let args = ["load", text(&path), "--store", &store_of(dir)];
    let ended = airdock(&[&args[..], &["--platform", "linux/amd64"]].concat());
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    Ok(())
}

fn skopeo(dir: &Path) -> Outcome {
    load(dir, &small("x:1", "one"))?;
    let reference = format!("{}:docker.io/library/x:1", store_of(dir));
    let args = ["inspect", "--raw", &reference];
    let ended = run("skopeo", &args)?;
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    let manifest = Target::from(Image::small("one")).blob();
    assert_eq!(ended.stdout.as_bytes(), manifest.content, "byte for byte");
    Ok(())
}

fn umoci(dir: &Path) -> Outcome {
    load(dir, &small("x:1", "one"))?;
    let ended = run("umoci", &["ls", "--layout", text(&dir.join("store"))])?;
    assert_eq!(ended.stdout.trim(), "docker.io/library/x:1");
    Ok(())
}

fn sparse(dir: &Path) -> Outcome {
    let (here, elsewhere) = (
        Image::small("here").platform("linux/amd64"),
        Image::small("elsewhere").platform("linux/s390x"),
    );
    let foreign = elsewhere.manifest();
    let index = Target::index([here.clone(), elsewhere]);
    load(dir, &Bundle::new().with(&["x:1"], index.clone()))?;
    let store = dir.join("store");
    let blobs = |digest: &str| store.join("blobs/sha256").join(&digest[7..]).exists();
    assert!(blobs(&index.digest()));
    assert!(blobs(here.manifest().digest()));
    assert!(!blobs(foreign.digest()));
    Ok(())
}

fn others(dir: &Path) -> Outcome {
    load(dir, &small("x:1", "one"))?;
    let index = dir.join("store/index.json");
    let before = std::fs::read_to_string(&index)?;
    let other = r#""manifests":[{"mediaType":"text/plain","digest":"sha256:0000000000000000000000000000000000000000000000000000000000000000","size":1,"annotations":{"mine":"yes"}},"#;
    std::fs::write(&index, before.replacen(r#""manifests":["#, other, 1))?;
    load(dir, &small("y:1", "two"))?;
    let after = std::fs::read_to_string(&index)?;
    assert!(after.contains(r#""mine":"yes""#), "{after}");
    assert!(after.contains(&digest_of("one")) && after.contains(&digest_of("two")));
    Ok(())
}

//! What other tools read of a bundle.

use std::path::Path;

use airdock_testkit::fixture::{Bundle, Image, Layer, Target, sha256};
use airdock_testkit::process::run;
use airdock_testkit::{Need, Outcome, Suite};

use super::{packed, write};
use crate::support::text;

pub(crate) fn tests(suite: Suite) -> Suite {
    suite
        .test(
            "skopeo_copies_it_with_its_digest",
            &[Need::Program("skopeo")],
            skopeo,
        )
        .test(
            "umoci_unpacks_it",
            &[Need::Program("umoci"), Need::Program("tar"), Need::Root],
            umoci,
        )
        .test("zstd_decompresses_it", &[Need::Program("zstd")], zstd)
        .test("gnu_tar_lists_it", &[Need::Program("tar")], tar)
}

pub(super) fn image() -> Image {
    Image::small("x").layer(Layer::noise(1, 50_000).gzip())
}

pub(super) fn source(dir: &Path) -> std::io::Result<std::path::PathBuf> {
    write(
        dir,
        "in.tar",
        &Bundle::new().with(&["example.com/x:one"], image()).oci(),
    )
}

pub(super) fn done(program: &str, args: &[&str]) -> String {
    let ended = run(program, args).expect("it starts");
    assert_eq!(ended.code, 0, "{program}: {}{}", ended.stdout, ended.stderr);
    ended.stdout
}

fn skopeo(dir: &Path) -> Outcome {
    let out = dir.join("out.tar");
    packed(&out, &source(dir)?, &["--docker"]);
    let to = dir.join("copied");
    let (from, into) = (
        format!("oci-archive:{}:one", text(&out)),
        format!("dir:{}", text(&to)),
    );
    done("skopeo", &["copy", &from, &into]);
    let manifest = std::fs::read(to.join("manifest.json"))?;
    assert_eq!(sha256(&manifest), Target::from(image()).digest());
    let docker = format!("docker-archive:{}:example.com/x:one", text(&out));
    done(
        "skopeo",
        &[
            "copy",
            &docker,
            &format!("dir:{}", text(&dir.join("docker"))),
        ],
    );
    Ok(())
}

fn umoci(dir: &Path) -> Outcome {
    let (out, layout) = (dir.join("out.tar"), dir.join("layout"));
    packed(&out, &source(dir)?, &[]);
    std::fs::create_dir(&layout)?;
    done("tar", &["-xf", text(&out), "-C", text(&layout)]);
    let image = format!("{}:one", text(&layout));
    let root = dir.join("root");
    done("umoci", &["raw", "unpack", "--image", &image, text(&root)]);
    assert_eq!(std::fs::read(root.join("text"))?, b"x");
    Ok(())
}

fn zstd(dir: &Path) -> Outcome {
    let (source, plain, packed_) = (source(dir)?, dir.join("p.tar"), dir.join("z.tar.zst"));
    packed(&plain, &source, &[]);
    packed(&packed_, &source, &["--compress", "zstd"]);
    let to = dir.join("decompressed");
    done("zstd", &["-q", "-d", text(&packed_), "-o", text(&to)]);
    assert_eq!(std::fs::read(to)?, std::fs::read(plain)?);
    Ok(())
}

fn tar(dir: &Path) -> Outcome {
    let out = dir.join("out.tar");
    packed(&out, &source(dir)?, &[]);
    let listed = done("tar", &["-tf", text(&out)]);
    let lines: Vec<&str> = listed.lines().collect();
    assert_eq!(&lines[..2], ["oci-layout", "index.json"]);
    assert_eq!(lines.len(), 8, "{listed}");
    Ok(())
}

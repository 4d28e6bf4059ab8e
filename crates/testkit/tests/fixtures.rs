//! Other tools read what the fixture writer writes.

use std::path::Path;
use std::process::ExitCode;

use airdock_testkit::fixture::{Bundle, Image, Layer, Target};
use airdock_testkit::process::run;
use airdock_testkit::{Need, Outcome, Suite};

const SKOPEO: &[Need] = &[Need::Program("skopeo")];

fn main() -> ExitCode {
    Suite::new()
        .test("skopeo_reads_a_layout_tar", SKOPEO, reads_layout_tar)
        .test(
            "skopeo_reads_a_layout_directory",
            SKOPEO,
            reads_layout_directory,
        )
        .test(
            "skopeo_reads_a_docker_archive",
            SKOPEO,
            reads_docker_archive,
        )
        .test(
            "umoci_lists_a_layout_directory",
            &[Need::Program("umoci")],
            umoci_lists,
        )
        .run()
}

fn layers() -> Image {
    let plain = Layer::file("plain", b"plain");
    let packed = [
        Layer::file("gz", b"gz").gzip(),
        Layer::file("zst", b"zst").zstd(),
    ];
    packed
        .into_iter()
        .fold(Image::new().layer(plain), Image::layer)
}

fn bundle() -> Bundle {
    let both = Target::index([layers(), layers().platform("linux/arm64/v8")]);
    Bundle::new().with(&["example.com/t:1"], both)
}

/// skopeo copies, and so reads, every blob of a source.
fn copies(source: &str, dir: &Path) -> Outcome {
    let to = format!("dir:{}", dir.join("copy").display());
    let ended = run(
        "skopeo",
        &["copy", "--insecure-policy", "--quiet", source, &to],
    )?;
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    Ok(())
}

fn reads_layout_tar(dir: &Path) -> Outcome {
    let path = dir.join("t.tar");
    bundle().oci().write_tar(&path)?;
    copies(&format!("oci-archive:{}:1", path.display()), dir)
}

fn reads_layout_directory(dir: &Path) -> Outcome {
    let path = dir.join("t");
    bundle().oci().write_dir(&path)?;
    copies(&format!("oci:{}:1", path.display()), dir)
}

fn reads_docker_archive(dir: &Path) -> Outcome {
    let path = dir.join("t.tar");
    let image = Image::small("a").layer(Layer::file("b", b"b"));
    let bundle = Bundle::new().with(&["example.com/t:1"], image);
    bundle.docker().write_tar(&path)?;
    copies(
        &format!("docker-archive:{}:example.com/t:1", path.display()),
        dir,
    )
}

fn umoci_lists(dir: &Path) -> Outcome {
    let path = dir.join("t");
    bundle().oci().write_dir(&path)?;
    let ended = run("umoci", &["list", "--layout", &path.to_string_lossy()])?;
    assert_eq!((ended.code, ended.stdout.as_str()), (0, "1\n"));
    Ok(())
}

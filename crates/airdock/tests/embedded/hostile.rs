//! What hostile bundles cost: their memory is bounded whatever they hold.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use airdock_testkit::fixture::{Blob, Image, Tree, gzip, media_type, sha256};
use airdock_testkit::process::run;
use airdock_testkit::{Need, Outcome, Suite};

use serde_json::{Value, json};

use crate::support::{AIRDOCK, text};

/// The most that `inspect` and `verify` may take, in KiB.
const PEAK: u64 = 64 * 1024;

const PYTHON: &[Need] = &[Need::Program("python3")];
const BOMB: &[Need] = &[Need::Program("python3"), Need::Program("zstd")];

pub(crate) fn tests(suite: Suite) -> Suite {
    suite
        .test("a_huge_pax_header_takes_no_memory", PYTHON, pax)
        .test("an_index_of_spaces_takes_no_memory", PYTHON, spaces)
        .test(
            "a_hundred_thousand_entries_take_little_memory",
            PYTHON,
            entries,
        )
        .test("a_bomb_of_zeros_takes_no_memory", BOMB, bomb)
        .test(
            "a_child_met_a_hundred_thousand_times_takes_little_memory",
            PYTHON,
            graph,
        )
        .test("json_of_many_levels_takes_no_memory", PYTHON, deep)
        .test(
            "ten_thousand_descriptors_take_little_memory",
            PYTHON,
            descriptors,
        )
}

/// Runs a command, and returns its exit status and the most memory that it had, in KiB.
fn measured(command: &str, bundle: &Path) -> Result<(i32, u64), Box<dyn std::error::Error>> {
    let script = "import resource,subprocess,sys\n\
        code=subprocess.run(sys.argv[1:],stdout=subprocess.DEVNULL,stderr=subprocess.DEVNULL).returncode\n\
        print(code,resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)";
    let ended = run("python3", &["-c", script, AIRDOCK, command, text(bundle)])?;
    let (code, peak) = ended.stdout.trim().split_once(' ').ok_or("two numbers")?;
    Ok((code.parse()?, peak.parse()?))
}

fn assert_bounded(bundle: &Path, status: i32) -> Outcome {
    for command in ["inspect", "verify"] {
        let (code, peak) = measured(command, bundle)?;
        assert_eq!(code, status, "{command}");
        assert!(peak < PEAK, "{command} took {peak} KiB");
    }
    Ok(())
}

/// A ustar header of a type, for content of a size.
fn header(name: &str, kind: u8, size: u64) -> Vec<u8> {
    let mut header = vec![0; 512];
    let mut put = |at: usize, bytes: &[u8]| header[at..at + bytes.len()].copy_from_slice(bytes);
    put(0, name.as_bytes());
    put(100, b"0000644\0");
    put(124, format!("{size:011o}\0").as_bytes());
    put(148, b"        ");
    put(156, &[kind]);
    put(257, b"ustar\x0000");
    let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
    header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    header
}

fn pax(dir: &Path) -> Outcome {
    let bundle = dir.join("pax.tar");
    let size = 64 * 1024 * 1024;
    let mut file = File::create(&bundle)?;
    file.write_all(&header("PaxHeaders/x", b'x', size))?;
    file.write_all(&vec![b' '; usize::try_from(size)?])?;
    file.write_all(&[0; 1024])?;
    assert_bounded(&bundle, 7)
}

fn spaces(dir: &Path) -> Outcome {
    let bundle = dir.join("spaces.tar.gz");
    let index = vec![b' '; 300 * 1024 * 1024];
    let layout = br#"{"imageLayoutVersion":"1.0.0"}"#;
    let tree = Tree::new()
        .file("oci-layout", layout)
        .file("index.json", &index);
    std::fs::write(&bundle, gzip(&tree.tar()))?;
    assert_bounded(&bundle, 7)
}

fn entries(dir: &Path) -> Outcome {
    let bundle = dir.join("entries.tar");
    let mut file = BufWriter::new(File::create(&bundle)?);
    for number in 0..100_001 {
        file.write_all(&header(&format!("blobs/{number}"), b'0', 0))?;
    }
    file.write_all(&[0; 1024])?;
    file.flush()?;
    assert_bounded(&bundle, 7)
}

fn bomb(dir: &Path) -> Outcome {
    let bundle = dir.join("bomb.tar.zst");
    let script = format!("head -c 10G /dev/zero | zstd -q -1 -o {}", text(&bundle));
    assert_eq!(run("/bin/sh", &["-c", &script])?.code, 0);
    assert_bounded(&bundle, 7)
}

/// An index that lists one child ten times, whose own child is listed ten times, five levels deep.
fn graph(dir: &Path) -> Outcome {
    let bundle = dir.join("graph.tar");
    let image = Image::small("deep");
    let blobs = image.blobs().into_iter();
    let mut tree = blobs.fold(Tree::new(), |tree, blob| {
        tree.file(&blob.path(), &blob.content)
    });
    let mut child = json!(image.manifest().descriptor);
    for _ in 0..5 {
        let index = Blob::new(media_type::INDEX, index(&vec![child; 10])?);
        tree = tree.file(&index.path(), &index.content);
        child = json!(index.descriptor);
    }
    child["annotations"] = json!({ "io.containerd.image.name": "docker.io/library/deep:1" });
    layout(tree, &index(&[child])?).write_tar(&bundle)?;
    assert_bounded(&bundle, 0)
}

fn deep(dir: &Path) -> Outcome {
    let bundle = dir.join("deep.tar");
    layout(Tree::new(), &vec![b'['; 1 << 20]).write_tar(&bundle)?;
    assert_bounded(&bundle, 7)
}

/// As many as there may be, each of another blob, none of which is there.
fn descriptors(dir: &Path) -> Outcome {
    let bundle = dir.join("descriptors.tar");
    let absent = |number: u32| {
        let digest = sha256(&number.to_le_bytes());
        json!({ "mediaType": media_type::MANIFEST, "digest": digest, "size": 1 })
    };
    let all: Vec<Value> = (0..10_000).map(absent).collect();
    layout(Tree::new(), &index(&all)?).write_tar(&bundle)?;
    assert_bounded(&bundle, 7)
}

fn index(manifests: &[Value]) -> serde_json::Result<Vec<u8>> {
    let index =
        json!({ "schemaVersion": 2, "mediaType": media_type::INDEX, "manifests": manifests });
    serde_json::to_vec(&index)
}

fn layout(blobs: Tree, index: &[u8]) -> Tree {
    blobs
        .file("oci-layout", br#"{"imageLayoutVersion":"1.0.0"}"#)
        .file("index.json", index)
}

mod readable;

use std::fs::File;
use std::io::Write as _;
use std::path::Path;

use airdock_testkit::fixture::{Image, Layer, Target};

use super::*;
use crate::archive::Archive;
use crate::bundle::Bundle;
use crate::digest::Algorithm;
use crate::document::media_type;
use crate::platform::{Matcher, Platform};
use crate::verdict::Verdict;

type Layers = BTreeMap<Digest, Vec<u8>>;

/// The contents and the layers of an image under names.
fn contents(images: &[(&[&str], Image)]) -> (Contents, Layers) {
    let (mut contents, mut layers) = (Contents::default(), Layers::new());
    for (names, image) in images {
        let target = Target::from(image.clone());
        for blob in target.blobs() {
            let digest: Digest = blob.descriptor.digest.parse().unwrap();
            if blob.content.starts_with(b"{") {
                contents
                    .add_document(&digest, blob.content.clone().into())
                    .unwrap();
            } else {
                contents
                    .add_layer(&digest, blob.content.len() as u64)
                    .unwrap();
                layers.insert(digest, blob.content.clone());
            }
        }
        let manifest = target.blob();
        let digest: Digest = manifest.descriptor.digest.parse().unwrap();
        let size = manifest.content.len() as u64;
        let descriptor = Descriptor::new(media_type::OCI_MANIFEST, digest, size);
        contents.list(
            descriptor,
            names.iter().map(|name| Name::parse(name).unwrap()),
        );
    }
    (contents, layers)
}

fn sample() -> (Contents, Layers) {
    let big = |seed: u8| {
        let bytes: Vec<u8> = (0..9000u32).map(|n| (n % 251) as u8 ^ seed).collect();
        Layer::file("big", &bytes)
    };
    contents(&[
        (&["b:1", "a:1"], Image::small("first").layer(big(1))),
        (
            &["example.com/c:2"],
            Image::small("second").layer(big(2)).layer(big(1)),
        ),
        (&[], Image::small("nameless")),
    ])
}

fn write(contents: &Contents, layers: &Layers, compression: Compression) -> Vec<u8> {
    let mut output = Vec::new();
    let mut bodies = |digest: &Digest, _: u64| -> io::Result<Box<dyn Read>> {
        Ok(Box::new(io::Cursor::new(layers[digest].clone())))
    };
    contents
        .write_to(&mut output, compression, &mut bodies, &mut |_| {})
        .unwrap();
    output
}

fn open(bytes: &[u8]) -> Bundle {
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(bytes).unwrap();
    let archive = archive(file);
    Bundle::open(
        archive,
        &Matcher::only(Platform::parse("linux/amd64").unwrap()),
    )
    .unwrap()
}

fn archive(file: File) -> Archive {
    Archive::from_file(file, Path::new("made")).unwrap()
}

#[test]
fn what_is_written_is_read_back_plain_and_compressed() {
    let (contents, layers) = sample();
    for compression in [Compression::None, Compression::Zstd] {
        let mut bundle = open(&write(&contents, &layers, compression));
        bundle.check(&mut |_| {}).unwrap();
        let found: Vec<(Vec<String>, Verdict)> = bundle
            .images()
            .iter()
            .map(|image| {
                let names = image.names.iter().map(ToString::to_string).collect();
                (names, image.verdict())
            })
            .collect();
        let names = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
        let expected = [
            (
                names(&["docker.io/library/a:1", "docker.io/library/b:1"]),
                Verdict::Ok,
            ),
            (names(&["example.com/c:2"]), Verdict::Ok),
            (names(&[]), Verdict::Unnamed),
        ];
        assert_eq!(found, expected);
    }
}

#[test]
fn the_order_in_which_things_were_added_leaves_no_trace() {
    let image = |text| Image::small(text);
    let (one, layers) = contents(&[(&["a:1"], image("a")), (&["b:1", "b:2"], image("b"))]);
    let (other, _) = contents(&[(&["b:2", "b:1"], image("b")), (&["a:1"], image("a"))]);
    for compression in [Compression::None, Compression::Zstd] {
        let bytes = write(&one, &layers, compression);
        assert_eq!(bytes, write(&other, &layers, compression));
    }
}

#[test]
fn what_a_plan_needs_stands_first_and_large_layers_are_aligned() {
    let (contents, layers) = sample();
    let bytes = write(&contents, &layers, Compression::None);
    assert_eq!(contents.archive_size(), bytes.len() as u64);
    let places = places(&bytes);
    let names: Vec<&str> = places.iter().map(|(name, ..)| name.as_str()).collect();
    assert_eq!(
        &names[..4],
        ["oci-layout", "index.json", "blobs/", "blobs/sha256/"]
    );
    let first_layer = places
        .iter()
        .position(|(name, ..)| layers.keys().any(|layer| name.ends_with(layer.hex())));
    assert_eq!(first_layer, Some(4 + contents.documents().count()));
    let large: Vec<u64> = places
        .iter()
        .filter(|(.., size)| *size >= limits::ALIGNMENT)
        .map(|(_, offset, _)| offset % limits::ALIGNMENT)
        .collect();
    assert_eq!(large, [0, 0]);
}

/// Names, and where the content is, as another reader sees them.
fn places(bytes: &[u8]) -> Vec<(String, u64, u64)> {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(bytes).unwrap();
    let script = "import sys,tarfile\n\
        for e in tarfile.open(sys.argv[1]):\n\
        \x20assert (e.mtime, e.uid, e.gid, e.mode) == (0, 0, 0, 0o755 if e.isdir() else 0o644)\n\
        \x20print(e.name + '/' * e.isdir(), e.offset_data, e.size)";
    let output = std::process::Command::new("python3")
        .args(["-c", script])
        .arg(file.path())
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines()
        .map(|line| {
            let mut words = line.split(' ');
            let mut word = || words.next().unwrap().to_owned();
            (word(), word().parse().unwrap(), word().parse().unwrap())
        })
        .collect()
}

#[test]
fn each_frame_of_the_table_decodes_alone() {
    let (contents, layers) = sample();
    let plain = write(&contents, &layers, Compression::None);
    let bytes = write(&contents, &layers, Compression::Zstd);
    let number = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) as usize;
    let end = bytes.len();
    assert_eq!(number(end - 4), 0x8F92_EAB1);
    let frames = number(end - 9);
    // Everything small, and the two large layers.
    assert_eq!(frames, 3);
    let table = end - 9 - 8 * frames;
    assert_eq!(
        (number(table - 8), number(table - 4)),
        (0x184D_2A5E, 9 + 8 * frames)
    );
    let (mut at, mut decoded) = (0, Vec::new());
    for frame in 0..frames {
        let (packed, size) = (number(table + 8 * frame), number(table + 8 * frame + 4));
        let piece = zstd::decode_all(&bytes[at..at + packed]).unwrap();
        assert_eq!(piece.len(), size);
        decoded.extend(piece);
        at += packed;
    }
    assert_eq!(at, table - 8);
    assert_eq!(decoded, plain);
}

#[test]
fn a_body_that_is_not_what_it_should_be_is_named() {
    let (contents, layers) = contents(&[(&["a:1"], Image::small("a"))]);
    let (digest, content) = layers.first_key_value().unwrap();
    let mut flipped = content.clone();
    flipped[0] ^= 1;
    for (body, said) in [
        (
            content[1..].to_vec(),
            format!("has {} bytes", content.len() - 1),
        ),
        ([&content[..], b"x"].concat(), "has more bytes".to_owned()),
        (flipped, "is damaged".to_owned()),
    ] {
        let mut bodies = |_: &Digest, _: u64| -> io::Result<Box<dyn Read>> {
            Ok(Box::new(io::Cursor::new(body.clone())))
        };
        let written = contents.write_to(io::sink(), Compression::None, &mut bodies, &mut |_| {});
        let error = written.unwrap_err();
        assert_eq!(error.blob(), Some(digest));
        assert!(error.to_string().contains(&said), "{error}");
    }
}

#[test]
fn a_layer_beyond_ustars_sizes_gets_a_record_and_its_place() {
    let digest = Digest::of(Algorithm::Sha256, b"huge");
    let huge = Entry {
        path: crate::documents::entry_name(&digest),
        body: Body::Layer(&digest, 9 << 30),
    };
    for offset in (0..limits::ALIGNMENT).step_by(512) {
        let header = tar::header(&huge, offset);
        assert!((offset + header.len() as u64).is_multiple_of(limits::ALIGNMENT));
        assert!(header[512..].starts_with(b"19 size=9663676416\n"));
    }
}

#[test]
fn what_the_base_has_is_left_out_and_said() {
    let (mut contents, layers) = sample();
    let whole = contents.size();
    let gone = layers.keys().next().unwrap();
    contents.leave_out("sha256:base", |digest| digest == gone);
    assert_eq!(contents.size(), whole - layers[gone].len() as u64);
    let bytes = write(&contents, &layers, Compression::None);
    let text = String::from_utf8_lossy(&bytes);
    assert!(text.contains(r#""io.airdock.base":"sha256:base""#));
    assert!(text.contains(&format!(r#""io.airdock.missing":"{gone}""#)));
}

#[test]
fn dockers_list_agrees_with_the_index() {
    let (mut contents, layers) = contents(&[(&["a:1"], Image::small("a"))]);
    let config = contents
        .documents()
        .find(|(_, bytes)| String::from_utf8_lossy(bytes).contains("diff_ids"))
        .map(|(digest, _)| digest.clone());
    contents.list_for_docker(DockerImage {
        names: vec![Name::parse("a:1").unwrap()],
        config: config.unwrap(),
        layers: layers.keys().cloned().collect(),
    });
    let bundle = open(&write(&contents, &layers, Compression::None));
    assert_eq!(bundle.verdict(), Verdict::Ok);
}

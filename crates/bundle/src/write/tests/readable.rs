//! What no reader would take is not written, and how large a bundle becomes is known before.

use super::*;
use crate::image::Image;
use crate::limits;

fn digest(text: &str) -> Digest {
    Digest::of(Algorithm::Sha256, text.as_bytes())
}

fn add(contents: &mut Contents, text: String) -> Descriptor {
    let digest = digest(&text);
    let size = text.len() as u64;
    contents.add_document(&digest, text.into()).unwrap();
    Descriptor::new(media_type::OCI_MANIFEST, digest, size)
}

/// An image for amd64 with a config of its own, which is as large as `padding` more.
fn image(contents: &mut Contents, seed: usize, layers: usize, padding: usize) -> Descriptor {
    let padding = " ".repeat(padding);
    let diff_ids = vec![format!("\"{}\"", digest("layer")); layers].join(",");
    let config = add(
        contents,
        format!(
            r#"{{"os":"linux","architecture":"amd64","author":"{seed}","rootfs":{{"type":"layers","diff_ids":[{diff_ids}]}}}}{padding}"#
        ),
    );
    let blob = |kind: &str, digest: &Digest, size: u64| {
        format!(
            r#"{{"mediaType":"application/vnd.oci.image.{kind}","digest":"{digest}","size":{size}}}"#
        )
    };
    let layer = blob("layer.v1.tar", &digest("layer"), 5);
    let layers = vec![layer; layers].join(",");
    let config = blob("config.v1+json", &config.digest, config.size);
    add(
        contents,
        format!(r#"{{"schemaVersion":2,"config":{config},"layers":[{layers}]}}"#),
    )
}

fn images(count: usize, layers: usize, padding: usize) -> Contents {
    let mut contents = Contents::default();
    for seed in 0..count {
        let descriptor = image(&mut contents, seed, layers, padding);
        let name = Name::parse(&format!("example.com/x:{seed}")).unwrap();
        contents.list(descriptor, [name]);
    }
    contents
}

/// What a reader says of it, its layers being empty words.
fn refusal(contents: &Contents, compression: Compression) -> String {
    let mut output = tempfile::tempfile().unwrap();
    let mut bodies = |_: &Digest, _: u64| -> io::Result<Box<dyn Read>> {
        Ok(Box::new(io::Cursor::new(b"layer".to_vec())))
    };
    contents
        .write_to(&mut output, compression, &mut bodies, &mut |_| {})
        .unwrap();
    let platform = Matcher::only(Platform::parse("linux/amd64").unwrap());
    let archive = Archive::from_file(output, Path::new("made"));
    let opened = archive.map_err(Into::into);
    match opened.and_then(|it| Bundle::open(it, &platform)) {
        Err(error) => error.to_string(),
        Ok(bundle) => bundle.images().iter().filter_map(Image::reason).collect(),
    }
}

#[test]
fn more_files_than_can_be_read_are_refused() {
    let mut contents = images(1, 1, 0);
    let room = limits::ENTRIES - 6 - contents.documents().count();
    for layer in 0..room {
        contents.add_layer(&digest(&layer.to_string()), 1).unwrap();
    }
    assert_eq!(contents.check(Compression::None), Ok(()));
    contents.add_layer(&digest("one more"), 1).unwrap();
    let count = limits::ENTRIES + 1;
    assert_eq!(
        contents.check(Compression::None),
        Err(Excess::Entries { count })
    );
}

#[test]
fn more_manifests_than_can_be_read_are_refused_here_and_there() {
    let mut contents = images(1, 1, 0);
    let descriptor = contents.listed().next().unwrap().descriptor.clone();
    // Short enough for a list of ten thousand.
    let names =
        |range: std::ops::Range<usize>| range.map(|n| Name::parse(&format!("x.io/x:{n}")).unwrap());
    contents.list(descriptor.clone(), names(1..limits::DESCRIPTORS));
    assert_eq!(contents.check(Compression::None), Ok(()));
    contents.list(descriptor, names(0..1));
    let count = limits::DESCRIPTORS + 1;
    let excess = Excess::Descriptors { count };
    assert_eq!(contents.check(Compression::None), Err(excess));
    assert!(refusal(&contents, Compression::None).contains("lists"));
}

#[test]
fn a_list_that_is_too_large_is_refused_here_and_there() {
    let mut contents = images(1, 1, 0);
    let descriptor = contents.listed().next().unwrap().descriptor.clone();
    let long = "x".repeat(100);
    let name = |n: usize| Name::parse(&format!("example.com/{long}:{n}-{long}")).unwrap();
    contents.list(descriptor, (0..9_000).map(name));
    let excess = contents.check(Compression::None).unwrap_err();
    assert!(
        matches!(
            excess,
            Excess::List {
                list: "index.json",
                ..
            }
        ),
        "{excess}"
    );
    assert!(!refusal(&contents, Compression::None).is_empty());
}

#[test]
fn more_layers_than_can_be_held_are_refused_here_and_there() {
    // Each of a thousand, its one digest, a config and a manifest.
    for (count, is_over) in [(49, false), (50, true)] {
        let mut contents = images(count, 1_000, 0);
        contents.add_layer(&digest("layer"), 5).unwrap();
        let excess = contents.check(Compression::None);
        assert_eq!(
            matches!(excess, Err(Excess::Blobs { .. })),
            is_over,
            "{excess:?}"
        );
    }
    let mut contents = images(50, 1_000, 0);
    contents.add_layer(&digest("layer"), 5).unwrap();
    let excess = contents.check(Compression::None).unwrap_err().to_string();
    assert!(excess.contains("linux/amd64"), "{excess}");
    assert!(
        excess.contains("put fewer images into one bundle"),
        "{excess}"
    );
}

#[test]
fn more_documents_than_can_be_held_are_refused_here_and_there() {
    let padding = 7 << 20;
    assert_eq!(images(9, 1, padding).check(Compression::None), Ok(()));
    let mut contents = images(10, 1, padding);
    contents.add_layer(&digest("layer"), 5).unwrap();
    let excess = contents.check(Compression::None);
    assert!(
        matches!(excess, Err(Excess::Documents { .. })),
        "{excess:?}"
    );
    assert!(refusal(&contents, Compression::None).contains("indexes, manifests and configs"));
}

#[test]
fn what_a_compressed_file_would_be_read_too_often_for_is_refused_here_and_there() {
    let padding = limits::DOCUMENT_KEPT;
    let made = |count| {
        let mut contents = images(count, 1, padding);
        contents.add_layer(&digest("layer"), 5).unwrap();
        contents
    };
    let most = limits::EXTRA_PASSES as usize;
    assert_eq!(made(most).check(Compression::Zstd), Ok(()));
    assert_eq!(refusal(&made(most), Compression::Zstd), "");
    let contents = made(most + 1);
    assert_eq!(contents.check(Compression::Zstd), Err(Excess::Compressed));
    let refusal = refusal(&contents, Compression::Zstd);
    assert!(refusal.contains("compressed"), "{refusal}");
    assert_eq!(contents.check(Compression::None), Ok(()));
}

#[test]
fn a_size_is_never_too_small_and_hardly_too_large() {
    let (mut contents, _) = sample();
    for seed in 0..200 {
        let size = 100 * seed;
        contents
            .add_layer(&digest(&size.to_string()), size)
            .unwrap();
    }
    contents.refer(&digest("absent"), 9, ["part-1.tar".to_owned()]);
    let documents = contents
        .documents()
        .map(|(_, bytes)| Size::of_document(bytes));
    let layers = contents.layers().map(|(_, size)| Size::of_layer(size));
    let listed = contents.listed().flat_map(|listed| {
        let nameless = listed.names.is_empty().then_some(None);
        let names = nameless.into_iter().chain(listed.names.iter().map(Some));
        names.map(move |name| Size::of_listed(listed, name))
    });
    let elsewhere = [
        Size::of_absent(&digest("absent")),
        Size::of_base("part-1.tar"),
    ];
    let all: Size = documents.chain(layers).chain(listed).chain(elsewhere).sum();
    let (most, exact) = (all.archive(), contents.archive_size());
    let large = contents
        .layers()
        .filter(|(_, size)| *size >= limits::ALIGNMENT);
    let slack = (large.count() as u64 + 1) * limits::ALIGNMENT * 5 / 4;
    assert!((exact..exact + slack).contains(&most), "{exact} {most}");
}

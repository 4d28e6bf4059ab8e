//! A bundle that was cut or damaged anywhere is never taken for a whole one.
//!
//! Each format, plain and in each compression, is cut at every byte, and has one bit flipped in
//! every byte.
#![expect(
    clippy::expect_used,
    clippy::panic,
    reason = "what a test builds its input with fails as a test does"
)]

#[path = "../../../fuzz/src/bodies/sound.rs"]
mod sound;

use std::fs::File;
use std::io::{self, Write as _};
use std::path::Path;
use std::process::ExitCode;

use airdock_bundle::archive::Archive;
use airdock_bundle::open::OpenError;
use airdock_bundle::platform::{Matcher, Platform};
use airdock_bundle::{Bundle, Verdict};
use airdock_testkit::fixture::{self, Image, Layer};
use airdock_testkit::{Need, Outcome, Suite};
use rustix::fs::{MemfdFlags, memfd_create};

/// How a bundle is packed, and what that needs.
#[derive(Clone, Copy)]
enum Packing {
    Plain,
    Gzip,
    GzipMembers,
    Zstd,
    Through(&'static str, &'static [Need]),
}

const PACKINGS: [(&str, Packing); 7] = [
    ("plain", Packing::Plain),
    ("gzip", Packing::Gzip),
    ("gzip_members", Packing::GzipMembers),
    ("zstd", Packing::Zstd),
    ("xz", Packing::Through("xz", &[Need::Program("xz")])),
    ("lz4", Packing::Through("lz4", &[Need::Program("lz4")])),
    (
        "bzip2",
        Packing::Through("bzip2", &[Need::Program("bzip2")]),
    ),
];

impl Packing {
    fn pack(self, tar: &[u8]) -> io::Result<Vec<u8>> {
        match self {
            Self::Plain => Ok(tar.to_vec()),
            Self::Gzip => Ok(fixture::gzip(tar)),
            Self::GzipMembers => Ok(fixture::gzip_members(tar, tar.len() / 2)),
            Self::Zstd => Ok(fixture::zstd(tar)),
            Self::Through(program, _) => fixture::through(program, &["-c"], tar),
        }
    }

    fn needs(self) -> &'static [Need] {
        match self {
            Self::Through(_, needs) => needs,
            Self::Plain | Self::Gzip | Self::GzipMembers | Self::Zstd => &[],
        }
    }
}

/// A way to write the same bundle.
type Format = fn(&fixture::Bundle) -> fixture::Tree;

const FORMATS: [(&str, Format); 2] = [
    ("an_oci_tar", fixture::Bundle::oci),
    ("a_docker_archive", fixture::Bundle::docker),
];

fn main() -> ExitCode {
    let mut suite = Suite::new();
    for (format, write) in FORMATS {
        for (packing, how) in PACKINGS {
            let name = |what| format!("{format}::{packing}::{what}");
            suite = suite
                .test(&name("cut_anywhere_is_never_ok"), how.needs(), move |_| {
                    cut_anywhere(&how.pack(&bundle(write))?)
                })
                .test(
                    &name("flipped_anywhere_is_sound_or_refused"),
                    how.needs(),
                    move |_| flipped_anywhere(&how.pack(&bundle(write))?),
                );
        }
    }
    suite.run()
}

/// As small as an image can be: a layer of a few bytes need be no archive to be hashed.
fn bundle(write: Format) -> Vec<u8> {
    let layer = Layer::raw(b"a layer".to_vec());
    let image = Image::new().layer(layer);
    write(&fixture::Bundle::new().with(&["example.com/app:1"], image)).tar()
}

fn open(bytes: &[u8]) -> Result<Bundle, OpenError> {
    let platform = Matcher::only(Platform::new("linux", "amd64", ""));
    let archive = Archive::from_file(file(bytes), Path::new("bundle"))?;
    let mut bundle = Bundle::open(archive, &platform)?;
    bundle.check(&mut |_| ())?;
    Ok(bundle)
}

/// In memory: tens of thousands of files would keep a disk busy.
fn file(bytes: &[u8]) -> File {
    let descriptor = memfd_create(c"bundle", MemfdFlags::CLOEXEC);
    let mut file = File::from(descriptor.expect("memory for a file"));
    file.write_all(bytes).expect("memory for a file");
    file
}

/// What is said of the file; `None` would be that it could not be read.
fn verdict(opened: &Result<Bundle, OpenError>) -> Option<Verdict> {
    match opened {
        Ok(bundle) => Some(bundle.verdict()),
        Err(error) => error.verdict(),
    }
}

fn cut_anywhere(whole: &[u8]) -> Outcome {
    assert_eq!(verdict(&open(whole)), Some(Verdict::Ok), "the whole bundle");
    for len in 0..whole.len() {
        let opened = open(whole.get(..len).unwrap_or_default());
        let verdict = verdict(&opened);
        let is_told = matches!(verdict, Some(Verdict::Incomplete | Verdict::Refused));
        assert!(is_told, "cut at byte {len}: {verdict:?}");
    }
    Ok(())
}

/// Names and the like may come out different; what is importable must still be whole.
fn flipped_anywhere(whole: &[u8]) -> Outcome {
    let mut bytes = whole.to_vec();
    for at in 0..whole.len() {
        let flip = |byte: &mut u8| *byte ^= 1 << (at % 8);
        bytes.get_mut(at).map(flip);
        let opened = open(&bytes);
        assert!(verdict(&opened).is_some(), "byte {at}: {opened:?}");
        if let Ok(bundle) = &opened {
            sound::assert_sound(bundle);
        }
        bytes.get_mut(at).map(flip);
    }
    Ok(())
}

//! What reading a bundle costs, part by part: `cargo bench -p airdock-bundle`.
#![expect(clippy::expect_used, reason = "the inputs are made here")]

use std::fs;
use std::hint::black_box;

use airdock_bundle::archive::Archive;
use airdock_bundle::codec::{Codec, Decoder};
use airdock_bundle::digest::{Algorithm, Digest};
use airdock_testkit::fixture::{self, Layer, Tree};
use divan::Bencher;
use divan::counter::{BytesCount, ItemsCount};

/// What is hashed and decompressed.
const SIZE: usize = 8 << 20;

fn main() {
    divan::main();
}

/// Opening a plain tar: its headers are read, and nothing else.
#[divan::bench(args = [100, 10_000])]
fn index_tar(bencher: Bencher<'_, '_>, entries: usize) {
    let names = (0..entries).map(|n| format!("blobs/sha256/{n:064}"));
    let tree = names.fold(Tree::new(), |tree, name| tree.file(&name, &[7; 4096]));
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("bundle.tar");
    fs::write(&path, tree.tar()).expect("a file");
    bencher
        .counter(ItemsCount::new(entries))
        .bench(|| Archive::open(&path).expect("an archive"));
}

#[divan::bench(args = [Algorithm::Sha256, Algorithm::Sha512])]
fn hash(bencher: Bencher<'_, '_>, algorithm: Algorithm) {
    let content = noise();
    bencher
        .counter(BytesCount::of_slice(&content))
        .bench(|| Digest::of(algorithm, black_box(&content)));
}

/// Of a tar whose layers are compressed already, as most are.
#[divan::bench]
fn gzip_of_noise(bencher: Bencher<'_, '_>) {
    decompress(bencher, Codec::Gzip, &fixture::gzip(&noise()));
}

#[divan::bench]
fn gzip_of_text(bencher: Bencher<'_, '_>) {
    decompress(bencher, Codec::Gzip, &fixture::gzip(&text()));
}

#[divan::bench]
fn zstd_of_noise(bencher: Bencher<'_, '_>) {
    decompress(bencher, Codec::Zstd, &fixture::zstd(&noise()));
}

#[divan::bench]
fn zstd_of_text(bencher: Bencher<'_, '_>) {
    decompress(bencher, Codec::Zstd, &fixture::zstd(&text()));
}

fn decompress(bencher: Bencher<'_, '_>, codec: Codec, compressed: &[u8]) {
    let mut output = vec![0; 64 << 10];
    bencher.counter(BytesCount::new(SIZE)).bench_local(|| {
        let mut decoder = Decoder::new(codec, compressed).expect("a decoder");
        while decoder.decode(&mut output).expect("sound frames") > 0 {}
    });
}

/// Bytes that don't compress.
fn noise() -> Vec<u8> {
    let mut noise = Layer::noise(1, SIZE).blob().content.clone();
    noise.resize(SIZE, 0);
    noise
}

/// Bytes that do.
fn text() -> Vec<u8> {
    let lines = (0_u64..).flat_map(|n| format!("line {n} of {}\n", n * n % 977).into_bytes());
    lines.take(SIZE).collect()
}

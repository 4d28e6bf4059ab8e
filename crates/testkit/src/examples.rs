//! The bundles in `examples/`, made from the sources beside them.
//!
//! The same compiler gives the same bytes; another release may order instructions otherwise, so
//! the release that made the committed bundles is part of what they are.

use std::fs;
use std::io;
use std::path::PathBuf;
use std::process::Command;

use crate::fixture::{Bundle, Image, Layer, Target};
use crate::{needs, repository};

/// The compiler that the committed bundles were made with: Debian 12's.
const COMPILER: &str = "clang version 14.";

/// Architectures as images name them, and as the compiler does.
const ARCHITECTURES: [(&str, &str); 2] = [("amd64", "x86_64"), ("arm64", "aarch64")];

/// No C library, one segment, nothing that records where or when it was built.
const FLAGS: [&str; 13] = [
    "-std=c11",
    "-Wall",
    "-Wextra",
    "-Werror",
    "-Os",
    "-ffreestanding",
    "-fno-stack-protector",
    "-fno-asynchronous-unwind-tables",
    "-fno-ident",
    "-nostdlib",
    "-static",
    "-fuse-ld=lld",
    "-Wl,-s,--build-id=none,--no-rosegment,-z,noseparate-code,-z,norelro,-z,nognustack",
];

/// A program that prints one line.
pub const HELLO: &str = "example.com/airdock/hello:1";

/// A program that holds a pod.
pub const PAUSE: &str = "example.com/airdock/pause:1";

/// One bundle.
#[derive(Clone, Debug)]
pub struct Example {
    /// Its name in the folder.
    pub file: &'static str,
    /// Its bytes.
    pub tar: Vec<u8>,
}

/// The folder of sources and bundles.
pub fn folder() -> PathBuf {
    repository().join("examples")
}

/// Compiles the sources and packs all bundles.
pub fn build() -> io::Result<Vec<Example>> {
    let hello = image("hello")?;
    let pause = image("pause")?;
    let one = Bundle::new().with(&[HELLO], hello.clone());
    let pod = Bundle::new().with(&[HELLO], hello).with(&[PAUSE], pause);
    Ok(vec![
        Example {
            file: "hello.tar",
            tar: one.oci().tar(),
        },
        Example {
            file: "pod.tar",
            tar: pod.oci().tar(),
        },
    ])
}

/// Why the bundles can't be made here byte for byte, if so.
pub fn missing_compiler() -> Option<String> {
    if needs::program("ld.lld").is_none() {
        return Some("no ld.lld".to_owned());
    }
    let out = Command::new("clang").arg("--version").output();
    let version = out.map(|out| String::from_utf8_lossy(&out.stdout).into_owned());
    match version {
        Err(_) => Some("no clang".to_owned()),
        Ok(text) if text.contains(COMPILER) => None,
        Ok(_) => Some(format!("another compiler than {COMPILER}x")),
    }
}

/// An index with one image for each architecture.
fn image(program: &str) -> io::Result<Target> {
    let images = ARCHITECTURES.iter().map(|(architecture, compilers)| {
        let binary = compile(program, compilers)?;
        Ok(Image::new()
            .platform(&format!("linux/{architecture}"))
            .layer(Layer::program(program, &binary))
            .entrypoint(&[&format!("/{program}")]))
    });
    images.collect::<io::Result<Vec<_>>>().map(Target::index)
}

fn compile(program: &str, architecture: &str) -> io::Result<Vec<u8>> {
    let dir = tempfile::tempdir()?;
    let binary = dir.path().join(program);
    let out = Command::new("clang")
        .arg(format!("--target={architecture}-linux-gnu"))
        .args(FLAGS)
        .arg("-o")
        .arg(&binary)
        .arg(folder().join(program).join(program).with_extension("c"))
        .output()
        .map_err(|source| io::Error::new(source.kind(), format!("clang: {source}")))?;
    if out.status.success() {
        return fs::read(&binary);
    }
    let said = String::from_utf8_lossy(&out.stderr);
    Err(io::Error::other(format!("clang, {program}: {said}")))
}

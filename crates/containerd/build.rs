//! Compiles `proto/` without `protoc`: a build needs nothing but cargo.

use std::error::Error;

const FILES: [&str; 10] = [
    "containers.proto",
    "content.proto",
    "cri.proto",
    "diff.proto",
    "events.proto",
    "images.proto",
    "introspection.proto",
    "leases.proto",
    "snapshots.proto",
    "version.proto",
];

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=proto");
    let descriptors = protox::compile(FILES, ["proto"])?;
    tonic_prost_build::configure()
        .build_server(false)
        // Payloads of megabytes pass through without a copy.
        .bytes(".")
        // Labels are compared and printed: one order for all.
        .btree_map(".")
        .include_file("proto.rs")
        .compile_fds(descriptors)?;
    Ok(())
}

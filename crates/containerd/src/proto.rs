//! The wire types, generated from `proto/`.

#![expect(
    unreachable_pub,
    clippy::allow_attributes_without_reason,
    reason = "generated code"
)]

include!(concat!(env!("OUT_DIR"), "/proto.rs"));

pub(crate) use containerd::services::{
    containers::v1 as containers, content::v1 as content, diff::v1 as diff, events::v1 as events,
    images::v1 as images, introspection::v1 as introspection, leases::v1 as leases,
    snapshots::v1 as snapshots, version::v1 as version,
};
pub(crate) use containerd::types;
pub(crate) use runtime::v1 as cri;

/// The wire counts bytes with a sign, though none are ever below zero.
pub(crate) fn unsigned(bytes: i64) -> u64 {
    u64::try_from(bytes).unwrap_or(0)
}

pub(crate) fn signed(bytes: u64) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}

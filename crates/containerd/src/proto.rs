//! The wire types, generated from `proto/`.

#![expect(
    unreachable_pub,
    clippy::allow_attributes_without_reason,
    reason = "generated code"
)]

include!(concat!(env!("OUT_DIR"), "/proto.rs"));

pub(crate) use containerd::services::{
    containers::v1 as containers, content::v1 as content, events::v1 as events,
    images::v1 as images, introspection::v1 as introspection, leases::v1 as leases,
    version::v1 as version,
};
pub(crate) use containerd::types;
pub(crate) use runtime::v1 as cri;

//! Reads image bundles: untrusted bytes in, checked images out; and writes them.
//!
//! Everything that parses bytes from outside stands in this crate, which opens no socket, starts
//! no task, runs no unsafe code and bounds its memory whatever the input is (see [`limits`]).
//!
//! The way through it: [`codec`] decodes the outer file, [`tar`] reads headers, [`archive`]
//! knows which entry stands where, `layout` and `docker` find the images in it, [`image`]
//! follows each from its index to its layers, and [`open`] puts the answer together as a
//! [`Bundle`]; [`verify`] looks at everything in it. [`mod@write`] is the way back: contents in, a
//! bundle out.
#![forbid(unsafe_code)]

pub mod archive;
mod bundle;
mod check;
mod claims;
pub mod codec;
mod content;
pub mod digest;
mod docker;
pub mod document;
mod documents;
pub mod escape;
mod fault;
mod given;
mod graph;
pub mod image;
pub mod json;
mod layout;
mod left_out;
pub mod limits;
pub mod name;
mod naming;
pub mod open;
mod pass;
pub mod platform;
mod take;
pub mod tar;
pub mod verdict;
pub mod verify;
pub mod write;

pub use bundle::{Bundle, Format};
pub use left_out::LeftOut;
pub use take::TakeError;
pub use verdict::Verdict;

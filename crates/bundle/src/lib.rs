//! Reads image bundles: untrusted bytes in, checked images out.
//!
//! Everything that parses bytes from outside stands in this crate, which opens no socket, starts
//! no task, runs no unsafe code and bounds its memory whatever the input is (see [`limits`]).
//!
//! The way through it: [`codec`] decodes the outer file, [`tar`] reads headers, [`archive`]
//! knows which entry stands where, [`layout`] and [`docker`] find the images in it, [`image`]
//! follows each from its index to its layers, and [`open`] puts the answer together as a
//! [`Bundle`].
#![forbid(unsafe_code)]

pub mod archive;
pub mod codec;
pub mod digest;
pub mod escape;
pub mod limits;
pub mod tar;
pub mod verdict;

pub use verdict::Verdict;

//! The program as it is shipped: a tar, a .deb and an .rpm, made from one list of files.
//!
//! Everything is a function of the program, the sources beside it and one time: made again, a
//! package is the same, byte for byte.

pub mod archive;
pub mod compress;
pub mod content;
pub mod deb;
pub mod elf;
pub mod notices;
pub mod pages;
pub mod release;
pub mod rpm;

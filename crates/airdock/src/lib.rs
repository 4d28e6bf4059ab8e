//! airdock keeps the container images of a node in step with a directory of image bundles.
//!
//! [`cli`] is what is typed, [`config`] what is meant; [`agent`] is the way of a bundle, one
//! stage a file; [`store`] is where images go; [`output`] is the only place that prints;
//! [`pack`] makes bundles, of what [`workload`] finds in the files that people have, and [`pull`]
//! gets from registries, and [`reader`] takes out of bundles; [`service`] talks to the service
//! manager, [`confine`] gives up what the agent doesn't need.

pub mod admin;
pub mod agent;
pub mod cli;
pub mod compare;
pub mod config;
pub mod confine;
pub mod doctor;
pub mod exit;
pub mod logging;
mod memory;
pub mod output;
pub mod pack;
pub mod pull;
pub mod reader;
pub mod service;
pub mod store;
pub mod workload;

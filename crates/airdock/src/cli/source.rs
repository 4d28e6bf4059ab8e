//! Where images come from, as it is typed.

use std::convert::Infallible;
use std::path::PathBuf;
use std::str::FromStr;

use airdock_bundle::platform::Platform;

use super::options::GlobalOptions;
use super::pull_options::PullOptions;
use crate::pack::PackError;
use crate::pack::origin::containerd::ContainerdOrigin;
use crate::pack::origin::{Origin, OriginError};
use crate::reader::Reader;

const CONTAINERD: &str = "containerd:";
const REGISTRY: &str = "registry";

/// A source as it is typed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Source {
    /// A bundle or a layout directory.
    Bundle(PathBuf),
    /// A containerd behind its socket.
    Containerd(PathBuf),
    /// The registry of each name.
    Registry,
}

impl FromStr for Source {
    type Err = Infallible;

    fn from_str(typed: &str) -> Result<Self, Self::Err> {
        Ok(match typed.strip_prefix(CONTAINERD) {
            Some(socket) => Self::Containerd(socket.into()),
            None if typed == REGISTRY => Self::Registry,
            None => Self::Bundle(typed.strip_prefix("oci:").unwrap_or(typed).into()),
        })
    }
}

impl Source {
    /// The origin that is meant.
    pub(super) async fn open(
        &self,
        platforms: &[Platform],
        global: &GlobalOptions,
        pull: &PullOptions,
    ) -> anyhow::Result<Origin> {
        match self {
            Self::Bundle(path) => {
                let bundle = Reader::open(path, platforms);
                let bundle = bundle.map_err(OriginError::from);
                Ok(Origin::Bundle(bundle.map_err(PackError::from)?))
            }
            Self::Containerd(socket) => {
                let namespace = &global.settings.namespace;
                let connected = ContainerdOrigin::connect(socket, namespace).await;
                let connected = connected.map_err(OriginError::from);
                Ok(Origin::Containerd(connected.map_err(PackError::from)?))
            }
            Self::Registry => Ok(Origin::Registry(pull.open()?)),
        }
    }
}

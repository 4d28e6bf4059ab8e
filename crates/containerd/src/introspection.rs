//! Which containerd this is, and what its plugins tell about themselves.

use std::collections::BTreeMap;

use crate::client::{Client, service};
use crate::error::{Call, Error, Unreachable};
use crate::proto::introspection::PluginsRequest;
use crate::proto::introspection::introspection_client::IntrospectionClient;
use crate::proto::version::version_client::VersionClient;

/// A release as the daemon names it: `1.7.24`, `v2.1.4`, with its distributor's suffix.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Version {
    pub version: String,
    pub revision: String,
}

impl Client {
    /// The daemon's release; also the way to ask whether anybody is there, and whether it is
    /// containerd.
    pub async fn version(&self) -> Result<Version, Error> {
        let call = Call::new("version.Version", "");
        let request = self.request(());
        let mut service = service!(self, VersionClient<_>);
        match self.answer(&call, service.version(request)).await {
            Ok(found) => Ok(Version {
                version: found.version,
                revision: found.revision,
            }),
            Err(Error::Unimplemented { message, .. }) => Err(Error::Connect {
                socket: self.socket().to_path_buf(),
                reason: Unreachable::NotContainerd(message),
            }),
            Err(error) => Err(error),
        }
    }

    /// A value that a plugin exports, such as the `root` directory of a snapshotter. None when
    /// the plugin is absent or exports no such value.
    pub async fn plugin_export(
        &self,
        kind: &str,
        id: &str,
        export: &str,
    ) -> Result<Option<String>, Error> {
        Ok(self.plugin_exports(kind, export).await?.remove(id))
    }

    /// The same of all plugins of a kind, by their ids.
    pub async fn plugin_exports(
        &self,
        kind: &str,
        export: &str,
    ) -> Result<BTreeMap<String, String>, Error> {
        let call = Call::new("introspection.Plugins", kind);
        let filters = vec![format!("type=={kind:?}")];
        let request = self.request(PluginsRequest { filters });
        let mut service = service!(self, IntrospectionClient<_>);
        let plugins = self.answer(&call, service.plugins(request)).await?.plugins;
        let exports = plugins.into_iter().filter_map(|mut plugin| {
            let value = plugin.exports.remove(export)?;
            Some((plugin.id, value))
        });
        Ok(exports.collect())
    }
}

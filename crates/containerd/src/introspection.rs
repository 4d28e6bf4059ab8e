//! Which containerd this is, and what its plugins tell about themselves.

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
        let call = Call::new("introspection.Plugins", format!("{kind} {id}"));
        let filters = vec![format!("type=={kind:?},id=={id:?}")];
        let request = self.request(PluginsRequest { filters });
        let mut service = service!(self, IntrospectionClient<_>);
        let plugins = self.answer(&call, service.plugins(request)).await?.plugins;
        let mut exports = plugins.into_iter().map(|plugin| plugin.exports);
        Ok(exports.find_map(|mut exports| exports.remove(export)))
    }
}

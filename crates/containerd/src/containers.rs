//! Containers, and what they run from.

use futures_util::TryStreamExt;

use crate::client::{Client, service};
use crate::error::{Call, Error};
use crate::limits::CALL_DEADLINE;
use crate::proto::containers::ListContainersRequest;
use crate::proto::containers::containers_client::ContainersClient;

/// What a container was created from, running or not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Container {
    /// The image's name; empty where there is none. The name may have moved since.
    pub image: String,
    pub snapshotter: String,
    /// The snapshot that it writes to; empty where there is none.
    pub snapshot: String,
}

impl Client {
    /// All containers of the namespace.
    pub async fn containers(&self) -> Result<Vec<Container>, Error> {
        let call = Call::new("containers.ListStream", "");
        let request = self.request(ListContainersRequest::default());
        let mut service = service!(self, ContainersClient<_>);
        let pending = service.list_stream(request);
        self.messages(call, CALL_DEADLINE, pending)
            .map_ok(|message| {
                let container = message.container.unwrap_or_default();
                Container {
                    image: container.image,
                    snapshotter: container.snapshotter,
                    snapshot: container.snapshot_key,
                }
            })
            .try_collect()
            .await
    }
}

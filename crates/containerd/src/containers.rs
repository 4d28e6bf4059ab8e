//! Which images containers use.

use std::collections::BTreeSet;

use futures_util::{TryStreamExt, future};

use crate::client::{Client, service};
use crate::error::{Call, Error};
use crate::limits::CALL_DEADLINE;
use crate::proto::containers::ListContainersRequest;
use crate::proto::containers::containers_client::ContainersClient;

impl Client {
    /// The image names that containers were created from, running or not.
    pub async fn containers_images(&self) -> Result<BTreeSet<String>, Error> {
        let call = Call::new("containers.ListStream", "");
        let request = self.request(ListContainersRequest::default());
        let mut service = service!(self, ContainersClient<_>);
        let pending = service.list_stream(request);
        let images = self
            .messages(call, CALL_DEADLINE, pending)
            .map_ok(|message| message.container.unwrap_or_default().image);
        images
            .try_filter(|image| future::ready(!image.is_empty()))
            .try_collect()
            .await
    }
}

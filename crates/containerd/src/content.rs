//! The content store: blobs by digest, and ingests, which are blobs on their way in.

mod session;
mod wire;
pub mod write;

use bytes::Bytes;
use futures_util::stream::BoxStream;
use futures_util::{StreamExt, TryStreamExt, future};
use prost::Message;
use prost_types::FieldMask;

use crate::Labels;
use crate::client::{Client, service};
use crate::error::{Call, Error, existed, optional};
use crate::limits::CALL_DEADLINE;
use crate::listing::{Listed, Listing};
use crate::proto::content::content_client::ContentClient;
use crate::proto::content::{
    AbortRequest, DeleteContentRequest, Info, InfoRequest, ListContentRequest, ListStatusesRequest,
    ReadContentRequest, UpdateRequest,
};
use crate::proto::unsigned;

/// A blob in the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContentInfo {
    pub digest: String,
    /// In bytes.
    pub size: u64,
    pub labels: Labels,
}

/// A blob on its way in, or left behind by a writer that gave up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ingest {
    pub reference: String,
    /// Bytes that the daemon has.
    pub offset: u64,
    /// Bytes that it expects, 0 where the writer didn't say.
    pub total: u64,
}

impl Client {
    /// Every blob of the namespace, in one call.
    pub async fn content_list(&self) -> Result<Vec<ContentInfo>, Error> {
        self.content_listing().await?.decoded().collect()
    }

    /// The same, not decoded yet.
    pub async fn content_listing(&self) -> Result<Listing<ContentInfo>, Error> {
        let call = Call::new("content.List", "");
        let request = self.request(ListContentRequest::default());
        let mut service = service!(self, ContentClient<_>);
        let pending = service.list(request);
        let messages = self.messages(call.clone(), CALL_DEADLINE, pending);
        let blobs = messages.try_fold(Vec::new(), async |mut blobs, message| {
            blobs.extend(message.info);
            Ok(blobs)
        });
        Ok(Listing::new(call, blobs.await?))
    }

    /// A blob's size and labels, if the namespace has it.
    pub async fn content_info(&self, digest: &str) -> Result<Option<ContentInfo>, Error> {
        let call = Call::new("content.Info", digest);
        let digest = digest.to_owned();
        let request = self.request(InfoRequest { digest });
        let mut service = service!(self, ContentClient<_>);
        let answer = optional(self.answer(&call, service.info(request)).await)?;
        Ok(answer.and_then(|it| it.info).map(ContentInfo::from))
    }

    /// Sets `labels` on a blob and leaves its other labels alone. An empty value removes a label.
    pub async fn content_update_labels(&self, digest: &str, labels: Labels) -> Result<(), Error> {
        let call = Call::new("content.Update", digest);
        let paths = labels.keys().map(|key| format!("labels.{key}")).collect();
        let message = UpdateRequest {
            info: Some(Info {
                digest: digest.to_owned(),
                labels,
                ..Info::default()
            }),
            update_mask: Some(FieldMask { paths }),
        };
        let mut service = service!(self, ContentClient<_>);
        let pending = service.update(self.request(message));
        self.answer(&call, pending).await?;
        Ok(())
    }

    /// Removes a blob from the namespace, whatever refers to it. False when it wasn't there.
    pub async fn content_delete(&self, digest: &str) -> Result<bool, Error> {
        let call = Call::new("content.Delete", digest);
        let digest = digest.to_owned();
        let request = self.request(DeleteContentRequest { digest });
        let mut service = service!(self, ContentClient<_>);
        existed(self.answer(&call, service.delete(request)).await)
    }

    /// A blob's bytes, in order.
    pub fn content_read(&self, digest: &str) -> BoxStream<'static, Result<Bytes, Error>> {
        let call = Call::new("content.Read", digest);
        let request = self.request(ReadContentRequest {
            digest: digest.to_owned(),
            ..ReadContentRequest::default()
        });
        let mut service = service!(self, ContentClient<_>);
        let pending = async move { service.read(request).await };
        self.messages(call, CALL_DEADLINE, pending)
            .map_ok(|message| message.data)
            .try_filter(|data| future::ready(!data.is_empty()))
            .boxed()
    }

    /// The ingests whose reference starts with `prefix`.
    pub async fn ingests(&self, prefix: &str) -> Result<Vec<Ingest>, Error> {
        let call = Call::new("content.ListStatuses", "");
        let request = self.request(ListStatusesRequest::default());
        let mut service = service!(self, ContentClient<_>);
        let answer = self.answer(&call, service.list_statuses(request)).await?;
        let ingests = answer.statuses.into_iter().map(Ingest::from);
        Ok(ingests
            .filter(|ingest| ingest.reference.starts_with(prefix))
            .collect())
    }

    /// Drops an ingest, even from under the feet of a writer that is at work on it: for our own
    /// references only. False when there was none.
    pub async fn abort(&self, reference: &str) -> Result<bool, Error> {
        let call = Call::new("content.Abort", reference);
        let r#ref = reference.to_owned();
        let request = self.request(AbortRequest { r#ref });
        let mut service = service!(self, ContentClient<_>);
        existed(self.answer(&call, service.abort(request)).await)
    }
}

impl Listed for ContentInfo {
    const NESTED: Option<u32> = None;

    fn decode(call: &Call, message: Bytes) -> Result<Self, Error> {
        let info = Info::decode(message).map_err(|_| Error::Malformed {
            call: call.clone(),
            field: "a blob's record that can be read",
        })?;
        Ok(info.into())
    }
}

impl From<Info> for ContentInfo {
    fn from(info: Info) -> ContentInfo {
        ContentInfo {
            digest: info.digest,
            size: unsigned(info.size),
            labels: info.labels,
        }
    }
}

impl From<crate::proto::content::Status> for Ingest {
    fn from(status: crate::proto::content::Status) -> Ingest {
        Ingest {
            reference: status.r#ref,
            offset: unsigned(status.offset),
            total: unsigned(status.total),
        }
    }
}

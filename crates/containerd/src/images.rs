//! Image records: names that point at a target in the content store.

use std::time::SystemTime;

use bytes::Bytes;
use prost::Message;
use prost_types::FieldMask;

use crate::Labels;
use crate::client::{Client, service};
use crate::error::{Call, Error, existed, optional};
use crate::limits::{CALL_DEADLINE, SYNC_DEADLINE};
use crate::listing::{Listed, Listing};
use crate::proto::images::images_client::ImagesClient;
use crate::proto::images::{
    CreateImageRequest, DeleteImageRequest, GetImageRequest, Image, ListImagesRequest,
    UpdateImageRequest,
};
use crate::proto::types::Descriptor;
use crate::proto::{signed, unsigned};

/// What a name points at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    pub media_type: String,
    pub digest: String,
    /// In bytes.
    pub size: u64,
}

/// A name in the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    pub name: String,
    pub target: Target,
    pub labels: Labels,
    /// Set by the daemon; ignored in what we send.
    pub created: Option<SystemTime>,
    pub updated: Option<SystemTime>,
}

impl Client {
    /// The records that match any of `filters` (containerd's filter syntax), all without filters.
    pub async fn images(&self, filters: &[&str]) -> Result<Vec<Record>, Error> {
        self.image_listing(filters).await?.decoded().collect()
    }

    /// The same, not decoded yet.
    pub async fn image_listing(&self, filters: &[&str]) -> Result<Listing<Record>, Error> {
        let call = Call::new("images.List", filters.join(" "));
        let filters = filters.iter().map(|&filter| filter.to_owned()).collect();
        let request = self.request(ListImagesRequest { filters });
        let mut service = service!(self, ImagesClient<_>);
        let answer = self.answer(&call, service.list(request)).await?;
        Ok(Listing::new(call, answer.images))
    }

    /// The record of a name, if there is one.
    pub async fn image(&self, name: &str) -> Result<Option<Record>, Error> {
        let call = Call::new("images.Get", name);
        let name = name.to_owned();
        let request = self.request(GetImageRequest { name });
        let mut service = service!(self, ImagesClient<_>);
        let answer = optional(self.answer(&call, service.get(request)).await)?;
        let image = answer.and_then(|answer| answer.image);
        image.map(|image| record(&call, image)).transpose()
    }

    /// Creates a name that must not exist yet ([`Error::AlreadyExists`]).
    pub async fn image_create(&self, lease: Option<&str>, record: &Record) -> Result<(), Error> {
        let call = Call::new("images.Create", &record.name).under(lease);
        let image = Some(image(record));
        let request = self.leased(&call, CreateImageRequest { image })?;
        let mut service = service!(self, ImagesClient<_>);
        self.answer(&call, service.create(request)).await?;
        Ok(())
    }

    /// Changes the fields of an existing name that `mask` lists (`target`, `labels.<key>`), and
    /// no others. A label that is listed but absent from `record` is removed.
    pub async fn image_update(
        &self,
        lease: Option<&str>,
        record: &Record,
        mask: &[&str],
    ) -> Result<(), Error> {
        let call = Call::new("images.Update", &record.name).under(lease);
        let paths = mask.iter().map(|&path| path.to_owned()).collect();
        let message = UpdateImageRequest {
            image: Some(image(record)),
            update_mask: Some(FieldMask { paths }),
        };
        let request = self.leased(&call, message)?;
        let mut service = service!(self, ImagesClient<_>);
        self.answer(&call, service.update(request)).await?;
        Ok(())
    }

    /// Removes a name; `sync` waits for the garbage collection that follows. False when there was
    /// no such name.
    pub async fn image_delete(&self, name: &str, sync: bool) -> Result<bool, Error> {
        let call = Call::new("images.Delete", name);
        let name = name.to_owned();
        let request = self.request(DeleteImageRequest { name, sync });
        let deadline = if sync { SYNC_DEADLINE } else { CALL_DEADLINE };
        let mut service = service!(self, ImagesClient<_>);
        let answer = self.answer_within(deadline, &call, service.delete(request));
        existed(answer.await)
    }
}

impl Listed for Record {
    /// The target, for its annotations.
    const NESTED: Option<u32> = Some(3);

    fn decode(call: &Call, message: Bytes) -> Result<Self, Error> {
        let image = Image::decode(message).map_err(|_| Error::Malformed {
            call: call.clone(),
            field: "a record that can be read",
        })?;
        record(call, image)
    }
}

impl From<&Target> for Descriptor {
    fn from(target: &Target) -> Descriptor {
        Descriptor {
            media_type: target.media_type.clone(),
            digest: target.digest.clone(),
            size: signed(target.size),
            ..Descriptor::default()
        }
    }
}

impl From<Descriptor> for Target {
    fn from(target: Descriptor) -> Target {
        Target {
            media_type: target.media_type,
            digest: target.digest,
            size: unsigned(target.size),
        }
    }
}

fn image(record: &Record) -> Image {
    Image {
        name: record.name.clone(),
        labels: record.labels.clone(),
        target: Some((&record.target).into()),
        ..Image::default()
    }
}

fn record(call: &Call, image: Image) -> Result<Record, Error> {
    let target = image.target.ok_or_else(|| Error::Malformed {
        call: call.clone(),
        field: "target",
    })?;
    Ok(Record {
        name: image.name,
        target: target.into(),
        labels: image.labels,
        created: image.created_at.and_then(|time| time.try_into().ok()),
        updated: image.updated_at.and_then(|time| time.try_into().ok()),
    })
}

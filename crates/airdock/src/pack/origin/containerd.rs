//! A running containerd as an origin.

use std::collections::HashMap;
use std::io::{self, Read};
use std::path::Path;

use airdock_bundle::digest::Digest;
use airdock_bundle::document::Descriptor;
use airdock_bundle::limits;
use airdock_bundle::name::Name;
use airdock_containerd::{Client, Error};
use bytes::{Buf as _, Bytes, BytesMut};
use futures_util::StreamExt as _;
use futures_util::stream::BoxStream;
use tokio::runtime::Handle;

use super::{Blob, Blobs, Wanted};

/// A containerd that images are taken from.
#[derive(Debug)]
pub struct ContainerdOrigin {
    client: Client,
    /// What it holds, so that what is lacking is known before anything is written.
    sizes: HashMap<String, u64>,
}

impl ContainerdOrigin {
    /// Connects, and asks for what is there.
    pub async fn connect(socket: &Path, namespace: &str) -> Result<Self, Error> {
        let client = Client::connect(socket, namespace)?;
        let content = client.content_list().await?;
        let sizes = content.into_iter().map(|blob| (blob.digest, blob.size));
        Ok(Self {
            sizes: sizes.collect(),
            client,
        })
    }

    /// Where it listens.
    pub fn socket(&self) -> &Path {
        self.client.socket()
    }

    /// What a name stands for: the record of its tag, or the one by digest that an import or a
    /// pull leaves beside it.
    pub async fn resolve(&self, name: &Name) -> Result<Option<Descriptor>, Error> {
        let name = name.clone().tag_first().to_string();
        let record = self.client.image(&name).await?;
        let target = record.map(|record| record.target);
        let target = target.and_then(|target| {
            let digest = target.digest.parse().ok()?;
            Some(Descriptor::new(&target.media_type, digest, target.size))
        });
        Ok(target)
    }

    /// A document's bytes.
    pub async fn document(&self, descriptor: &Descriptor) -> Result<Option<Bytes>, Error> {
        if !self.has(descriptor) || descriptor.size > limits::CONFIG {
            return Ok(None);
        }
        let mut stream = self.client.content_read(descriptor.digest.as_str());
        let mut bytes = BytesMut::new();
        while let Some(piece) = stream.next().await {
            bytes.extend_from_slice(&piece?);
        }
        Ok(Some(bytes.freeze()))
    }

    /// Whether it has a blob of this digest and size.
    pub fn has(&self, descriptor: &Descriptor) -> bool {
        self.sizes.get(descriptor.digest.as_str()) == Some(&descriptor.size)
    }

    /// Layers, to be read when they are written.
    pub fn blobs(&self, wanted: &[Wanted]) -> Blobs {
        let here = wanted.iter().filter(|wanted| self.has(&wanted.descriptor));
        let blob = |wanted: &Wanted| {
            let digest = wanted.descriptor.digest.clone();
            let blob = StoredBlob {
                client: self.client.clone(),
                digest: digest.clone(),
                runtime: Handle::current(),
            };
            (digest, Blob::Stored(blob))
        };
        here.map(blob).collect()
    }
}

/// A layer in a containerd.
#[derive(Clone, Debug)]
pub struct StoredBlob {
    client: Client,
    digest: Digest,
    runtime: Handle,
}

impl StoredBlob {
    /// Its bytes, from the start.
    pub fn open(&self) -> impl Read + use<> {
        StoredReader {
            stream: self.client.content_read(self.digest.as_str()),
            runtime: self.runtime.clone(),
            piece: Bytes::new(),
        }
    }
}

/// Waits for pieces: never on a thread of the runtime.
struct StoredReader {
    stream: BoxStream<'static, Result<Bytes, Error>>,
    runtime: Handle,
    piece: Bytes,
}

impl Read for StoredReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.piece.is_empty() {
            match self.runtime.block_on(self.stream.next()) {
                Some(piece) => self.piece = piece.map_err(io::Error::other)?,
                None => return Ok(0),
            }
        }
        let count = buffer.len().min(self.piece.len());
        let (now, _) = buffer.split_at_mut(count);
        self.piece.copy_to_slice(now);
        Ok(count)
    }
}

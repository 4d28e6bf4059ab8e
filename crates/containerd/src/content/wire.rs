//! The Write call, with the bytes of blobs going out as they are.
//!
//! A generated client copies every message into a buffer of its own. Here a message is two pieces:
//! all but its data, and the data. The wire is the same (gRPC over HTTP/2, "Length-Prefixed-Message").

use std::convert::Infallible;
use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::{BufMut, Bytes, BytesMut};
use http::{HeaderValue, header};
use http_body::{Body, Frame};
use prost::Message;
use prost::encoding::{WireType, encode_key, encode_varint, encoded_len_varint, key_len};
use tokio::sync::mpsc::UnboundedReceiver;
use tonic::codec::Codec;
use tonic::{Request, Status, Streaming};
use tonic_prost::ProstCodec;
use tower::Service;

use crate::client::Client;
use crate::limits::MESSAGE_SIZE;
use crate::proto::content::{WriteContentRequest, WriteContentResponse};

const PATH: &str = "/containerd.services.content.v1.Content/Write";

/// The number of `data` in `WriteContentRequest`.
const DATA: u32 = 6;

/// "Not compressed", and four bytes of length.
const PREFIX: usize = 5;

/// Messages as they are queued; the call's request ends when the queue's other end is dropped.
#[derive(Debug)]
pub(super) struct Messages {
    queue: UnboundedReceiver<WriteContentRequest>,
    /// The data of the message whose beginning is out.
    data: Option<Bytes>,
}

impl Messages {
    pub(super) fn new(queue: UnboundedReceiver<WriteContentRequest>) -> Self {
        Self { queue, data: None }
    }
}

impl Body for Messages {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if let Some(data) = self.data.take() {
            return Poll::Ready(Some(Ok(Frame::data(data))));
        }
        self.queue.poll_recv(context).map(|message| {
            let (beginning, data) = pieces(message?);
            self.data = (!data.is_empty()).then_some(data);
            Some(Ok(Frame::data(beginning)))
        })
    }
}

/// A message up to its data, and its data. That the data come last is as good as any order
/// (protobuf's encoding, "Field Order").
fn pieces(mut message: WriteContentRequest) -> (Bytes, Bytes) {
    let data = std::mem::take(&mut message.data);
    let head = match data.len() {
        0 => 0,
        length => key_len(DATA) + encoded_len_varint(length as u64),
    };
    let fields = message.encoded_len() + head;
    let mut beginning = BytesMut::with_capacity(PREFIX + fields);
    beginning.put_u8(0);
    beginning.put_u32(u32::try_from(fields + data.len()).unwrap_or(u32::MAX));
    message.encode_raw(&mut beginning);
    if !data.is_empty() {
        encode_key(DATA, WireType::LengthDelimited, &mut beginning);
        encode_varint(data.len() as u64, &mut beginning);
    }
    (beginning.freeze(), data)
}

/// Opens a Write stream. `request` carries the headers of the call.
pub(super) async fn write(
    client: &Client,
    request: Request<Messages>,
) -> Result<Streaming<WriteContentResponse>, Status> {
    let mut channel = client.channel();
    let failed = |error: tonic::transport::Error| Status::from_error(Box::new(error));
    poll_fn(|context| channel.poll_ready(context))
        .await
        .map_err(failed)?;
    let response = channel.call(post(request)).await.map_err(failed)?;
    let decoder = ProstCodec::<WriteContentRequest, WriteContentResponse>::default().decoder();
    match Status::from_header_map(response.headers()) {
        None => {
            let status = response.status();
            let (body, limit) = (response.into_body(), Some(MESSAGE_SIZE));
            Ok(Streaming::new_response(decoder, body, status, None, limit))
        }
        Some(status) if status.code() == tonic::Code::Ok => {
            Ok(Streaming::new_empty(decoder, response.into_body()))
        }
        Some(status) => Err(status),
    }
}

fn post(request: Request<Messages>) -> http::Request<tonic::body::Body> {
    let (metadata, _, messages) = request.into_parts();
    let mut post = http::Request::new(tonic::body::Body::new(messages));
    *post.method_mut() = http::Method::POST;
    *post.uri_mut() = http::Uri::from_static(PATH);
    *post.version_mut() = http::Version::HTTP_2;
    *post.headers_mut() = metadata.into_headers();
    let grpc = [
        (header::TE, "trailers"),
        (header::CONTENT_TYPE, "application/grpc"),
    ];
    for (name, value) in grpc {
        let value = HeaderValue::from_static(value);
        post.headers_mut().insert(name, value);
    }
    post
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Labels;

    fn message(data: &'static [u8]) -> WriteContentRequest {
        WriteContentRequest {
            action: 2,
            r#ref: "airdock-x".to_owned(),
            total: 300,
            expected: "sha256:…".to_owned(),
            offset: 7,
            data: Bytes::from_static(data),
            labels: Labels::from([("key".to_owned(), "value".to_owned())]),
        }
    }

    #[test]
    fn the_pieces_of_a_message_are_the_message() {
        for data in [&b""[..], b"x", &[7; 300]] {
            let (beginning, rest) = pieces(message(data));
            let whole = [beginning.as_ref(), rest.as_ref()].concat();
            let (prefix, body) = whole.split_at(PREFIX);
            assert_eq!(prefix[0], 0);
            let length = u32::from_be_bytes(prefix[1..].try_into().unwrap());
            assert_eq!(length as usize, body.len());
            assert_eq!(WriteContentRequest::decode(body).unwrap(), message(data));
        }
    }

    #[test]
    fn data_are_not_copied() {
        let data = Bytes::from(vec![1; 100]);
        let (_, given) = pieces(WriteContentRequest {
            data: data.clone(),
            ..WriteContentRequest::default()
        });
        assert_eq!(given.as_ptr(), data.as_ptr());
    }
}

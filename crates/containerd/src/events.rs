//! The daemon's events: hints that something which we care about has changed.

use futures_util::stream::BoxStream;
use futures_util::{StreamExt, TryStreamExt, future};
use prost::Message;

use crate::client::{Client, service};
use crate::error::{Call, Error};
use crate::limits::EVENTS_IDLE;
use crate::proto::events::events_client::EventsClient;
use crate::proto::events::{Envelope, Subject, SubscribeRequest};

/// What happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Topic {
    ImageCreate,
    ImageUpdate,
    ImageDelete,
    ContentDelete,
}

impl Topic {
    pub const ALL: [Topic; 4] = [
        Topic::ImageCreate,
        Topic::ImageUpdate,
        Topic::ImageDelete,
        Topic::ContentDelete,
    ];

    /// As the daemon writes it.
    pub fn as_str(self) -> &'static str {
        match self {
            Topic::ImageCreate => "/images/create",
            Topic::ImageUpdate => "/images/update",
            Topic::ImageDelete => "/images/delete",
            Topic::ContentDelete => "/content/delete",
        }
    }

    fn parse(topic: &str) -> Option<Topic> {
        Topic::ALL.into_iter().find(|it| it.as_str() == topic)
    }
}

/// One event of this client's namespace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    pub topic: Topic,
    /// The image's name, or the blob's digest.
    pub name: String,
}

impl Client {
    /// Subscribes to `topics` of this client's namespace, at the first poll of the stream.
    ///
    /// The daemon doesn't confirm a subscription, it just sends the first event; it keeps no past
    /// events, and gives up on a reader that is slow. So whoever needs the truth lists it, after
    /// this stream was first polled and again from time to time. The stream ends with an error
    /// when the connection breaks; a new call subscribes again.
    pub fn events(&self, topics: &[Topic]) -> BoxStream<'static, Result<Event, Error>> {
        let filters = self.filters(topics);
        let request = self.request(SubscribeRequest { filters });
        let mut service = service!(self, EventsClient<_>);
        let pending = async move { service.subscribe(request).await };
        let call = Call::new("events.Subscribe", "");
        self.messages(call, EVENTS_IDLE, pending)
            .try_filter_map(|envelope| future::ok(event(envelope)))
            .boxed()
    }

    fn filters(&self, topics: &[Topic]) -> Vec<String> {
        let namespace = self.namespace();
        let filter =
            |topic: &Topic| format!("namespace=={namespace:?},topic=={:?}", topic.as_str());
        topics.iter().map(filter).collect()
    }
}

/// None for an event that we didn't ask for.
fn event(envelope: Envelope) -> Option<Event> {
    let topic = Topic::parse(&envelope.topic)?;
    let subject = Subject::decode(envelope.event?.value.as_slice()).ok()?;
    Some(Event {
        topic,
        name: subject.name,
    })
}

//! Metrics and health over HTTP on a loopback address; off unless an address is given.
//!
//! What is counted comes from events, what is measured from the status at the time of the
//! question. Nothing from an archive becomes a label.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use prometheus_client::encoding::{EncodeLabelSet, text::encode};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};
use tokio::net::TcpListener;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{mpsc, oneshot};

use super::document::{BundleState, Status};
use super::server::Query;
use crate::agent::event::Event;
use crate::output::Reporter;

/// Upper bounds of the import histogram, in seconds: from a bundle that was there already to one
/// of tens of gigabytes on a slow disk.
const IMPORT_BUCKETS: [f64; 8] = [0.1, 0.5, 1.0, 5.0, 15.0, 60.0, 300.0, 1800.0];

/// Why there are no metrics.
#[derive(Debug, thiserror::Error)]
pub enum MetricsError {
    /// Others than this node could ask.
    #[error("metrics address {0}: only loopback addresses are served; say 127.0.0.1:PORT")]
    NotLoopback(SocketAddr),
    /// It can't be listened on.
    #[error("metrics address {address}: {source}; choose another")]
    Io {
        /// The address.
        address: SocketAddr,
        /// The cause.
        source: std::io::Error,
    },
}

/// Starts to answer.
pub async fn serve(
    address: SocketAddr,
    queries: mpsc::Sender<Query>,
    reporter: &Reporter,
) -> Result<(), MetricsError> {
    if !address.ip().is_loopback() {
        return Err(MetricsError::NotLoopback(address));
    }
    let failed = |source| MetricsError::Io { address, source };
    let listener = TcpListener::bind(address).await.map_err(failed)?;
    let metrics = Arc::new(Metrics::new());
    tokio::spawn(count(Arc::clone(&metrics), reporter.clone()));
    let router = Router::new()
        .route("/metrics", get(scrape))
        .route("/healthz", get(|| async { "ok\n" }))
        .route("/readyz", get(ready))
        .with_state(Shared { queries, metrics });
    tokio::spawn(async move {
        // It ends with the process.
        drop(axum::serve(listener, router).await);
    });
    Ok(())
}

#[derive(Clone, Debug)]
struct Shared {
    queries: mpsc::Sender<Query>,
    metrics: Arc<Metrics>,
}

impl Shared {
    async fn status(&self) -> Option<Status> {
        let (reply, answer) = oneshot::channel();
        self.queries.send(reply).await.ok()?;
        answer.await.ok()
    }
}

async fn scrape(State(shared): State<Shared>) -> Response {
    let Some(status) = shared.status().await else {
        return StatusCode::SERVICE_UNAVAILABLE.into_response();
    };
    let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    match shared.metrics.text(&status) {
        Ok(text) => ([(header::CONTENT_TYPE, kind)], text).into_response(),
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

/// Ready when everything that stood in the directories at the start has come to an end.
async fn ready(State(shared): State<Shared>) -> Response {
    match shared.status().await {
        Some(status) if status.agent.ready => "ready\n".into_response(),
        _ => (StatusCode::SERVICE_UNAVAILABLE, "first pass not done\n").into_response(),
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ByState {
    state: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ByKind {
    kind: &'static str,
}

#[derive(Debug)]
struct Metrics {
    registry: Registry,
    bundles: Family<ByState, Gauge>,
    images: Family<ByState, Gauge>,
    store_reachable: Gauge,
    ready: Gauge,
    bytes_sent: Counter,
    bytes_skipped: Counter,
    imports: Histogram,
    errors: Family<ByKind, Counter>,
    last_success: Gauge,
    events_lost: Counter,
    restored: Counter,
    resyncs: Gauge,
}

impl Metrics {
    fn new() -> Self {
        let mut metrics = Self {
            registry: Registry::with_prefix("airdock"),
            bundles: Family::default(),
            images: Family::default(),
            store_reachable: Gauge::default(),
            ready: Gauge::default(),
            bytes_sent: Counter::default(),
            bytes_skipped: Counter::default(),
            imports: Histogram::new(IMPORT_BUCKETS),
            errors: Family::default(),
            last_success: Gauge::default(),
            events_lost: Counter::default(),
            restored: Counter::default(),
            resyncs: Gauge::default(),
        };
        metrics.register_states();
        metrics.register_counts();
        metrics
    }

    fn register_states(&mut self) {
        let registry = &mut self.registry;
        registry.register("bundles", "Bundles by state", self.bundles.clone());
        registry.register("images", "Names of images by state", self.images.clone());
        let reachable = self.store_reachable.clone();
        registry.register("store_reachable", "Whether the store answers", reachable);
        let ready = self.ready.clone();
        registry.register(
            "ready",
            "Whether the first pass over the directories is done",
            ready,
        );
        registry.register_with_unit(
            "last_success_timestamp",
            "When a bundle was loaded or found to be there, since the epoch",
            Unit::Seconds,
            self.last_success.clone(),
        );
        let resyncs = self.resyncs.clone();
        registry.register("resyncs", "Looks at the store since the start", resyncs);
    }

    fn register_counts(&mut self) {
        let registry = &mut self.registry;
        let sent = self.bytes_sent.clone();
        registry.register("bytes_sent", "Bytes that went to the store", sent);
        let skipped = self.bytes_skipped.clone();
        registry.register("bytes_skipped", "Bytes that were needed and there", skipped);
        registry.register_with_unit(
            "import",
            "How long the import of a bundle took",
            Unit::Seconds,
            self.imports.clone(),
        );
        registry.register("errors", "What went wrong, by kind", self.errors.clone());
        let lost = self.events_lost.clone();
        registry.register("events_lost", "Times that the kernel dropped events", lost);
        let restored = self.restored.clone();
        registry.register("restored", "Bundles whose images were put right", restored);
    }

    fn count(&self, event: &Event) {
        match event {
            Event::Loaded { totals, .. } => {
                self.bytes_sent.inc_by(totals.bytes_sent);
                self.bytes_skipped.inc_by(totals.bytes_skipped);
                self.imports.observe(totals.elapsed.as_secs_f64());
                self.succeeded();
            }
            Event::Unchanged { .. } => self.succeeded(),
            Event::EventsLost => drop(self.events_lost.inc()),
            Event::Restoring { .. } => drop(self.restored.inc()),
            event => {
                if let Some(kind) = error_kind(event) {
                    self.errors.get_or_create(&ByKind { kind }).inc();
                }
            }
        }
    }

    fn succeeded(&self) {
        self.last_success.set(jiff::Timestamp::now().as_second());
    }

    fn text(&self, status: &Status) -> Result<String, std::fmt::Error> {
        for state in BundleState::ALL {
            let bundles = status.bundles.iter().filter(|bundle| bundle.state == state);
            let label = ByState {
                state: state.as_str(),
            };
            self.bundles
                .get_or_create(&label)
                .set(gauge(bundles.count()));
        }
        for state in ["imported", "absent", "refused"] {
            let images = status.images.iter().filter(|image| image.state() == state);
            let label = ByState { state };
            self.images.get_or_create(&label).set(gauge(images.count()));
        }
        let reachable = status.store.is_reachable();
        self.store_reachable.set(i64::from(reachable));
        self.ready.set(i64::from(status.agent.ready));
        self.resyncs
            .set(i64::try_from(status.agent.resyncs).unwrap_or(i64::MAX));
        let mut text = String::new();
        encode(&mut text, &self.registry)?;
        Ok(text)
    }
}

fn gauge(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

fn error_kind(event: &Event) -> Option<&'static str> {
    match event {
        Event::Judged { verdict, .. } => Some(verdict.as_str()),
        Event::ImageRefused { .. } => Some("image_refused"),
        Event::Failed { .. } => Some("failed"),
        Event::StoreUnreachable { .. } => Some("store_unreachable"),
        Event::SourceMissing { .. } => Some("source_missing"),
        Event::NotUtf8 { .. } => Some("not_utf8"),
        Event::SourceUnsafe { .. } => Some("source_unsafe"),
        Event::NotReloaded { .. } => Some("configuration"),
        Event::Lost { .. } => Some("image_lost"),
        Event::LedgerFailed { .. } => Some("ledger"),
        Event::DamagedInStore { .. } => Some("damaged_in_store"),
        Event::SandboxMissing { .. } => Some("sandbox_missing"),
        Event::UnseenByCri { .. } => Some("unseen_by_cri"),
        Event::NotUnpacked { .. } => Some("not_unpacked"),
        _ => None,
    }
}

async fn count(metrics: Arc<Metrics>, reporter: Reporter) {
    let mut events = reporter.listen();
    loop {
        match events.recv().await {
            Ok(event) => metrics.count(&event),
            Err(RecvError::Lagged(_)) => {}
            Err(RecvError::Closed) => return,
        }
    }
}

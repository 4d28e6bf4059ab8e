//! Log lines on standard error: `time= level= msg= component=` and fields, or the same as JSON.

use std::fmt;

use clap::ValueEnum;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use tracing::{Event, Subscriber, level_filters::LevelFilter};
use tracing_logfmt::EventsFormatter;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields, format::Writer};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::util::SubscriberInitExt;

/// What our own events are told from.
const OURS: [&str; 3] = ["airdock", "airdock_bundle", "airdock_containerd"];

/// How log lines are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// `key=value` pairs, one line an event.
    #[default]
    Logfmt,
    /// One JSON object a line.
    Json,
}

/// The least important level that is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogLevel {
    /// Failures only.
    Error,
    /// And what an operator should look at.
    Warn,
    /// And what was done.
    #[default]
    Info,
    /// And why.
    Debug,
}

impl From<LogLevel> for LevelFilter {
    fn from(level: LogLevel) -> Self {
        match level {
            LogLevel::Error => Self::ERROR,
            LogLevel::Warn => Self::WARN,
            LogLevel::Info => Self::INFO,
            LogLevel::Debug => Self::DEBUG,
        }
    }
}

/// Starts logging. A second call changes nothing.
pub fn start(format: LogFormat, level: LogLevel) {
    let registry = tracing_subscriber::registry().with(filter(level));
    let started = match format {
        LogFormat::Logfmt => registry.with(logfmt_layer()).try_init(),
        LogFormat::Json => registry.with(json_layer()).try_init(),
    };
    // A test that runs commands in one process has logging already.
    drop(started);
}

/// Ours as asked for; of the libraries below only what goes wrong, for they tell of every frame.
fn filter(level: LogLevel) -> Targets {
    let level = LevelFilter::from(level);
    Targets::new()
        .with_default(level.min(LevelFilter::WARN))
        .with_targets(OURS.map(|target| (target, level)))
}

fn logfmt_layer<S>() -> impl tracing_subscriber::Layer<S>
where
    S: Subscriber + for<'a> LookupSpan<'a>,
{
    tracing_logfmt::builder()
        .with_target(false)
        .with_timestamp(false)
        .layer()
        .map_event_format(Timed)
        .with_writer(std::io::stderr)
}

fn json_layer<S>() -> impl tracing_subscriber::Layer<S>
where
    S: Subscriber + for<'a> LookupSpan<'a>,
{
    tracing_subscriber::fmt::layer()
        .json()
        .flatten_event(true)
        .with_target(false)
        .with_timer(UtcMillis)
        .with_writer(std::io::stderr)
}

/// Puts `time=` first, the key that k0s and containerd logs have, where the library says `ts=`.
struct Timed(EventsFormatter);

impl<S, N> FormatEvent<S, N> for Timed
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        write!(writer, "time={:.3} ", Timestamp::now())?;
        self.0.format_event(context, writer, event)
    }
}

struct UtcMillis;

impl tracing_subscriber::fmt::time::FormatTime for UtcMillis {
    fn format_time(&self, writer: &mut Writer<'_>) -> fmt::Result {
        write!(writer, "{:.3}", Timestamp::now())
    }
}

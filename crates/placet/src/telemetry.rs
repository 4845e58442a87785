//! Logs to standard error, and spans to a collector.

mod export;
mod otlp;
mod spans;

use std::sync::Arc;

use placet_gate::{Clock, Entropy};
use tracing::level_filters::LevelFilter;
use tracing_subscriber::{
    EnvFilter, Layer, Registry, filter::Targets, layer::SubscriberExt as _, util::SubscriberInitExt as _,
};

pub(crate) use self::export::Exporter;
use self::spans::Spans;
use crate::{
    cli::LogFormat,
    config::{Log, Telemetry},
    exit::usage,
};

type Boxed = Box<dyn Layer<Registry> + Send + Sync>;

/// Writes logs from here on. If a collector is configured, its exporter comes back: it has to be run.
pub(crate) fn start(
    log: &Log,
    telemetry: &Telemetry,
    format: LogFormat,
    clock: Arc<dyn Clock>,
    entropy: &dyn Entropy,
) -> anyhow::Result<Option<Exporter>> {
    let mut layers: Vec<Boxed> = vec![logs(&log.level, format)?];
    let exporter = match Exporter::to(telemetry)? {
        Some((exporter, queue)) => {
            // The work of other libraries is none of ours; and what the exporter does itself would never end.
            let ours = Targets::new().with_target("placet", LevelFilter::DEBUG);
            layers.push(Spans::new(queue, clock, entropy).with_filter(ours).boxed());
            Some(exporter)
        }
        None => None,
    };
    tracing_subscriber::registry().with(layers).init();
    Ok(exporter)
}

fn logs(level: &str, format: LogFormat) -> anyhow::Result<Boxed> {
    let filter = match std::env::var("PLACET_LOG") {
        Ok(filter) => EnvFilter::try_new(&filter).map_err(|error| usage(format!("PLACET_LOG: {error}")))?,
        Err(_) => EnvFilter::try_new(level).map_err(|error| usage(format!("log.level: {error}")))?,
    };
    let colour =
        std::io::IsTerminal::is_terminal(&std::io::stderr()) && std::env::var_os("NO_COLOR").is_none();
    let logs =
        tracing_subscriber::fmt::layer().with_writer(std::io::stderr).with_target(false).with_ansi(colour);
    Ok(match format {
        LogFormat::Text => logs.with_filter(filter).boxed(),
        LogFormat::Json => logs.json().with_filter(filter).boxed(),
    })
}

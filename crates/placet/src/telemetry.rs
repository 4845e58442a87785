//! Logs to standard error, and spans to a collector.

mod export;
mod otlp;
mod spans;

use std::sync::Arc;

use placet_gate::{Clock, Entropy};
use tracing::{Metadata, level_filters::LevelFilter};
use tracing_subscriber::{
    EnvFilter, Layer, Registry,
    field::RecordFields,
    filter::filter_fn,
    fmt::{
        FormatFields, FormattedFields,
        format::{DefaultFields, Writer},
    },
    layer::SubscriberExt as _,
    util::SubscriberInitExt as _,
};

pub(crate) use self::export::Exporter;
use self::spans::Spans;
use crate::{
    cli::LogFormat,
    config::{Log, Telemetry},
    exit::usage,
};

type BoxedLayer = Box<dyn Layer<Registry> + Send + Sync>;

/// Writes logs from here on. If a collector is configured, returns its exporter, which the caller must run.
pub(crate) fn start(
    log: &Log,
    telemetry: &Telemetry,
    format: LogFormat,
    clock: Arc<dyn Clock>,
    entropy: &dyn Entropy,
) -> anyhow::Result<Option<Exporter>> {
    let mut layers: Vec<BoxedLayer> = vec![logs(&log.level, format)?];
    let exporter = match Exporter::to(telemetry)? {
        Some((exporter, queue)) => {
            // Spans of other libraries are not exported, and those of the exporter itself would never end.
            let is_ours =
                |metadata: &Metadata<'_>| metadata.is_span() && metadata.target().starts_with("placet");
            let ours = filter_fn(is_ours).with_max_level_hint(LevelFilter::DEBUG);
            layers.push(Spans::new(queue, clock, entropy).with_filter(ours).boxed());
            Some(exporter)
        }
        None => None,
    };
    tracing_subscriber::registry().with(layers).init();
    Ok(exporter)
}

fn logs(level: &str, format: LogFormat) -> anyhow::Result<BoxedLayer> {
    let filter = match std::env::var("PLACET_LOG") {
        Ok(filter) => EnvFilter::try_new(&filter).map_err(|error| usage(format!("PLACET_LOG: {error}")))?,
        Err(_) => EnvFilter::try_new(level).map_err(|error| usage(format!("log.level: {error}")))?,
    };
    let colour =
        std::io::IsTerminal::is_terminal(&std::io::stderr()) && std::env::var_os("NO_COLOR").is_none();
    let logs =
        tracing_subscriber::fmt::layer().with_writer(std::io::stderr).with_target(false).with_ansi(colour);
    Ok(match format {
        LogFormat::Text => logs.fmt_fields(UniqueFields(DefaultFields::new())).with_filter(filter).boxed(),
        LogFormat::Json => logs.json().with_filter(filter).boxed(),
    })
}

/// Fields of spans as text. A field that is recorded twice appears once.
struct UniqueFields(DefaultFields);

impl<'w> FormatFields<'w> for UniqueFields {
    fn format_fields<R: RecordFields>(&self, writer: Writer<'w>, fields: R) -> std::fmt::Result {
        self.0.format_fields(writer, fields)
    }

    fn add_fields(
        &self,
        current: &'w mut FormattedFields<Self>,
        fields: &tracing::span::Record<'_>,
    ) -> std::fmt::Result {
        let mut more = String::new();
        self.0.format_fields(Writer::new(&mut more), fields)?;
        add(&mut current.fields, &more);
        Ok(())
    }
}

/// Adds fields that are not there yet.
fn add(fields: &mut String, more: &str) {
    let there = fields.as_str() == more
        || fields.starts_with(&format!("{more} "))
        || fields.ends_with(&format!(" {more}"))
        || fields.contains(&format!(" {more} "));
    if !there {
        if !fields.is_empty() {
            fields.push(' ');
        }
        fields.push_str(more);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_that_is_recorded_again_stands_in_the_line_once() {
        let mut fields = String::new();
        for more in
            ["method=\"GET\"", "request=1", "request=1", "request=12", "request=1", "status=20", "status=200"]
        {
            add(&mut fields, more);
        }
        assert_eq!(fields, "method=\"GET\" request=1 request=12 status=20 status=200");
    }
}

//! Finished spans go into a queue. Only the fields named here leave the process.

use std::{
    fmt::Debug,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use placet_gate::{Clock, Entropy};
use tokio::sync::mpsc;
use tracing::{
    Subscriber,
    field::{Field, Visit},
    span::{Attributes, Id, Record},
};
use tracing_subscriber::{Layer, layer::Context, registry::LookupSpan};

/// Longest text of a field.
const LONGEST: usize = 256;

/// The OpenTelemetry name of each field. Other fields are not exported, so arguments, reasons and tokens cannot
/// leave.
const FIELDS: [(&str, &str); 10] = [
    ("method", "http.request.method"),
    ("route", "http.route"),
    ("status", "http.response.status_code"),
    ("code", "placet.problem"),
    ("principal", "placet.principal"),
    ("request", "placet.request"),
    ("work", "placet.work"),
    ("channel", "placet.channel"),
    ("told", "placet.request"),
    ("outcome", "placet.outcome"),
];

/// Spans that a trace can begin with.
const ROOTS: [&str; 2] = ["call", "deliver"];

/// A span that ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FinishedSpan {
    pub(super) trace: u128,
    pub(super) id: u64,
    pub(super) parent: Option<u64>,
    pub(super) name: &'static str,
    /// Whether it is a call from outside.
    pub(super) call: bool,
    /// Microseconds since 1970.
    pub(super) from: i64,
    pub(super) to: i64,
    pub(super) fields: Vec<(&'static str, Value)>,
    pub(super) failed: bool,
}

/// The value of a field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Value {
    Text(String),
    Number(i64),
}

/// The layer.
pub(super) struct Spans {
    queue: mpsc::Sender<FinishedSpan>,
    clock: Arc<dyn Clock>,
    /// Ids mix a secret start and a counter, so they differ from each other and from those of other nodes.
    start: [u64; 3],
    count: AtomicU64,
}

impl Spans {
    pub(super) fn new(
        queue: mpsc::Sender<FinishedSpan>,
        clock: Arc<dyn Clock>,
        entropy: &dyn Entropy,
    ) -> Self {
        let mut bytes = [0; 24];
        entropy.fill(&mut bytes);
        let mut start = [0; 3];
        for (number, bytes) in start.iter_mut().zip(bytes.chunks_exact(8)) {
            *number = u64::from_le_bytes(bytes.try_into().unwrap_or_default());
        }
        Self { queue, clock, start, count: AtomicU64::new(0) }
    }

    /// Never zero, which means none.
    fn id(&self, of: usize, count: u64) -> u64 {
        let start = self.start.get(of).copied().unwrap_or_default();
        mixed(start.wrapping_add(count.wrapping_mul(0x9e37_79b9_7f4a_7c15))).max(1)
    }
}

/// The finalizer of splitmix64: one to one, and every bit depends on every other.
fn mixed(mut bits: u64) -> u64 {
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

impl<S> Layer<S> for Spans
where
    S: Subscriber + for<'a> LookupSpan<'a>,
{
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let Some(span) = context.span(id) else { return };
        let above = span.parent().and_then(|parent| {
            let extensions = parent.extensions();
            extensions.get::<FinishedSpan>().map(|parent| (parent.trace, parent.id))
        });
        // The server's own frequent reads belong to no call.
        if above.is_none() && !ROOTS.contains(&attributes.metadata().name()) {
            return;
        }
        let count = self.count.fetch_add(1, Ordering::Relaxed);
        let trace = match above {
            Some((trace, _)) => trace,
            None => (u128::from(self.id(1, count)) << 64) | u128::from(self.id(2, count)),
        };
        let mut ended = FinishedSpan {
            trace,
            id: self.id(0, count),
            parent: above.map(|(_, id)| id),
            name: attributes.metadata().name(),
            call: above.is_none() && attributes.metadata().name() == "call",
            from: self.clock.now().micros(),
            to: 0,
            fields: Vec::new(),
            failed: false,
        };
        attributes.record(&mut Fields(&mut ended));
        span.extensions_mut().insert(ended);
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        let Some(span) = context.span(id) else { return };
        if let Some(ended) = span.extensions_mut().get_mut::<FinishedSpan>() {
            values.record(&mut Fields(ended));
        }
    }

    fn on_close(&self, id: Id, context: Context<'_, S>) {
        let Some(span) = context.span(&id) else { return };
        let Some(mut ended) = span.extensions_mut().remove::<FinishedSpan>() else { return };
        ended.to = self.clock.now().micros().max(ended.from);
        if self.queue.try_send(ended).is_err() {
            super::export::count("dropped", 1);
        }
    }
}

/// Keeps what may leave.
struct Fields<'a>(&'a mut FinishedSpan);

impl Fields<'_> {
    fn keep(&mut self, field: &Field, value: Value) {
        let Some((_, name)) = FIELDS.iter().find(|(ours, _)| *ours == field.name()) else { return };
        self.0.fields.retain(|(kept, _)| kept != name);
        self.0.fields.push((name, value));
    }
}

impl Visit for Fields<'_> {
    fn record_u64(&mut self, field: &Field, value: u64) {
        // Only the server's own faults. A wrong call is the caller's fault.
        self.0.failed |= field.name() == "status" && value >= 500;
        self.keep(field, Value::Number(i64::try_from(value).unwrap_or(i64::MAX)));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        // The caller names the trace of the call. Whether it samples the trace does not matter to us.
        if field.name() == "traceparent" {
            if let Some((trace, parent)) = parent_of(value) {
                (self.0.trace, self.0.parent) = (trace, Some(parent));
            }
            return;
        }
        self.0.failed |= field.name() == "outcome" && value != "delivered";
        self.keep(field, Value::Text(value.chars().take(LONGEST).collect()));
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.record_str(field, &format!("{value:?}"));
    }
}

/// Trace and span of a `traceparent` header: <https://www.w3.org/TR/trace-context/#traceparent-header>.
fn parent_of(header: &str) -> Option<(u128, u64)> {
    let mut parts = header.split('-');
    let (version, trace, parent, flags) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
    let hex = |text: &str, length: usize| {
        text.len() == length && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
    };
    // Later versions may have more parts. The known one has four.
    let known = hex(version, 2) && version != "ff" && (version != "00" || parts.next().is_none());
    if !(known && hex(trace, 32) && hex(parent, 16) && hex(flags, 2)) {
        return None;
    }
    let (trace, parent) = (u128::from_str_radix(trace, 16).ok()?, u64::from_str_radix(parent, 16).ok()?);
    (trace != 0 && parent != 0).then_some((trace, parent))
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use placet_gate::{SystemClock, SystemEntropy};
    use tracing_subscriber::layer::SubscriberExt as _;

    use super::*;

    fn layer(room: usize) -> (Spans, mpsc::Receiver<FinishedSpan>) {
        let (queue, ended) = mpsc::channel(room);
        (Spans::new(queue, Arc::new(SystemClock::new()), &SystemEntropy), ended)
    }

    fn recorded(room: usize, work: impl FnOnce()) -> Vec<FinishedSpan> {
        let (layer, mut ended) = layer(room);
        tracing::subscriber::with_default(tracing_subscriber::registry().with(layer), work);
        std::iter::from_fn(|| ended.try_recv().ok()).collect()
    }

    #[test]
    fn a_span_inside_another_has_its_trace_and_names_it() {
        let spans = recorded(8, || {
            let call = tracing::info_span!("call", method = "GET");
            let _in = call.enter();
            drop(tracing::info_span!("write", work = "commands"));
        });
        let [write, call] = spans.as_slice() else { panic!("{spans:?}") };
        assert_eq!((write.trace, write.parent), (call.trace, Some(call.id)));
        assert_eq!((call.parent, call.call, write.call), (None, true, false));
        assert!(write.id != call.id && call.from <= write.from && write.to <= call.to);
    }

    #[test]
    fn only_named_fields_leave() {
        let spans = recorded(8, || {
            let call = tracing::info_span!(
                "call",
                method = "POST",
                arguments = "rm -rf /",
                principal = tracing::field::Empty
            );
            call.record("principal", "bot");
            call.record("principal", "bot-2");
            tracing::error!(parent: &call, token = "plk_secret", "it failed");
        });
        let text = |text: &str| Value::Text(text.to_owned());
        let fields = [("http.request.method", text("POST")), ("placet.principal", text("bot-2"))];
        assert_eq!(spans[0].fields, fields);
    }

    #[test]
    fn what_the_server_does_for_itself_is_left_out() {
        let spans = recorded(8, || {
            let read = tracing::info_span!("read", work = "head");
            let _in = read.enter();
            drop(tracing::info_span!("write", work = "prune"));
        });
        assert_eq!(spans, []);
    }

    #[test]
    fn what_finds_no_room_is_left_out_and_keeps_nobody_waiting() {
        let spans = recorded(2, || (0..5).for_each(|_| drop(tracing::info_span!("call"))));
        assert_eq!(spans.len(), 2);
    }

    #[test]
    fn ids_of_many_spans_differ() {
        let (layer, _ended) = layer(1);
        let ids: HashSet<u64> =
            (0..10_000).flat_map(|count| [0, 1, 2].map(|of| layer.id(of, count))).collect();
        assert_eq!(ids.len(), 30_000);
    }

    #[test]
    fn a_call_joins_the_trace_of_its_caller_if_the_header_is_good() {
        let good = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00";
        let known = (0x4bf9_2f35_77b3_4da6_a3ce_929d_0e0e_4736, 0x00f0_67aa_0ba9_02b7);
        assert_eq!(parent_of(good), Some(known));
        assert_eq!(parent_of(&good.replacen("00-", "cc-", 1).replace("b7-00", "b7-00-more")), Some(known));
        for bad in [
            "",
            "00",
            "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more",
            "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
            "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
            "00-4bf92f3577b34da6a3ce929d0e0e473-00f067aa0ba902b7-01",
            "00-+bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-1",
        ] {
            assert_eq!(parent_of(bad), None, "{bad}");
        }
        let spans = recorded(1, || drop(tracing::info_span!("call", traceparent = good)));
        assert_eq!((spans[0].trace, spans[0].parent, spans[0].call), (known.0, Some(known.1), true));
        assert_eq!(spans[0].fields, []);
    }
}

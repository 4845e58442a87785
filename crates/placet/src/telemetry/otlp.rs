//! The format of spans: OTLP/HTTP in JSON, <https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding>.

use serde_json::{Value as Json, json};

use super::spans::{FinishedSpan, Value};

/// A span that a server makes for a call, and one inside.
const SERVER: u8 = 2;
const INTERNAL: u8 = 1;
const ERROR: u8 = 2;

/// One export of spans, for the service of this name.
pub(super) fn export(service: &str, spans: &[FinishedSpan]) -> Vec<u8> {
    let resource = json!({ "attributes": [
        text("service.name", service),
        text("service.version", env!("CARGO_PKG_VERSION")),
    ] });
    let scope = json!({ "name": "placet", "version": env!("CARGO_PKG_VERSION") });
    let spans: Vec<Json> = spans.iter().map(span).collect();
    json!({ "resourceSpans": [{ "resource": resource, "scopeSpans": [{ "scope": scope, "spans": spans }] }] })
        .to_string()
        .into_bytes()
}

fn span(ended: &FinishedSpan) -> Json {
    let attributes: Vec<Json> = ended
        .fields
        .iter()
        .map(|(name, value)| match value {
            Value::Text(value) => text(name, value),
            // Numbers of 64 bits are written as text.
            Value::Number(value) => json!({ "key": name, "value": { "intValue": value.to_string() } }),
        })
        .collect();
    let mut span = json!({
        "traceId": format!("{:032x}", ended.trace),
        "spanId": format!("{:016x}", ended.id),
        "name": name(ended),
        "kind": if ended.call { SERVER } else { INTERNAL },
        "startTimeUnixNano": nanos(ended.from),
        "endTimeUnixNano": nanos(ended.to),
        "attributes": attributes,
        "status": if ended.failed { json!({ "code": ERROR }) } else { json!({}) },
    });
    if let (Some(parent), Some(span)) = (ended.parent, span.as_object_mut()) {
        span.insert("parentSpanId".to_owned(), Json::String(format!("{parent:016x}")));
    }
    span
}

/// A call is named by its method and route, as usual.
fn name(ended: &FinishedSpan) -> String {
    let field = |wanted: &str| match ended.fields.iter().find(|(name, _)| *name == wanted)? {
        (_, Value::Text(text)) => Some(text.as_str()),
        _ => None,
    };
    // An unknown method is not used in the name of a span.
    let method = field("http.request.method").map(|method| if method == "_OTHER" { "HTTP" } else { method });
    match (method, field("http.route")) {
        (Some(method), Some("none")) => method.to_owned(),
        (Some(method), Some(route)) => format!("{method} {route}"),
        _ => ended.name.to_owned(),
    }
}

fn nanos(micros: i64) -> String {
    (i128::from(micros) * 1000).to_string()
}

fn text(key: &str, value: &str) -> Json {
    json!({ "key": key, "value": { "stringValue": value } })
}

/// How many spans of an export a collector refused, by its answer.
pub(super) fn rejected(answer: &[u8]) -> u64 {
    let Ok(answer) = serde_json::from_slice::<Json>(answer) else { return 0 };
    let count = &answer["partialSuccess"]["rejectedSpans"];
    count.as_u64().or_else(|| count.as_str()?.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_is_written_as_the_protocol_says() {
        let ended = FinishedSpan {
            trace: 0x5b8e_fff7_9803_8103_d269_b633_813f_c60c,
            id: 0xeee1_9b7e_c3c1_b174,
            parent: Some(0xeee1_9b7e_c3c1_b173),
            name: "call",
            call: true,
            from: 1_544_712_660_000_000,
            to: 1_544_712_661_000_001,
            fields: vec![
                ("http.request.method", Value::Text("GET".to_owned())),
                ("http.route", Value::Text("/v1/requests/{id}".to_owned())),
                ("http.response.status_code", Value::Number(503)),
            ],
            failed: true,
        };
        let made: Json = serde_json::from_slice(&export("placet", &[ended])).unwrap();
        let version = env!("CARGO_PKG_VERSION");
        let service = json!({ "stringValue": "placet" });
        assert_eq!(
            made["resourceSpans"][0]["resource"]["attributes"][0],
            json!({ "key": "service.name", "value": service })
        );
        assert_eq!(
            made["resourceSpans"][0]["scopeSpans"][0]["scope"],
            json!({ "name": "placet", "version": version })
        );
        let attribute = |key: &str, value: Json| json!({ "key": key, "value": value });
        assert_eq!(
            made["resourceSpans"][0]["scopeSpans"][0]["spans"],
            json!([{
                "traceId": "5b8efff798038103d269b633813fc60c",
                "spanId": "eee19b7ec3c1b174",
                "parentSpanId": "eee19b7ec3c1b173",
                "name": "GET /v1/requests/{id}",
                "kind": 2,
                "startTimeUnixNano": "1544712660000000000",
                "endTimeUnixNano": "1544712661000001000",
                "attributes": [
                    attribute("http.request.method", json!({ "stringValue": "GET" })),
                    attribute("http.route", json!({ "stringValue": "/v1/requests/{id}" })),
                    attribute("http.response.status_code", json!({ "intValue": "503" })),
                ],
                "status": { "code": 2 },
            }])
        );
    }

    #[test]
    fn spans_that_a_collector_refused_are_counted_in_both_ways_of_writing_a_number() {
        assert_eq!(rejected(br#"{"partialSuccess":{"rejectedSpans":"3","errorMessage":"no"}}"#), 3);
        assert_eq!(rejected(br#"{"partialSuccess":{"rejectedSpans":2}}"#), 2);
        for none in [&b"{}"[..], b"", b"not json", br#"{"partialSuccess":{}}"#] {
            assert_eq!(rejected(none), 0);
        }
    }
}

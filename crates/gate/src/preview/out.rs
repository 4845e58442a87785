//! Calls that send something: to other servers, by e-mail, as messages.

use placet_core::{Preview, Segment, show};
use serde_json::Value;

use super::{
    args::{Args, Name},
    say::listed,
    text::{count, list, middle, quoted, value},
};

/// A call to another server.
pub(super) struct Http<'a> {
    /// None if no argument names it.
    method: Option<String>,
    url: &'a str,
    /// None if two programs could read the address differently.
    host: Option<String>,
    headers: Vec<(String, String)>,
    sends: HttpPayload,
    /// Names of what is asked for behind the address.
    asks: Vec<&'a str>,
    /// Whether the tool is known to make this call.
    known: bool,
}

/// The body of a call.
enum HttpPayload {
    Nothing,
    Text(String),
    /// JSON that is no text.
    Values,
}

const METHODS: &[&str] = &["get", "post", "put", "patch", "delete", "head"];
/// Tools that make one call and do nothing else.
const CALLS: &[&str] = &[
    "http",
    "http_request",
    "https_request",
    "send_http_request",
    "make_http_request",
    "http_call",
    "send_request",
    "make_request",
    "request",
    "api_request",
    "rest_request",
    "api_call",
    "rest_call",
    "call_api",
    "fetch",
    "web_fetch",
    "fetch_url",
    "url_fetch",
    "http_fetch",
    "curl",
    "post_webhook",
    "call_webhook",
    "send_webhook",
];
/// Tools among them that always send a GET, unless an argument says otherwise.
const GETS: &[&str] = &["fetch", "web_fetch", "fetch_url", "url_fetch", "http_fetch", "curl"];

impl<'a> Http<'a> {
    pub(super) fn read(name: &Name, args: &mut Args<'a>) -> Option<Self> {
        if !name
            .has(&["http", "https", "fetch", "request", "curl", "webhook", "api", "url", "rest", "requests"])
        {
            return None;
        }
        let url = args.text(&["url", "uri"])?;
        let method = args.maybe_text(&["method", "http_method"])?;
        let sends = match args.maybe(&["body", "data", "json", "payload"])? {
            None => HttpPayload::Nothing,
            Some((key, Value::String(text))) => {
                args.show_whole(&[Segment::Key(key)], text);
                HttpPayload::Text(show(text))
            }
            Some(_) => HttpPayload::Values,
        };
        let headers = match args.maybe(&["headers"])? {
            None => Vec::new(),
            Some((key, headers)) => {
                let mut out = Vec::new();
                for (name, value) in headers.as_object()? {
                    let value = value.as_str()?;
                    args.show_whole(&[Segment::Key(key), Segment::Key(name)], value);
                    out.push((show(name), show(value)));
                }
                out
            }
        };
        args.maybe(&["timeout", "timeout_ms", "timeout_seconds"])?;
        let asks = match args.maybe(&["params", "query_params", "queryParams"])? {
            None => Vec::new(),
            Some((_, params)) => params.as_object()?.keys().map(String::as_str).collect(),
        };
        if name.one_of(&["fetch"]) {
            for aside in [&["max_length"][..], &["start_index"]] {
                args.maybe(aside)?;
            }
        }
        if name.one_of(&["web_fetch"]) {
            args.maybe(&["prompt"])?;
        }
        let named = METHODS.iter().copied().find(|method| {
            name.one_of(&[
                &format!("http_{method}"),
                &format!("{method}_request"),
                &format!("http_{method}_request"),
                &format!("requests_{method}"),
                &format!("requests_{method}_tool"),
            ])
        });
        let known = named.is_some() || name.one_of(CALLS);
        let method = match (method, named) {
            (Some(method), _) if method.len() <= 20 && method.bytes().all(|b| b.is_ascii_alphabetic()) => {
                Some(method.to_owned())
            }
            (None, Some(named)) => Some(named.to_uppercase()),
            // A call with a body and without a method is not understood.
            (None, None) if matches!(sends, HttpPayload::Nothing) && name.one_of(GETS) => {
                Some("GET".to_owned())
            }
            _ => None,
        };
        Some(Self { method, url, host: placet_policy::host_of(url).ok(), headers, sends, asks, known })
    }

    pub(super) fn is_sure(&self) -> bool {
        self.known && self.method.is_some()
    }

    /// Whether it may change something: it has a body, or a method other than those that only read.
    pub(super) fn sends(&self) -> bool {
        let asks =
            |method: &str| ["GET", "HEAD", "OPTIONS"].iter().any(|known| known.eq_ignore_ascii_case(method));
        !matches!(self.sends, HttpPayload::Nothing)
            || self.method.as_deref().is_some_and(|method| !asks(method))
    }

    pub(super) fn facts(&self) -> String {
        value(&middle(self.url, 120), 130)
    }

    pub(super) fn effect(&self) -> String {
        let method = self.method.as_deref().unwrap_or("something");
        let sends = if matches!(self.sends, HttpPayload::Nothing) { "" } else { " with a body" };
        let asks = match self.asks.as_slice() {
            [] => String::new(),
            asks => format!(" with the query {}", listed(asks, 40)),
        };
        match &self.host {
            Some(_) => format!("send {method}{sends} to {}{asks}", middle(self.url, 120)),
            None => format!(
                "send {method}{sends} to an address that can be read in two ways: {}",
                value(&middle(self.url, 100), 110)
            ),
        }
    }

    pub(super) fn preview(self) -> Preview {
        let (Some(host), Some(method), []) = (self.host, self.method, self.asks.as_slice()) else {
            return Preview::Json;
        };
        let body = match self.sends {
            HttpPayload::Text(text) => Some(text),
            // The values of a body are listed one by one.
            HttpPayload::Values | HttpPayload::Nothing => None,
        };
        Preview::Http { method, url: show(self.url), host, headers: self.headers, body }
    }
}

/// An e-mail.
pub(super) struct Email<'a> {
    to: Vec<&'a str>,
    cc: Vec<&'a str>,
    bcc: Vec<&'a str>,
    subject: &'a str,
    body: &'a str,
    attached: usize,
    /// Whether the tool is known to send.
    sends: bool,
}

/// Tools that send one e-mail: `draft_email` and `delete_email` do not.
const MAILERS: &[&str] = &[
    "send_email",
    "send_mail",
    "email_send",
    "mail_send",
    "gmail_send",
    "gmail_send_email",
    "send_gmail",
    "send_email_message",
    "send_gmail_message",
    "send_an_email",
    "outlook_send_email",
    "send_outlook_email",
];

impl<'a> Email<'a> {
    pub(super) fn read(name: &Name, args: &mut Args<'a>) -> Option<Self> {
        if !name.has(&["email", "mail", "gmail", "emails"]) {
            return None;
        }
        let to = args.texts(&["to", "recipient", "recipients"])?;
        let (cc, bcc) = (args.texts(&["cc"])?, args.texts(&["bcc"])?);
        let subject = args.maybe_text(&["subject"])?;
        let body = args.maybe_text(&["body", "text", "message", "content"])?;
        if to.is_empty() || (subject.is_none() && body.is_none()) {
            return None;
        }
        let attached = match args.maybe(&["attachments"])? {
            None => 0,
            Some((_, list)) => list.as_array()?.len(),
        };
        let sends = name.one_of(MAILERS);
        Some(Self { to, cc, bcc, subject: subject.unwrap_or(""), body: body.unwrap_or(""), attached, sends })
    }

    pub(super) fn effect(&self) -> String {
        let attached = match self.attached {
            0 => String::new(),
            some => format!(" with {}", count(some, "attachment", "attachments")),
        };
        let subject = match self.subject {
            "" => String::new(),
            subject => format!(": {}", quoted(&middle(subject, 60))),
        };
        format!("send an e-mail{attached} to {}{subject}", self.facts())
    }

    pub(super) fn is_sure(&self) -> bool {
        self.sends
    }

    pub(super) fn facts(&self) -> String {
        // Hidden recipients first, because they are easy to miss.
        let everybody = self.bcc.iter().chain(&self.to).chain(&self.cc).copied().collect::<Vec<_>>();
        let hidden = match self.bcc.len() {
            0 => String::new(),
            some => format!(" ({some} hidden from the others)"),
        };
        format!("{}{hidden}", list(everybody.into_iter(), 100))
    }

    pub(super) fn preview(&self) -> Preview {
        let shown = |list: &[&str]| list.iter().map(|text| show(text)).collect();
        Preview::Email {
            to: shown(&self.to),
            cc: shown(&self.cc),
            bcc: shown(&self.bcc),
            subject: show(self.subject),
            body: show(self.body),
        }
    }
}

/// A message to a channel or a person.
pub(super) struct Message<'a> {
    to: &'a str,
    text: &'a str,
    thread: Option<&'a str>,
}

/// Tools that send one message.
const SPEAKERS: &[&str] = &[
    "send_message",
    "post_message",
    "send_sms",
    "send_chat_message",
    "send_slack_message",
    "slack_send_message",
    "slack_post_message",
    "post_slack_message",
    "chat_post_message",
    "send_telegram_message",
    "discord_send_message",
    "send_discord_message",
    "telegram_send_message",
    "send_teams_message",
    "teams_send_message",
    "conversations_add_message",
    "send_whatsapp_message",
    "twilio_send_sms",
];

impl<'a> Message<'a> {
    pub(super) fn read(name: &Name, args: &mut Args<'a>) -> Option<Self> {
        if !name.one_of(SPEAKERS) {
            return None;
        }
        let to = args.text(&[
            "channel",
            "channel_id",
            "channelId",
            "to",
            "recipient",
            "chat_id",
            "chatId",
            "phone",
            "phone_number",
        ])?;
        let text = args.text(&["text", "message", "body", "content", "payload"])?;
        let thread = args.maybe_text(&["thread_ts", "threadTs", "thread_id"])?;
        Some(Self { to, text, thread })
    }

    pub(super) fn effect(&self) -> String {
        let thread = self.thread.map(|thread| format!(", thread {}", value(thread, 30))).unwrap_or_default();
        format!("send a message to {}{thread}: {}", value(self.to, 60), quoted(&middle(self.text, 90)))
    }

    pub(super) fn facts(&self) -> String {
        value(self.to, 120)
    }
}

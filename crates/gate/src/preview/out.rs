//! What leaves the house: calls to other servers, e-mail, messages, money.

use std::fmt::Write as _;

use placet_core::{Preview, Segment, show};
use serde_json::Value;

use super::{
    args::{Args, Name},
    text::{count, grouped, list, middle, value},
};

/// A call to another server.
pub(super) struct Http<'a> {
    /// None where nothing says it.
    method: Option<String>,
    url: &'a str,
    /// None where two programs could read the address differently.
    host: Option<String>,
    headers: Vec<(String, String)>,
    sends: Sends,
    /// Whether the tool is one that makes this call.
    known: bool,
}

/// What goes along with a call.
enum Sends {
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
/// Those of them that are a GET everywhere, as long as nothing says otherwise.
const GETS: &[&str] = &["fetch", "web_fetch", "fetch_url", "url_fetch", "http_fetch", "curl"];

impl<'a> Http<'a> {
    pub(super) fn read(name: &Name, args: &mut Args<'a>) -> Option<Self> {
        if !name.has(&["http", "https", "fetch", "request", "curl", "webhook", "api", "url", "rest"]) {
            return None;
        }
        let url = args.text(&["url", "uri"])?;
        let method = args.maybe_text(&["method", "http_method"])?;
        let sends = match args.maybe(&["body", "data", "json", "payload"])? {
            None => Sends::Nothing,
            Some((key, Value::String(text))) => {
                args.claim(&[Segment::Key(key)], text);
                Sends::Text(show(text))
            }
            Some(_) => Sends::Values,
        };
        let headers = match args.maybe(&["headers"])? {
            None => Vec::new(),
            Some((key, headers)) => {
                let mut out = Vec::new();
                for (name, value) in headers.as_object()? {
                    let value = value.as_str()?;
                    args.claim(&[Segment::Key(key), Segment::Key(name)], value);
                    out.push((show(name), show(value)));
                }
                out
            }
        };
        args.maybe(&["timeout", "timeout_ms", "timeout_seconds"])?;
        if name.one_of(&["web_fetch"]) {
            args.maybe(&["prompt"])?;
        }
        let named = METHODS.iter().copied().find(|method| {
            name.one_of(&[
                &format!("http_{method}"),
                &format!("{method}_request"),
                &format!("http_{method}_request"),
            ])
        });
        let known = named.is_some() || name.one_of(CALLS);
        let method = match (method, named) {
            (Some(method), _) if method.len() <= 20 && method.bytes().all(|b| b.is_ascii_alphabetic()) => {
                Some(method.to_owned())
            }
            (Some(_), _) => None,
            (None, Some(named)) => Some(named.to_uppercase()),
            // What sends something without saying how is not known here.
            (None, None) if matches!(sends, Sends::Nothing) && name.one_of(GETS) => Some("GET".to_owned()),
            _ => None,
        };
        Some(Self { method, url, host: placet_policy::host_of(url).ok(), headers, sends, known })
    }

    pub(super) fn is_sure(&self) -> bool {
        self.known && self.method.is_some()
    }

    /// Whether it may do more than read.
    pub(super) fn changes(&self) -> bool {
        let reads = ["GET", "HEAD"];
        !matches!(self.sends, Sends::Nothing)
            || self
                .method
                .as_deref()
                .is_some_and(|method| !reads.iter().any(|get| get.eq_ignore_ascii_case(method)))
    }

    pub(super) fn facts(&self) -> String {
        value(&middle(self.url, 120), 130)
    }

    pub(super) fn effect(&self) -> String {
        let method = self.method.as_deref().unwrap_or("something");
        let sends = if matches!(self.sends, Sends::Nothing) { "" } else { " with a body" };
        match &self.host {
            Some(_) => format!("send {method}{sends} to {}", middle(self.url, 140)),
            None => format!(
                "send {method}{sends} to an address that can be read in two ways: {}",
                value(&middle(self.url, 100), 110)
            ),
        }
    }

    pub(super) fn preview(self) -> Preview {
        let (Some(host), Some(method)) = (self.host, self.method) else { return Preview::Json };
        let body = match self.sends {
            Sends::Text(text) => Some(text),
            // Values of a body are listed one by one.
            Sends::Values | Sends::Nothing => None,
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
    /// Whether the tool is one that sends.
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
        format!("send an e-mail{attached} to {}", self.facts())
    }

    pub(super) fn is_sure(&self) -> bool {
        self.sends
    }

    pub(super) fn facts(&self) -> String {
        // Those who are hidden from the others first: nobody else would notice them.
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
];

impl<'a> Message<'a> {
    pub(super) fn read(name: &Name, args: &mut Args<'a>) -> Option<Self> {
        if !name.one_of(SPEAKERS) {
            return None;
        }
        let to = args.text(&["channel", "channel_id", "to", "recipient", "chat_id", "phone"])?;
        args.text(&["text", "message", "body", "content"])?;
        Some(Self { to })
    }

    pub(super) fn effect(&self) -> String {
        format!("send a message to {}", self.facts())
    }

    pub(super) fn facts(&self) -> String {
        value(self.to, 120)
    }
}

/// Money changes hands.
pub(super) struct Money<'a> {
    /// What the tool's name says it does; none where only the arguments look like a payment.
    verb: Option<&'static str>,
    amount: String,
    currency: Option<&'a str>,
    to: &'a str,
    /// Further arguments that name an account: whose it is, they do not say.
    accounts: Vec<(&'a str, &'a str)>,
    reference: Option<&'a str>,
}

/// Names under which a payment says who gets it, and names of accounts, which say so where nothing else does.
const PAYEE: &[&str] =
    &["to", "recipient", "payee", "beneficiary", "destination", "customer", "supplier", "vendor"];
const ACCOUNTS: &[&str] = &[
    "iban",
    "account",
    "account_number",
    "to_account",
    "to_iban",
    "destination_account",
    "beneficiary_account",
];

/// Tools whose name says what becomes of the money, by what they do. Everything else is only called: a payment can be
/// cancelled, requested, checked or taken back, and a charge takes what a payment gives.
const PAYERS: &[(&str, &[&str])] = &[
    ("pay", &["pay", "make_payment", "send_payment", "send_money", "pay_invoice", "payment"]),
    (
        "transfer",
        &["transfer", "transfer_funds", "transfer_money", "bank_transfer", "wire_transfer", "make_transfer"],
    ),
    ("refund", &["refund", "refund_payment", "create_refund", "issue_refund"]),
];
/// Words of a name by which an amount is taken for money.
const MONEY: &[&str] = &[
    "refund", "charge", "transfer", "pay", "payment", "payments", "payout", "payouts", "wire", "remit",
    "invoice",
];

impl<'a> Money<'a> {
    /// A payment by the name of its tool and by its arguments.
    pub(super) fn read(name: &Name, args: &mut Args<'a>) -> Option<Self> {
        let verb = PAYERS.iter().find(|(_, names)| name.one_of(names)).map(|(verb, _)| *verb);
        if verb.is_none() && !name.has(MONEY) {
            return None;
        }
        Self::of(verb, args)
    }

    /// A payment by its arguments alone: an amount, what kind of money, and who gets it. What the tool does with them
    /// is not known, so the sentence only says that it is called with them.
    pub(super) fn read_shape(args: &mut Args<'a>) -> Option<Self> {
        Self::of(None, args).filter(|money| money.currency.is_some_and(is_currency))
    }

    pub(super) fn is_sure(&self) -> bool {
        self.verb.is_some()
    }

    fn of(verb: Option<&'static str>, args: &mut Args<'a>) -> Option<Self> {
        let (key, amount) = args.maybe(&["amount"])??;
        let amount = match amount {
            Value::Number(number) => number.to_string(),
            Value::String(text) if is_decimal(text) => text.clone(),
            _ => return None,
        };
        args.claim(&[Segment::Key(key)], &amount);
        let currency = args.maybe_text(&["currency", "currency_code"])?;
        let payee = args.maybe_text(PAYEE)?;
        let mut accounts = Vec::new();
        for name in ACCOUNTS {
            if let Some((name, value)) = args.maybe(&[name])? {
                let account = value.as_str()?;
                args.claim(&[Segment::Key(name)], account);
                accounts.push((name, account));
            }
        }
        let to = match payee {
            Some(payee) => payee,
            // One account and nobody else: that is where it goes. Of two, who knows?
            None if accounts.len() == 1 => accounts.pop()?.1,
            None => return None,
        };
        let reference = args.maybe_text(&["reference", "memo", "purpose", "note", "description"])?;
        Some(Self { verb, amount, currency, to, accounts, reference })
    }

    fn amount(&self) -> String {
        match self.currency {
            Some(currency) => format!("{} {}", grouped(&self.amount), value(currency, 20)),
            None => format!("{} (no currency given)", grouped(&self.amount)),
        }
    }

    fn accounts(&self) -> String {
        self.accounts.iter().fold(String::new(), |mut out, (name, account)| {
            // Writing to a string cannot fail.
            let _ = write!(out, ", {name} {}", value(account, 40));
            out
        })
    }

    pub(super) fn effect(&self) -> String {
        let does = self.verb.unwrap_or("move");
        format!("{does} {} to {}{}", self.amount(), value(self.to, 70), self.accounts())
    }

    /// The amount and the names, without who gives and who gets.
    pub(super) fn facts(&self) -> String {
        format!("{}, {}{}", self.amount(), value(self.to, 60), self.accounts())
    }

    pub(super) fn preview(&self) -> Preview {
        let Some(currency) = self.currency else { return Preview::Json };
        Preview::Money {
            amount: show(&self.amount),
            currency: show(currency),
            to: show(self.to),
            accounts: self.accounts.iter().map(|(name, account)| (show(name), show(account))).collect(),
            reference: self.reference.map(show),
        }
    }
}

/// The letters of a kind of money: `EUR`, `usd`, `USDC`.
fn is_currency(text: &str) -> bool {
    (3..=5).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_alphabetic())
}

/// Digits, perhaps with a sign and one point: what every reader takes for the same number.
fn is_decimal(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let (whole, part) = digits.split_once('.').unwrap_or((digits, "0"));
    let all =
        |text: &str| !text.is_empty() && text.len() <= 30 && text.bytes().all(|byte| byte.is_ascii_digit());
    all(whole) && all(part)
}

//! What leaves the house: calls to other servers, e-mail, messages, money.

use std::fmt::Write as _;

use placet_core::{Preview, Segment, show};
use serde_json::Value;

use super::{
    args::{Args, Name},
    text::{clip, count, grouped, list, value},
};

/// A call to another server.
pub(super) struct Http<'a> {
    method: String,
    url: &'a str,
    /// None where two programs could read the address differently.
    host: Option<String>,
    headers: Vec<(String, String)>,
    body: Option<String>,
}

const METHODS: &[&str] = &["get", "post", "put", "patch", "delete", "head", "options"];

impl<'a> Http<'a> {
    pub(super) fn read(name: &Name, args: &mut Args<'a>) -> Option<Self> {
        if !name.has(&["http", "https", "fetch", "request", "curl", "webhook", "api", "url", "rest"]) {
            return None;
        }
        let url = args.text(&["url", "uri"])?;
        let method = args.maybe_text(&["method", "http_method"])?;
        let body = match args.maybe(&["body", "data", "json", "payload"])? {
            None => None,
            Some((key, Value::String(text))) => {
                args.claim(&[Segment::Key(key)], text);
                Some(show(text))
            }
            Some((_, other)) => Some(show(&other.to_string())),
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
        let named = METHODS.iter().find(|method| name.has(&[*method])).copied();
        let method = match (method, named) {
            (Some(method), _) => clip(method, 20),
            (None, Some(named)) => named.to_uppercase(),
            // A fetch that sends nothing is a GET everywhere; what sends something without saying how is not known here.
            (None, None) if body.is_none() && name.has(&["fetch", "curl"]) => "GET".to_owned(),
            _ => return None,
        };
        Some(Self { method, url, host: placet_policy::host_of(url).ok(), headers, body })
    }

    pub(super) fn effect(&self) -> String {
        let sends = if self.body.is_some() { ", sending a body" } else { "" };
        match &self.host {
            Some(_) => format!("Send {} to {}{sends}", self.method, clip(self.url, 150)),
            None => {
                format!(
                    "Send {} to an address that can be read in two ways: {}{sends}",
                    self.method,
                    value(self.url, 110)
                )
            }
        }
    }

    pub(super) fn preview(self) -> Preview {
        let Some(host) = self.host else { return Preview::Json };
        Preview::Http {
            method: self.method,
            url: show(self.url),
            host,
            headers: self.headers,
            body: self.body,
        }
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
}

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
        Some(Self { to, cc, bcc, subject: subject.unwrap_or(""), body: body.unwrap_or(""), attached })
    }

    pub(super) fn effect(&self) -> String {
        let everybody = self.to.iter().chain(&self.cc).chain(&self.bcc).copied().collect::<Vec<_>>();
        let mut out = format!("Send an e-mail to {}", list(everybody.into_iter(), 110));
        // Writing to a string cannot fail.
        if !self.bcc.is_empty() {
            let _ = write!(out, " ({} hidden from the others)", self.bcc.len());
        }
        if self.attached > 0 {
            let _ = write!(out, " with {}", count(self.attached, "attachment", "attachments"));
        }
        out
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

impl<'a> Message<'a> {
    pub(super) fn read(name: &Name, args: &mut Args<'a>) -> Option<Self> {
        if !(name.has(&["send", "post"]) && name.has(&["message", "chat", "sms", "slack", "comment"])) {
            return None;
        }
        let to = args.text(&["channel", "channel_id", "to", "recipient", "chat_id", "phone"])?;
        args.text(&["text", "message", "body", "content"])?;
        Some(Self { to })
    }

    pub(super) fn effect(&self) -> String {
        format!("Send a message to {}", value(self.to, 120))
    }
}

/// Money changes hands.
pub(super) struct Money<'a> {
    /// What the tool's name says it does; none where only the arguments look like a payment.
    verb: Option<&'static str>,
    tool: String,
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

impl<'a> Money<'a> {
    /// A payment by the name of its tool and by its arguments.
    pub(super) fn read(name: &Name, args: &mut Args<'a>) -> Option<Self> {
        let verb = match () {
            () if name.has(&["refund"]) => "Refund",
            () if name.has(&["charge"]) => "Charge",
            () if name.has(&["transfer"]) => "Transfer",
            () if name.has(&["pay", "payment", "payments", "payout", "payouts", "wire", "remit"]) => "Pay",
            () => return None,
        };
        Self::of(Some(verb), String::new(), args)
    }

    /// A payment by its arguments alone: an amount, what kind of money, and who gets it. What the tool does with them
    /// is not known, so the sentence only says that it is called with them.
    pub(super) fn read_shape(tool: &str, args: &mut Args<'a>) -> Option<Self> {
        Self::of(None, clip(tool, 60), args).filter(|money| money.currency.is_some_and(is_currency))
    }

    fn of(verb: Option<&'static str>, tool: String, args: &mut Args<'a>) -> Option<Self> {
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
        Some(Self { verb, tool, amount, currency, to, accounts, reference })
    }

    pub(super) fn effect(&self) -> String {
        let currency = match self.currency {
            Some(currency) => format!(" {}", value(currency, 20)),
            None => " (no currency given)".to_owned(),
        };
        let does = match self.verb {
            Some(verb) => verb.to_owned(),
            None => format!("Call {} with", self.tool),
        };
        let mut out = format!("{does} {}{currency} to {}", grouped(&self.amount), value(self.to, 70));
        for (name, account) in &self.accounts {
            // Writing to a string cannot fail.
            let _ = write!(out, ", {name} {}", value(account, 40));
        }
        out
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

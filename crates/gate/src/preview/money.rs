//! Payments. The sentence says who pays only if the tool's whole name and all of its arguments are known.

use std::fmt::Write as _;

use placet_core::{Preview, Segment, show};
use serde_json::Value;

use super::{
    args::{Args, Name},
    text::{grouped, value},
};

/// Money changes hands.
pub(super) struct Money<'a> {
    /// What the tool's name says it does. None if only the arguments look like a payment.
    verb: Option<&'static str>,
    amount: String,
    currency: Option<&'a str>,
    to: &'a str,
    /// Further arguments that name an account. They do not say whose it is.
    accounts: Vec<(&'a str, &'a str)>,
    reference: Option<&'a str>,
}

/// Argument names for the recipient of a payment, and for accounts, which name the recipient if nothing else does.
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

/// Tools whose name says what happens to the money. Others are only called: a payment can be cancelled, requested,
/// checked or refunded, and a charge takes money instead of giving it.
const PAYERS: &[(&str, &[&str])] = &[
    ("pay", &["pay", "make_payment", "send_payment", "send_money", "pay_invoice", "payment"]),
    (
        "transfer",
        &["transfer", "transfer_funds", "transfer_money", "bank_transfer", "wire_transfer", "make_transfer"],
    ),
    ("refund", &["refund", "refund_payment", "create_refund", "issue_refund"]),
];
/// Argument names for an amount of money.
const MONEY: &[&str] = &[
    "refund", "charge", "transfer", "pay", "payment", "payments", "payout", "payouts", "wire", "remit",
    "invoice",
];

impl<'a> Money<'a> {
    /// A payment by the name of its tool and its arguments.
    pub(super) fn read(name: &Name, args: &mut Args<'a>) -> Option<Self> {
        let verb = PAYERS.iter().find(|(_, names)| name.one_of(names)).map(|(verb, _)| *verb);
        if verb.is_none() && !name.has(MONEY) {
            return None;
        }
        Self::of(verb, args)
    }

    /// A payment by its arguments alone: an amount, a currency and a recipient. What the tool does with them is
    /// unknown, so the sentence only says that it is called with them.
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
        args.show_whole(&[Segment::Key(key)], &amount);
        let currency = args.maybe_text(&["currency", "currency_code"])?;
        let payee = args.maybe_text(PAYEE)?;
        let mut accounts = Vec::new();
        for name in ACCOUNTS {
            if let Some((name, value)) = args.maybe(&[name])? {
                let account = value.as_str()?;
                args.show_whole(&[Segment::Key(name)], account);
                accounts.push((name, account));
            }
        }
        let to = match payee {
            Some(payee) => payee,
            // A single account must be the recipient. With two it is unclear.
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

    /// The amount and the names, without their roles.
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

/// The letters of a currency: `EUR`, `usd`, `USDC`.
fn is_currency(text: &str) -> bool {
    (3..=5).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_alphabetic())
}

/// Digits, with an optional sign and one point: every reader sees the same number.
fn is_decimal(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let (whole, part) = digits.split_once('.').unwrap_or((digits, "0"));
    let all =
        |text: &str| !text.is_empty() && text.len() <= 30 && text.bytes().all(|byte| byte.is_ascii_digit());
    all(whole) && all(part)
}

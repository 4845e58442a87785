//! Payments. The sentence says who pays only if the tool's whole name and all of its arguments are known.

use std::fmt::Write as _;

use placet_core::{Preview, Segment, show};

use super::{
    args::{Args, Name},
    sum::{Sum, is_currency},
    text::value,
};

/// Money changes hands.
pub(super) struct Money<'a> {
    /// What the tool's name says it does. None if only the arguments look like a payment.
    verb: Option<&'static str>,
    sum: Sum,
    to: &'a str,
    /// Further arguments that name an account. They do not say whose it is.
    accounts: Vec<(&'a str, &'a str)>,
    /// The account that pays.
    from: Option<(&'a str, &'a str)>,
    /// The invoice that is paid, and when.
    invoice: Option<&'a str>,
    date: Option<&'a str>,
    reference: Option<&'a str>,
}

/// Argument names for the recipient of a payment, and for accounts, which name the recipient if nothing else does.
const PAYEE: &[&str] = &[
    "to",
    "recipient",
    "recipient_name",
    "payee",
    "payee_name",
    "beneficiary",
    "beneficiary_name",
    "creditor",
    "creditor_name",
    "destination",
    "customer",
    "supplier",
    "supplier_name",
    "vendor",
    "vendor_name",
];
const ACCOUNTS: &[&str] = &[
    "iban",
    "account",
    "account_number",
    "to_account",
    "to_iban",
    "destination_account",
    "beneficiary_account",
    "bic",
    "swift",
    "sort_code",
    "routing_number",
];
/// Those that name a bank, and no account.
const BANKS: &[&str] = &["bic", "swift", "sort_code", "routing_number"];
/// Endings of accounts that belong to a recipient: `payee_iban` beside `payee_name`.
const OWN: &[&str] = &["_iban", "_account", "_account_number", "_bic"];
const FROM: &[&str] = &[
    "from",
    "from_account",
    "from_iban",
    "from_account_id",
    "source_account",
    "debtor_account",
    "debtor_iban",
    "debit_account",
];

/// Tools whose name says what happens to the money. Others are only called: a payment can be cancelled, requested,
/// checked or refunded, and a charge takes money instead of giving it.
const PAYERS: &[(&str, &[&str])] = &[
    ("pay", &["pay", "make_payment", "send_payment", "send_money", "pay_invoice", "payment"]),
    (
        "transfer",
        &[
            "transfer",
            "transfer_funds",
            "transfer_money",
            "bank_transfer",
            "wire_transfer",
            "make_transfer",
            "sepa_transfer",
            "send_wire",
            "send_transfer",
        ],
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
        Self::of(verb, name, args)
    }

    /// A payment by its arguments alone: an amount, a currency and a recipient. What the tool does with them is
    /// unknown, so the sentence only says that it is called with them.
    pub(super) fn read_shape(name: &Name, args: &mut Args<'a>) -> Option<Self> {
        Self::of(None, name, args).filter(|money| money.sum.currency.as_deref().is_some_and(is_currency))
    }

    pub(super) fn is_sure(&self) -> bool {
        self.verb.is_some()
    }

    fn of(verb: Option<&'static str>, name: &Name, args: &mut Args<'a>) -> Option<Self> {
        let sum = Sum::read(args, name.is_of("stripe"))??;
        let role = args.maybe(PAYEE)?.map(|(key, _)| key);
        let payee = args.maybe_text(PAYEE)?;
        let own: Vec<String> = match role {
            Some(role) => {
                let role = role.strip_suffix("_name").unwrap_or(role);
                OWN.iter().map(|end| format!("{role}{end}")).collect()
            }
            // Without a name, the account of any one role is the recipient.
            None => ["beneficiary", "recipient", "payee", "creditor"]
                .iter()
                .flat_map(|role| OWN.iter().map(move |end| format!("{role}{end}")))
                .collect(),
        };
        let mut accounts = Vec::new();
        let names = own.iter().map(String::as_str).filter(|name| !ACCOUNTS.contains(name));
        for name in ACCOUNTS.iter().copied().chain(names) {
            if let Some((name, value)) = args.maybe(&[name])? {
                let account = value.as_str()?;
                args.show_whole(&[Segment::Key(name)], account);
                accounts.push((name, account));
            }
        }
        let bank = |name: &str| BANKS.contains(&name) || name.ends_with("_bic");
        let to = match payee {
            Some(payee) => payee,
            // A single account must be the recipient. With two it is unclear.
            None if accounts.iter().filter(|(name, _)| !bank(name)).count() == 1 => {
                let at = accounts.iter().position(|(name, _)| !bank(name))?;
                accounts.remove(at).1
            }
            None => return None,
        };
        let from = match args.maybe(FROM)? {
            None => None,
            Some((key, from)) => {
                let from = from.as_str()?;
                args.show_whole(&[Segment::Key(key)], from);
                Some((key, from))
            }
        };
        let invoice = args.maybe_text(&["invoice", "invoice_id", "invoiceId", "invoice_number"])?;
        let date = args.maybe_text(&["execution_date", "due_date", "scheduled_for", "scheduled_date"])?;
        let reference =
            args.maybe_text(&["reference", "memo", "purpose", "note", "description", "remittance_info"])?;
        args.maybe(&["idempotency_key", "idempotencyKey"])?;
        Some(Self { verb, sum, to, accounts, from, invoice, date, reference })
    }

    fn details(&self) -> String {
        let mut out = String::new();
        // Writing to a string cannot fail.
        for (name, account) in &self.accounts {
            let _ = write!(out, ", {name} {}", value(account, 40));
        }
        for (word, text) in
            [("from", self.from.map(|(_, from)| from)), ("invoice", self.invoice), ("on", self.date)]
        {
            if let Some(text) = text {
                let _ = write!(out, ", {word} {}", value(text, 40));
            }
        }
        out
    }

    pub(super) fn effect(&self) -> String {
        let does = self.verb.unwrap_or("move");
        format!("{does} {} to {}{}", self.sum.said(), value(self.to, 70), self.details())
    }

    /// The amount and the names, without their roles.
    pub(super) fn facts(&self) -> String {
        format!("{}, {}{}", self.sum.said(), value(self.to, 60), self.details())
    }

    pub(super) fn preview(&self) -> Preview {
        // What has no field of its own would be missing in it.
        let (Some((amount, currency)), None, None) = (self.sum.shown(), self.invoice, self.date) else {
            return Preview::Json;
        };
        let accounts = self.accounts.iter().copied().chain(self.from);
        Preview::Money {
            amount,
            currency,
            to: show(self.to),
            accounts: accounts.map(|(name, account)| (show(name), show(account))).collect(),
            reference: self.reference.map(show),
        }
    }
}

//! Amounts of money, in the shapes in which calls have them.

use placet_core::{Segment, show};
use serde_json::{Map, Value};

use super::{
    args::{Args, Clear},
    text::{grouped, value},
};

/// An amount, digit for digit, with its currency.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Sum {
    pub(super) amount: String,
    pub(super) currency: Option<String>,
    /// Whether it is in the smallest unit of the currency.
    pub(super) minor: bool,
}

/// Names of amounts in the smallest unit.
const MINOR: &[&str] = &[
    "amount_cents",
    "amountCents",
    "amount_in_cents",
    "amountInCents",
    "amount_minor",
    "amountMinor",
    "amount_minor_units",
    "unit_amount",
];
/// Names of amounts that name the currency as well.
const OF_CURRENCY: &[&str] = &["amount_eur", "amount_usd", "amount_gbp", "amount_chf"];
const CURRENCY: &[&str] = &["currency", "currency_code", "currencyCode"];
/// Currencies with hundredths, and those without any smaller unit.
const HUNDREDTHS: &[&str] = &[
    "AUD", "BRL", "CAD", "CHF", "CNY", "CZK", "DKK", "EUR", "GBP", "HKD", "ILS", "INR", "MXN", "NOK", "NZD",
    "PLN", "RON", "SEK", "SGD", "THB", "TRY", "USD", "ZAR",
];
const WHOLE: &[&str] = &["CLP", "JPY", "KRW", "VND", "XAF", "XOF"];

impl Sum {
    /// The amount of a call. `minor`: amounts of this tool are in the smallest unit, whatever they are called.
    pub(super) fn read(args: &mut Args<'_>, minor: bool) -> Clear<Option<Self>> {
        let names: Vec<&str> = ["amount"].iter().chain(MINOR).chain(OF_CURRENCY).copied().collect();
        let Some((key, amount)) = args.maybe(&names)? else { return Some(None) };
        let minor = minor || MINOR.contains(&key);
        let of_key =
            OF_CURRENCY.contains(&key).then(|| key.trim_start_matches("amount_").to_ascii_uppercase());
        let (amount, inside) = match amount {
            Value::Number(number) => (number.to_string(), of_key),
            Value::String(text) if is_decimal(text) => (text.clone(), of_key),
            // `125.00 EUR` and `EUR 125.00`.
            Value::String(text) if of_key.is_none() => {
                let (one, other) = text.split_once(' ')?;
                let (amount, currency) = if is_decimal(one) { (one, other) } else { (other, one) };
                (is_decimal(amount) && is_currency(currency)).then_some(())?;
                (amount.to_owned(), Some(currency.to_owned()))
            }
            Value::Object(map) if of_key.is_none() => nested(args, key, map)?,
            _ => return None,
        };
        if !matches!(args.all().get(key), Some(Value::Object(_))) {
            args.show_whole(&[Segment::Key(key)], &amount);
        }
        let beside = args.maybe_text(CURRENCY)?;
        let currency = match (inside, beside) {
            // Two currencies are one too many.
            (Some(_), Some(_)) => return None,
            (inside, beside) => inside.or_else(|| beside.map(str::to_owned)),
        };
        if minor && !amount.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        Some(Some(Self { amount, currency, minor }))
    }

    /// `1,250.00 EUR`, `19.99 usd (1999 minor units)`.
    pub(super) fn said(&self) -> String {
        let Some(currency) = &self.currency else {
            let unit = if self.minor { " minor units" } else { "" };
            return format!("{}{unit} (no currency given)", grouped(&self.amount));
        };
        let currency_said = value(currency, 20);
        if !self.minor {
            return format!("{} {currency_said}", grouped(&self.amount));
        }
        match self.major() {
            Some(major) => format!("{major} {currency_said} ({} minor units)", self.amount),
            None => format!("{} minor units of {currency_said}", grouped(&self.amount)),
        }
    }

    /// The amount in the main unit, where that is certain.
    fn major(&self) -> Option<String> {
        let currency = self.currency.as_deref()?.to_ascii_uppercase();
        if WHOLE.contains(&currency.as_str()) {
            return Some(grouped(&self.amount));
        }
        if !HUNDREDTHS.contains(&currency.as_str()) {
            return None;
        }
        let digits = format!("{:0>3}", self.amount);
        let (whole, cents) = digits.split_at_checked(digits.len().checked_sub(2)?)?;
        Some(format!("{}.{cents}", grouped(whole)))
    }

    /// Amount and currency as a preview may show them: as they will be sent.
    pub(super) fn shown(&self) -> Option<(String, String)> {
        let currency = self.currency.as_deref().filter(|_| !self.minor)?;
        Some((show(&self.amount), show(currency)))
    }
}

/// `{"value": "12.00", "currency": "EUR"}`.
fn nested(args: &mut Args<'_>, key: &str, map: &Map<String, Value>) -> Option<(String, Option<String>)> {
    let mut own = Args::new(map);
    let (name, amount) = own.maybe(&["value", "amount"])??;
    let amount = match amount {
        Value::Number(number) => number.to_string(),
        Value::String(text) if is_decimal(text) => text.clone(),
        _ => return None,
    };
    let (currency_name, currency) = own.maybe(CURRENCY)??;
    let currency = currency.as_str()?;
    own.unknown().is_empty().then_some(())?;
    args.show_whole(&[Segment::Key(key), Segment::Key(name)], &amount);
    args.show_whole(&[Segment::Key(key), Segment::Key(currency_name)], currency);
    Some((amount, Some(currency.to_owned())))
}

/// The letters of a currency: `EUR`, `usd`, `USDC`.
pub(super) fn is_currency(text: &str) -> bool {
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn said(arguments: Value, minor: bool) -> Option<String> {
        let map = arguments.as_object().unwrap();
        Sum::read(&mut Args::new(map), minor)?.map(|sum| sum.said())
    }

    #[test]
    fn the_smallest_unit_is_said_as_it_is_sent_and_as_it_is_meant() {
        for (arguments, minor, expected) in [
            (json!({"amount": 1999, "currency": "usd"}), true, Some("19.99 usd (1999 minor units)")),
            (json!({"amount": 5, "currency": "EUR"}), true, Some("0.05 EUR (5 minor units)")),
            (json!({"amount": 123_456, "currency": "JPY"}), true, Some("123,456 JPY (123456 minor units)")),
            (json!({"amount": 5000, "currency": "HUF"}), true, Some("5,000 minor units of HUF")),
            (json!({"amount_cents": 1999}), false, Some("1,999 minor units (no currency given)")),
            (json!({"amount_cents": 1999, "currency": "EUR"}), false, Some("19.99 EUR (1999 minor units)")),
            (json!({"amount": 19.99, "currency": "EUR"}), true, None),
            (json!({"amount": 1999, "currency": "EUR"}), false, Some("1,999 EUR")),
            (json!({"amount_eur": 20}), false, Some("20 EUR")),
            (json!({"amount_eur": 20, "currency": "USD"}), false, None),
            (json!({"amount": "125.00 EUR"}), false, Some("125.00 EUR")),
            (json!({"amount": "EUR 125.00"}), false, Some("125.00 EUR")),
            (json!({"amount": "EUR 125.00", "currency": "USD"}), false, None),
            (json!({"amount": {"value": "12.00", "currency_code": "EUR"}}), false, Some("12.00 EUR")),
            (json!({"amount": {"value": "12.00", "currency": "EUR", "times": 2}}), false, None),
            (json!({"amount": "1,000", "currency": "EUR"}), false, None),
            (json!({"amount": 1, "amount_cents": 1}), false, None),
        ] {
            assert_eq!(said(arguments.clone(), minor).as_deref(), expected, "{arguments}");
        }
    }
}

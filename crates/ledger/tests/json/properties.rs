//! What holds for every value and every spelling of it.

use placet_ledger::canonical::{canonical, canonical_string};
use placet_ledger::ijson::{Limits, parse};
use proptest::prelude::*;
use serde_json::{Map, Number, Value};

const MAX_SAFE: i64 = 9_007_199_254_740_991;

/// Numbers a reader accepts, in the one shape it gives them.
fn number() -> impl Strategy<Value = Value> {
    let double = any::<u64>().prop_filter_map("a double with a form of its own", |bits| {
        let double = f64::from_bits(bits);
        let integral = double.fract() == 0.0 && double.abs() < 1e21;
        (double.is_finite() && !integral).then(|| Number::from_f64(double).map(Value::Number)).flatten()
    });
    prop_oneof![
        (-MAX_SAFE..=MAX_SAFE).prop_map(Value::from),
        (-100_i64..100).prop_map(Value::from),
        double,
        (-1e9..1e9).prop_filter_map("a fraction", |double: f64| {
            (double.fract() != 0.0).then(|| Number::from_f64(double).map(Value::Number)).flatten()
        }),
    ]
}

/// Text with what matters to a reader: escapes, controls, and characters around the surrogates.
fn text() -> impl Strategy<Value = String> {
    let character = prop_oneof![
        4 => proptest::char::range('a', 'e'),
        1 => proptest::char::range('\u{0}', '\u{22}'),
        1 => prop::sample::select(vec!['"', '\\', '/', '~', '\u{7f}', '\u{80}', '\u{2028}']),
        1 => prop::sample::select(vec!['\u{d7ff}', '\u{e000}', '\u{fb33}', '\u{ffff}', '\u{10000}', '\u{1f602}', '\u{10ffff}']),
        1 => any::<char>(),
    ];
    prop::collection::vec(character, 0..20).prop_map(String::from_iter)
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        number(),
        text().prop_map(Value::String)
    ];
    leaf.prop_recursive(6, 60, 8, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..8).prop_map(Value::Array),
            prop::collection::btree_map(text(), inner, 0..8)
                .prop_map(|members| Value::Object(Map::from_iter(members))),
        ]
    })
}

/// Spells a value in one of the many ways JSON allows; `dice` says which.
struct Spelling<'a> {
    out: String,
    dice: std::iter::Cycle<std::slice::Iter<'a, u8>>,
}

impl Spelling<'_> {
    fn roll(&mut self, sides: u8) -> u8 {
        self.dice.next().map_or(0, |die| die % sides)
    }

    fn space(&mut self) {
        for _ in 0..self.roll(3) {
            let space = [' ', '\n', '\r', '\t'][usize::from(self.roll(4))];
            self.out.push(space);
        }
    }

    fn text(&mut self, text: &str) {
        self.out.push('"');
        for character in text.chars() {
            let must = character < ' ' || character == '"' || character == '\\';
            let short = match character {
                '"' | '\\' | '/' => Some(character),
                '\u{8}' => Some('b'),
                '\u{c}' => Some('f'),
                '\n' => Some('n'),
                '\r' => Some('r'),
                '\t' => Some('t'),
                _ => None,
            };
            match (self.roll(3), short) {
                (0, _) if !must => self.out.push(character),
                (1, Some(letter)) => self.out.extend(['\\', letter]),
                (way, _) => {
                    for unit in character.encode_utf16(&mut [0; 2]) {
                        let escape =
                            if way == 2 { format!("\\u{unit:04x}") } else { format!("\\u{unit:04X}") };
                        self.out.push_str(&escape);
                    }
                }
            }
        }
        self.out.push('"');
    }

    fn number(&mut self, number: &Number) {
        let plain = number.to_string();
        let spelt = match (self.roll(4), number.as_i64()) {
            (1, Some(_)) => format!("{plain}.0"),
            (2, Some(1..)) => format!("{plain}000e-3"),
            (2, Some(_)) => format!("{plain}.00e0"),
            (3, Some(0)) => "-0".to_owned(),
            (3, Some(_)) => format!("{plain}E+00"),
            (1, None) => plain.replace('e', "E"),
            (2, None) => format!("{:e}", number.as_f64().unwrap_or_default()),
            _ => plain,
        };
        self.out.push_str(&spelt);
    }

    fn value(&mut self, value: &Value) {
        self.space();
        match value {
            Value::Null => self.out.push_str("null"),
            Value::Bool(value) => self.out.push_str(&value.to_string()),
            Value::Number(value) => self.number(value),
            Value::String(value) => self.text(value),
            Value::Array(items) => {
                self.out.push('[');
                for (index, item) in items.iter().enumerate() {
                    if index > 0 {
                        self.out.push(',');
                    }
                    self.value(item);
                }
                self.space();
                self.out.push(']');
            }
            Value::Object(members) => {
                let mut members: Vec<_> = members.iter().collect();
                let shift = usize::from(self.roll(8)) % members.len().max(1);
                members.rotate_left(shift);
                self.out.push('{');
                for (index, (key, member)) in members.into_iter().enumerate() {
                    if index > 0 {
                        self.out.push(',');
                    }
                    self.space();
                    self.text(key);
                    self.space();
                    self.out.push(':');
                    self.value(member);
                }
                self.space();
                self.out.push('}');
            }
        }
        self.space();
    }
}

fn spell(value: &Value, dice: &[u8]) -> String {
    let mut spelling = Spelling { out: String::new(), dice: dice.iter().cycle() };
    spelling.value(value);
    spelling.out
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn a_canonical_form_reads_back_as_the_value_it_was_made_from(value in value()) {
        let bytes = canonical(&value).expect("a form");
        let back = parse(&bytes, &Limits::default()).expect("a document");
        prop_assert_eq!(&back, &value);
        prop_assert_eq!(canonical(&back).expect("a form"), bytes);
    }

    #[test]
    fn every_spelling_of_a_value_has_the_same_canonical_bytes(value in value(), dice in prop::collection::vec(any::<u8>(), 1..40)) {
        let spelt = spell(&value, &dice);
        let back = parse(spelt.as_bytes(), &Limits::default()).map_err(|error| TestCaseError::fail(format!("{error}: {spelt}")))?;
        prop_assert_eq!(&back, &value, "{}", &spelt);
        prop_assert_eq!(canonical(&back).expect("a form"), canonical(&value).expect("a form"));
    }

    #[test]
    fn different_values_have_different_bytes(a in value(), b in value()) {
        prop_assert_eq!(a == b, canonical(&a).expect("a form") == canonical(&b).expect("a form"));
    }

    #[test]
    fn keys_come_in_the_order_of_their_utf16_units(keys in prop::collection::btree_set(text(), 0..12)) {
        let object: Map<String, Value> = keys.iter().map(|key| (key.clone(), Value::Null)).collect();
        let mut sorted: Vec<Vec<u16>> = keys.iter().map(|key| key.encode_utf16().collect()).collect();
        sorted.sort();
        let mut expected = Vec::new();
        for key in sorted {
            let key = String::from_utf16(&key).expect("whole text");
            expected.push(format!("{}:null", canonical_string(&key).expect("a form")));
        }
        prop_assert_eq!(canonical_string(&object).expect("a form"), format!("{{{}}}", expected.join(",")));
    }

    #[test]
    fn a_doubled_member_is_refused_at_its_pointer(object in prop::collection::btree_map(text(), value(), 1..6), pick in any::<prop::sample::Index>(), dice in prop::collection::vec(any::<u8>(), 1..40)) {
        let (key, _) = object.iter().nth(pick.index(object.len())).expect("a member");
        let whole = spell(&Value::Object(Map::from_iter(object.clone())), &dice);
        let (before, _) = whole.rsplit_once('}').expect("an object");
        let doubled = format!("{before},{}:0}}", spell(&Value::String(key.clone()), &dice));
        let error = parse(doubled.as_bytes(), &Limits::default()).expect_err("a refusal");
        prop_assert_eq!(error.code(), "duplicate_key");
        prop_assert_eq!(error.pointer(), format!("/{}", key.replace('~', "~0").replace('/', "~1")));
    }

    #[test]
    fn any_bytes_are_read_without_panic_and_a_fault_lies_inside_the_text(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        if let Err(error) = parse(&bytes, &Limits::default()) {
            prop_assert!(error.offset() <= bytes.len());
            prop_assert!(error.pointer().is_empty() || error.pointer().starts_with('/'));
        }
    }
}

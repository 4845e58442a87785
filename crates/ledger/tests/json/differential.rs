//! Our reader against `serde_json`, our writer against `serde_json_canonicalizer`.

use placet_ledger::canonical::canonical;
use placet_ledger::ijson::{Limits, parse};
use proptest::prelude::*;
use serde_json::Value;

use crate::corpus::corpus;

/// The value in the shape our reader gives it: what is integral within ±(2^53−1) is an integer.
fn normal(value: Value) -> Value {
    match value {
        Value::Array(items) => items.into_iter().map(normal).collect(),
        Value::Object(members) => members.into_iter().map(|(key, value)| (key, normal(value))).collect(),
        Value::Number(number) => match number.as_f64() {
            #[expect(clippy::cast_possible_truncation, reason = "integral and small enough to be exact")]
            Some(double) if double.fract() == 0.0 && double.abs() <= 9_007_199_254_740_991.0 => {
                Value::from(double as i64)
            }
            _ => Value::Number(number),
        },
        other => other,
    }
}

/// Refusals that go beyond the grammar: `serde_json` may accept these, and nothing else that we refuse.
const POLICY: [&str; 7] = [
    "duplicate_key",
    "integer_range",
    "number_range",
    "too_deep",
    "too_large",
    "too_many_nodes",
    "lone_surrogate",
];

/// Both readers on one text: what we accept, `serde_json` accepts as the same value; what we refuse by the
/// grammar, it refuses too.
fn compare(text: &[u8]) -> Result<(), String> {
    let theirs = serde_json::from_slice::<Value>(text);
    match (parse(text, &Limits::default()), theirs) {
        (Ok(ours), Ok(theirs)) => {
            let bytes = canonical(&ours).map_err(|error| error.to_string())?;
            let witness = serde_json_canonicalizer::to_vec(&ours).map_err(|error| error.to_string())?;
            if bytes != witness {
                return Err(format!("written as {} and {}", bytes.escape_ascii(), witness.escape_ascii()));
            }
            let theirs = normal(theirs);
            if ours == theirs { Ok(()) } else { Err(format!("read as {ours} and {theirs}")) }
        }
        (Ok(ours), Err(error)) => Err(format!("we read {ours}, serde_json says {error}")),
        (Err(error), Ok(theirs)) if !POLICY.contains(&error.code()) => {
            Err(format!("we refuse ({error}), serde_json reads {theirs}"))
        }
        (Err(_), _) => Ok(()),
    }
}

#[test]
fn the_corpus_is_read_as_serde_json_reads_it() {
    let mut wrong = Vec::new();
    for case in corpus() {
        if let Err(difference) = compare(&case.text()) {
            wrong.push(format!("{}: {difference}", case.name));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Pieces of JSON, good and bad, that random documents are glued from.
const PIECES: [&[u8]; 56] = [
    b"{",
    b"}",
    b"[",
    b"]",
    b",",
    b":",
    b"\"",
    b"\"a\"",
    b"\"b\":",
    b"\"a\":1,",
    b"null",
    b"true",
    b"false",
    b"0",
    b"-",
    b"1",
    b"9",
    b".",
    b"e",
    b"E+",
    b"e-3",
    b"1e400",
    b"9007199254740991",
    b"9007199254740992",
    b"-0.0",
    b"1e20",
    b"1e21",
    b" ",
    b"\n",
    b"\t",
    b"\\",
    b"\\n",
    b"\\/",
    b"\\u",
    b"\\u0061",
    b"\\ud83d",
    b"\\ude02",
    b"\\u00",
    b"\x00",
    b"\x1f",
    b"\x7f",
    b"\xC3\xA9",
    b"\xF0\x9F\x98\x82",
    b"\xEF\xAC\xB3",
    b"\xEF\xBB\xBF",
    b"\xC3",
    b"\x80",
    b"\xED\xA0\x80",
    b"'",
    b"/*",
    b"//",
    b"NaN",
    b"tru",
    b"nulll",
    b"{}",
    b"[]",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20_000))]

    #[test]
    fn glued_pieces_are_read_as_serde_json_reads_them(pieces in prop::collection::vec(prop::sample::select(PIECES.to_vec()), 0..14)) {
        compare(&pieces.concat()).map_err(TestCaseError::fail)?;
    }

    #[test]
    fn a_good_document_with_a_few_bytes_changed_is_read_as_serde_json_reads_it(
        changes in prop::collection::vec((any::<prop::sample::Index>(), 0..4_u8, any::<u8>(), prop::sample::select(PIECES.to_vec())), 1..4),
    ) {
        let mut text = br#"{"a":[1,-2.5e3,"x\u00e9\ud83d\ude02\n\"",true,{"b":{},"c":[]}],"b":{"a":null,"z\\":"\/","":0.125}}"#.to_vec();
        for (place, way, byte, piece) in changes {
            let at = place.index(text.len() + 1);
            let end = text.len().min(at + 1);
            match way {
                0 => { text.splice(at..end, [byte]); }
                1 => { text.drain(at..end); }
                2 => { text.splice(at..at, piece.iter().copied()); }
                _ => text.truncate(at),
            }
        }
        compare(&text).map_err(TestCaseError::fail)?;
    }

    #[test]
    fn every_double_is_read_and_written_as_the_others_do(bits in any::<u64>(), digits in 0..20_usize) {
        let double = f64::from_bits(bits);
        if double.is_finite() {
            compare(format!("{double:e}").as_bytes()).map_err(TestCaseError::fail)?;
            compare(format!("[{double:.digits$e}]").as_bytes()).map_err(TestCaseError::fail)?;
        }
    }
}

use std::collections::BTreeMap;

use serde::{Serialize, Serializer};
use serde_json::json;

use super::{CanonicalError, canonical, canonical_string};
use crate::ijson::{Limits, parse};

#[derive(Serialize)]
struct Entry {
    zebra: u8,
    apple: Option<&'static str>,
    list: (i64, f64, char),
    inner: Inner,
}

#[derive(Serialize)]
struct Inner {
    b: bool,
    a: (),
}

#[test]
fn fields_of_a_struct_are_sorted_at_every_level() {
    let entry = Entry { zebra: 7, apple: None, list: (-3, 0.5, 'é'), inner: Inner { b: true, a: () } };
    assert_eq!(
        canonical_string(&entry).expect("a form"),
        r#"{"apple":null,"inner":{"a":null,"b":true},"list":[-3,0.5,"é"],"zebra":7}"#
    );
}

#[test]
fn a_struct_and_its_value_have_the_same_bytes() {
    let entry =
        Entry { zebra: 7, apple: Some("\"\u{1}"), list: (-3, 0.5, '\\'), inner: Inner { b: true, a: () } };
    let value = serde_json::to_value(&entry).expect("a value");
    assert_eq!(canonical(&entry), canonical(&value));
}

#[test]
fn every_kind_of_variant_is_written_as_serde_json_writes_it() {
    #[derive(Serialize)]
    enum Kind {
        Unit,
        New(u8),
        Tuple(u8, u8),
        Struct { b: u8, a: u8 },
    }
    #[derive(Serialize)]
    struct Meters(f32);
    #[derive(Serialize)]
    struct Nothing;
    let kinds = [Kind::Unit, Kind::New(1), Kind::Tuple(1, 2), Kind::Struct { b: 2, a: 1 }];
    assert_eq!(
        canonical_string(&kinds).expect("a form"),
        r#"["Unit",{"New":1},{"Tuple":[1,2]},{"Struct":{"a":1,"b":2}}]"#
    );
    assert_eq!(canonical_string(&(Meters(0.5), Nothing, Some(1))).expect("a form"), "[0.5,null,1]");
}

#[test]
fn keys_are_ordered_by_utf16_units_and_not_by_bytes() {
    // U+1F602 is above U+FB33 as a code point and in UTF-8, but its first UTF-16 unit is D83D.
    let value = json!({"\u{fb33}": 1, "\u{1f602}": 2, "a": 3});
    assert_eq!(canonical_string(&value).expect("a form"), "{\"a\":3,\"\u{1f602}\":2,\"\u{fb33}\":1}");
}

#[test]
fn keys_are_ordered_by_utf16_units_wherever_they_differ() {
    // The ends of each range that UTF-8 or UTF-16 writes in another way.
    let characters = [
        '\u{1}',
        '\u{7f}',
        '\u{80}',
        '\u{7ff}',
        '\u{800}',
        '\u{d7ff}',
        '\u{e000}',
        '\u{ffff}',
        '\u{10000}',
        '\u{10ffff}',
    ];
    for (before, after) in [("", ""), ("a", ""), ("\u{e000}", "a"), ("\u{10000}", "\u{ffff}")] {
        for a in characters {
            for b in characters.into_iter().filter(|b| *b != a) {
                // The shorter key ends where the other one goes on.
                let keys = [format!("{before}{a}"), format!("{before}{b}{after}")];
                let mut sorted = keys.clone();
                sorted.sort_by_key(|key| key.encode_utf16().collect::<Vec<_>>());
                let text = canonical_string(&BTreeMap::from(keys.map(|key| (key, 0)))).expect("a form");
                let places = sorted.map(|key| text.find(&canonical_string(&key).expect("a form")));
                assert!(places.is_sorted() && places[0].is_some(), "{text:?}");
            }
        }
    }
}

#[test]
fn a_key_that_is_the_beginning_of_another_comes_first() {
    let value = json!({"aa": 1, "a": 2, "": 3, "a\u{0}": 4});
    assert_eq!(canonical_string(&value).expect("a form"), r#"{"":3,"a":2,"a\u0000":4,"aa":1}"#);
}

#[test]
fn exactly_the_escapes_of_the_rfc_are_used() {
    let all: String =
        (0..0x20).chain([0x22, 0x2f, 0x5c, 0x7f, 0x80, 0x2028]).filter_map(char::from_u32).collect();
    let expected = concat!(
        r#""\u0000\u0001\u0002\u0003\u0004\u0005\u0006\u0007\b\t\n\u000b\f\r\u000e\u000f"#,
        r"\u0010\u0011\u0012\u0013\u0014\u0015\u0016\u0017\u0018\u0019\u001a\u001b\u001c\u001d\u001e\u001f",
        r#"\"/\\"#,
        "\u{7f}\u{80}\u{2028}\""
    );
    assert_eq!(canonical_string(&all).expect("a form"), expected);
}

#[test]
fn a_nan_or_an_infinity_is_refused_at_any_depth() {
    for double in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        assert_eq!(canonical(&double), Err(CanonicalError::NotFinite));
        assert_eq!(canonical(&[[double]]), Err(CanonicalError::NotFinite));
        assert_eq!(canonical(&BTreeMap::from([("a", double)])), Err(CanonicalError::NotFinite));
    }
    assert_eq!(canonical(&[f32::NAN]), Err(CanonicalError::NotFinite));
}

#[test]
fn an_integer_beyond_the_exact_range_is_refused_and_never_rounded() {
    assert_eq!(canonical_string(&9_007_199_254_740_991_u64).as_deref(), Ok("9007199254740991"));
    assert_eq!(canonical_string(&-9_007_199_254_740_991_i64).as_deref(), Ok("-9007199254740991"));
    assert_eq!(canonical(&[9_007_199_254_740_992_u64]), Err(CanonicalError::IntegerRange));
    assert_eq!(canonical(&[-9_007_199_254_740_992_i64]), Err(CanonicalError::IntegerRange));
    assert_eq!(canonical(&i64::MIN), Err(CanonicalError::IntegerRange));
    assert_eq!(canonical(&u64::MAX), Err(CanonicalError::IntegerRange));
    assert_eq!(canonical(&i128::MAX), Err(CanonicalError::IntegerRange));
    assert_eq!(canonical(&9_007_199_254_740_992.0), Err(CanonicalError::IntegerRange));
    assert_eq!(canonical(&1e20), Err(CanonicalError::IntegerRange));
    assert_eq!(canonical_string(&1e21).as_deref(), Ok("1e+21"));
    assert_eq!(canonical_string(&7_i128).as_deref(), Ok("7"));
}

#[test]
fn an_integral_double_has_the_bytes_of_the_integer() {
    assert_eq!(canonical_string(&[56.0, -0.0, 1e3, -4.0]).as_deref(), Ok("[56,0,1000,-4]"));
}

#[test]
fn one_key_twice_is_refused_whatever_the_order() {
    struct Twice(&'static [&'static str]);
    impl Serialize for Twice {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            serializer.collect_map(self.0.iter().map(|key| (key, 1)))
        }
    }
    for keys in [&["a", "a"][..], &["a", "b", "a"], &["b", "a", "b"]] {
        assert!(matches!(canonical(&Twice(keys)), Err(CanonicalError::DuplicateKey(_))), "{keys:?}");
    }
    assert!(canonical(&Twice(&["b", "a"])).is_ok());
}

#[test]
fn a_key_is_text_or_an_integer_and_nothing_else() {
    #[derive(Serialize, PartialEq, Eq, PartialOrd, Ord)]
    enum Name {
        First,
    }
    assert_eq!(canonical_string(&BTreeMap::from([(10_u64, 1), (9, 2)])).as_deref(), Ok(r#"{"10":1,"9":2}"#));
    assert_eq!(canonical_string(&BTreeMap::from([(-1_i8, 1)])).as_deref(), Ok(r#"{"-1":1}"#));
    assert_eq!(canonical_string(&BTreeMap::from([('é', 1)])).as_deref(), Ok(r#"{"é":1}"#));
    assert_eq!(canonical_string(&BTreeMap::from([(Name::First, 1)])).as_deref(), Ok(r#"{"First":1}"#));
    assert_eq!(canonical(&BTreeMap::from([(true, 1)])), Err(CanonicalError::KeyNotText));
    assert_eq!(canonical(&BTreeMap::from([((), 1)])), Err(CanonicalError::KeyNotText));
    assert_eq!(canonical(&BTreeMap::from([(Some("a"), 1)])), Err(CanonicalError::KeyNotText));
    assert_eq!(canonical(&BTreeMap::from([(vec![1], 1)])), Err(CanonicalError::KeyNotText));
}

#[test]
fn nesting_is_bounded_so_that_no_value_overflows_the_stack() {
    let nest = |levels: usize| (0..levels).fold(json!(0), |inner, _| json!([inner]));
    assert!(canonical(&nest(256)).is_ok());
    assert_eq!(canonical(&nest(257)), Err(CanonicalError::TooDeep));
    // Siblings do not add up.
    assert!(canonical(&vec![nest(200); 3]).is_ok());
}

#[test]
fn unsorted_objects_inside_unsorted_objects_keep_their_members() {
    #[derive(Serialize)]
    struct Outer {
        c: Vec<Inner>,
        b: BTreeMap<&'static str, Inner>,
        a: Inner,
    }
    let inner = || Inner { b: true, a: () };
    let outer =
        Outer { c: vec![inner(), inner()], b: BTreeMap::from([("y", inner()), ("x", inner())]), a: inner() };
    let one = r#"{"a":null,"b":true}"#;
    assert_eq!(
        canonical_string(&outer).expect("a form"),
        format!(r#"{{"a":{one},"b":{{"x":{one},"y":{one}}},"c":[{one},{one}]}}"#)
    );
}

#[test]
fn an_error_of_the_value_itself_is_passed_on() {
    struct Broken;
    impl Serialize for Broken {
        fn serialize<S: Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
            Err(serde::ser::Error::custom("no"))
        }
    }
    let error = canonical(&[Broken]).expect_err("an error");
    assert_eq!(error.to_string(), "the value cannot be written: no");
}

#[test]
fn what_is_written_is_read_back() {
    let value = json!({"a": [1, -2, 0.25, 1e30, "\u{1f602}\n", null, {"": false}]});
    let bytes = canonical(&value).expect("a form");
    let back = parse(&bytes, &Limits::default()).expect("a document");
    assert_eq!(back, value);
    assert_eq!(canonical(&back), Ok(bytes));
}

#[test]
fn what_is_written_by_its_display_has_the_bytes_of_the_same_string() {
    struct Shown(&'static str);
    impl Serialize for Shown {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            serializer.collect_str(&format_args!("{}/{}", self.0, self.0))
        }
    }
    for part in ["", "plain", "é\u{10FFFF}", "a\"b", "\\", "line\nline", "\u{1}"] {
        let text = format!("{part}/{part}");
        assert_eq!(canonical_string(&[Shown(part)]), canonical_string(&[&text]), "{text:?}");
    }
}

use serde_json::{Value, json};

use super::{Limits, parse};

fn read(text: &str) -> Value {
    parse(text.as_bytes(), &Limits::default()).unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// Code, pointer and offset of a refusal.
fn refused(text: impl AsRef<[u8]>) -> (&'static str, String, usize) {
    let error = parse(text.as_ref(), &Limits::default()).expect_err("a refusal");
    (error.code(), error.pointer().to_owned(), error.offset())
}

fn at(code: &'static str, pointer: &str, offset: usize) -> (&'static str, String, usize) {
    (code, pointer.to_owned(), offset)
}

#[test]
fn a_document_becomes_the_value_it_spells() {
    let text = " {\"a\" : [ 1 , -2.5e-1 , true , false , null , \"x\\u00e9\\ud83d\\ude02\\n\" ] ,\r\n\t\"\" : { } } ";
    assert_eq!(read(text), json!({"a": [1, -0.25, true, false, null, "xé😂\n"], "": {}}));
}

#[test]
fn one_value_has_one_shape_however_it_is_spelt() {
    for one in ["1", "1.0", "1e0", "10e-1", "0.1e1", "1.000000000000000000000000000001"] {
        assert_eq!(read(one), json!(1), "{one}");
    }
    for zero in ["0", "-0", "0.0", "-0.0", "0e9", "-0e-9", "1e-400", "-1e-400", "0e99999999999999999999"] {
        assert_eq!(read(zero), json!(0), "{zero}");
    }
    assert_eq!(read("9007199254740991.0"), json!(9_007_199_254_740_991_u64));
}

#[test]
fn an_integer_beyond_the_exact_range_is_refused_in_every_spelling() {
    assert_eq!(read("9007199254740991"), json!(9_007_199_254_740_991_i64));
    assert_eq!(read("-9007199254740991"), json!(-9_007_199_254_740_991_i64));
    for text in [
        "9007199254740992",
        "-9007199254740992",
        "9007199254740992.0",
        "9007199254740991.5",
        "9007199254740992e0",
        "18446744073709551616",
        "99999999999999999999999999999999999999999999",
        "100000000000000000000.0",
        "1e20",
        "-999999999999999900000e0",
    ] {
        assert_eq!(refused(text), at("integer_range", "", 0), "{text}");
    }
}

#[test]
fn a_double_that_keeps_its_exponent_is_accepted_however_large() {
    assert_eq!(read("1e21"), json!(1e21));
    assert_eq!(read("1E30"), json!(1e30));
    assert_eq!(read("1.7976931348623157e308"), json!(f64::MAX));
    assert_eq!(read("5e-324"), json!(5e-324));
}

#[test]
fn a_number_no_double_can_hold_is_refused() {
    for text in ["1e309", "-1e309", "1e400", "1.8e308", "1e99999999999999999999", "123456789.0e+1000"] {
        assert_eq!(refused(text), at("number_range", "", 0), "{text}");
    }
}

#[test]
fn the_pointer_names_the_value_at_fault() {
    assert_eq!(refused(r#"{"a":{"b":[0,1,{"c":x}]}}"#), at("syntax", "/a/b/2/c", 20));
    assert_eq!(refused(r#"{"a/b":{"~":1e999}}"#), at("number_range", "/a~1b/~0", 12));
    assert_eq!(refused(r#"{"a":1 "b":2}"#), at("syntax", "", 7));
    assert_eq!(refused(r#"{"a":[1 2]}"#), at("syntax", "/a", 8));
    assert_eq!(refused(r#"{"":{"":["#), at("truncated", "///0", 9));
    assert_eq!(refused(r#"{"a" 1}"#), at("syntax", "/a", 5));
    assert_eq!(refused(r#"[{"k":1},{"k\ud800":1}]"#), at("lone_surrogate", "/1", 12));
}

#[test]
fn a_duplicate_key_is_found_after_unescaping_and_before_its_value() {
    assert_eq!(refused(r#"{"a":1,"a":2}"#), at("duplicate_key", "/a", 7));
    assert_eq!(refused(r#"{"a":1,"\u0061":2}"#), at("duplicate_key", "/a", 7));
    assert_eq!(refused(r#"[{"x":{"é":1,"b":2,"\u00E9":!}}]"#), at("duplicate_key", "/0/x/é", 20));
    assert_eq!(read(r#"{"a":{"a":{"a":1}},"A":1}"#), json!({"a": {"a": {"a": 1}}, "A": 1}));
    // Precomposed and combining forms are different keys: nothing here normalises text.
    assert_eq!(read("{\"\u{e9}\":1,\"e\u{301}\":2}").as_object().map(serde_json::Map::len), Some(2));
}

#[test]
fn half_a_surrogate_pair_is_refused_wherever_it_stands() {
    for (text, offset) in [
        (r#""\ud800""#, 1),
        (r#""\uDFFF""#, 1),
        (r#""ab\udc00\ud800""#, 3),
        (r#""\ud83d\ud83d\ude02""#, 1),
        (r#""\ud83d\u0041""#, 1),
        (r#""\ud83d\n""#, 1),
        (r#""\ud83dx""#, 1),
        (r#""\ud83d\ude02\ude02""#, 13),
    ] {
        assert_eq!(refused(text), at("lone_surrogate", "", offset), "{text}");
    }
    assert_eq!(refused(r#"{"\ude02":1}"#), at("lone_surrogate", "", 2));
    assert_eq!(read(r#""\uD83D\uDE02\ud7ff\ue000""#), json!("😂\u{d7ff}\u{e000}"));
    assert_eq!(read(r#""\udbff\udfff\ud800\udc00""#), json!("\u{10ffff}\u{10000}"));
}

#[test]
fn bytes_that_are_not_utf8_are_refused_at_their_place() {
    assert_eq!(refused(b"{\"a\":[\"x\xFF\"]}"), at("not_utf8", "/a/0", 8));
    assert_eq!(refused(b"\"\xED\xA0\x80\""), at("not_utf8", "", 1));
    assert_eq!(refused(b"\"\xC0\xAF\""), at("not_utf8", "", 1));
    assert_eq!(refused(b"[1]\x80"), at("not_utf8", "", 3));
    assert_eq!(refused(b"\"\xF0\x9F\x98"), at("not_utf8", "", 1));
}

#[test]
fn a_byte_order_mark_is_refused_by_its_name() {
    for text in [&b"\xEF\xBB\xBF{}"[..], b"\xFF\xFE{\0}\0", b"\xFE\xFF\0{\0}", b"\xEF\xBB\xBF"] {
        assert_eq!(refused(text), at("byte_order_mark", "", 0));
    }
    assert_eq!(read("\"\u{feff}\""), json!("\u{feff}"));
}

#[test]
fn exactly_one_document_is_read() {
    assert_eq!(refused(""), at("empty", "", 0));
    assert_eq!(refused(" \n\t"), at("empty", "", 3));
    assert_eq!(refused("{} x"), at("trailing_bytes", "", 3));
    assert_eq!(refused("1 2"), at("trailing_bytes", "", 2));
    assert_eq!(refused("[]]"), at("trailing_bytes", "", 2));
    assert_eq!(refused("null\0"), at("trailing_bytes", "", 4));
    assert_eq!(read("null \r\n\t "), Value::Null);
}

#[test]
fn every_proper_beginning_of_a_document_is_truncated_and_never_accepted() {
    let text = r#"{"k\u00e9":[-1.5e+3,"\ud83d\ude02\n",true,false,null,{"a":{}}]}"#;
    read(text);
    for length in 1..text.len() {
        let (code, _, offset) = refused(&text.as_bytes()[..length]);
        assert_eq!((code, offset), ("truncated", length), "{}", &text[..length]);
    }
}

#[test]
fn depth_is_counted_in_open_containers() {
    let nested = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
    read(&nested(64));
    assert_eq!(refused(nested(65)).0, "too_deep");
    assert_eq!(refused(nested(65)).1, "/0".repeat(64));
    assert_eq!(refused(nested(65)).2, 64);
    assert_eq!(refused(r#"{"a":"#.repeat(65)).1, "/a".repeat(64));
    // Closing gives the level back.
    read(&format!("[{}]", vec!["{}"; 100].join(",")));
    read(&format!("[{}]", vec!["[]"; 100].join(",")));
    read(&format!("[{}]", vec![r#"{"a":1}"#; 100].join(",")));
    read(&format!("[{}]", vec![nested(63); 50].join(",")));
}

#[test]
fn a_mountain_of_brackets_does_not_overflow_the_stack_whatever_limit_is_asked_for() {
    let limits = Limits { bytes: usize::MAX, depth: usize::MAX, nodes: usize::MAX };
    for opening in ["[", r#"{"":"#] {
        let error = parse(opening.repeat(1_000_000).as_bytes(), &limits).expect_err("a refusal");
        assert_eq!(error.code(), "too_deep");
    }
}

#[test]
fn size_is_counted_in_bytes_of_the_whole_text() {
    let limit = Limits::default().bytes;
    assert_eq!(limit, 262_144);
    read(&format!("\"{}\"", "x".repeat(limit - 2)));
    assert_eq!(refused(format!("\"{}\"", "x".repeat(limit - 1))), at("too_large", "", limit));
    assert_eq!(refused(" ".repeat(limit + 1)), at("too_large", "", limit));
}

#[test]
fn nodes_are_counted_in_values_with_the_root() {
    let list = |elements: usize| format!("[{}]", vec!["0"; elements].join(","));
    read(&list(9_999));
    assert_eq!(refused(list(10_000)), at("too_many_nodes", "/9999", 1 + 2 * 9_999));
    let object = |members: usize| {
        let members: Vec<_> = (0..members).map(|index| format!("\"{index}\":0")).collect();
        format!("{{{}}}", members.join(","))
    };
    read(&object(9_999));
    assert_eq!(refused(object(10_000)).1, "/9999");
    let none = Limits { nodes: 0, ..Limits::default() };
    assert_eq!(parse(b"1", &none).expect_err("a refusal").code(), "too_many_nodes");
}

#[test]
fn every_refusal_is_one_sentence_in_lower_case_that_shows_nothing_of_the_document() {
    let secret = "s3cr3t";
    for text in [
        "",
        "\u{feff}",
        "[s3cr3t]",
        "\"s3cr3t\" s3cr3t",
        "\"s3cr3t",
        r#"{"s3cr3t":1,"s3cr3t":2}"#,
        r#""s3cr3t\ud800""#,
        "1e999",
        "9007199254740993",
        &"[".repeat(65),
        &" ".repeat(300_000),
        &format!("[{}0]", "0,".repeat(10_000)),
    ] {
        let sentence = parse(text.as_bytes(), &Limits::default()).expect_err("a refusal").to_string();
        assert!(sentence.starts_with(|first: char| first.is_lowercase()), "{sentence}");
        assert!(
            sentence.contains("; ") && !sentence.contains(secret) && !sentence.contains('\n'),
            "{sentence}"
        );
    }
}

#[test]
fn a_plain_run_ends_at_the_first_byte_that_needs_care_wherever_it_stands() {
    for length in 0..40 {
        for special in (0..=0xFF_u8).filter(|&byte| byte < 0x20 || byte == b'"' || byte == b'\\') {
            for filler in [b' ', b'!', b'#', b'[', b']', 0x7F, 0x80, 0xA2, 0xDC, 0xFF] {
                let mut bytes = vec![filler; length];
                assert_eq!(super::plain_prefix(&bytes), length);
                bytes.extend([special, filler, special, filler, filler, filler, filler, filler, filler]);
                assert_eq!(super::plain_prefix(&bytes), length, "{filler:x} {special:x}");
            }
        }
    }
}

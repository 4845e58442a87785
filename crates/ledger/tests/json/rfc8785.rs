//! The documents published with RFC 8785, read by our reader and written by our writer.

use placet_ledger::canonical::{canonical, canonical_string};
use placet_ledger::ijson::{Limits, parse};

fn form(text: &str) -> String {
    let value = parse(text.as_bytes(), &Limits::default()).expect("a document");
    canonical_string(&value).expect("a form")
}

/// Section 3.2.2.
const SAMPLE: &str = r#"{
  "numbers": [333333333.33333329, 1E30, 4.50,
              2e-3, 0.000000000000000000000000001],
  "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
  "literals": [null, true, false]
}"#;

#[test]
fn the_sample_of_section_3_2_2_has_the_bytes_of_section_3_2_4() {
    let expected = "
        7b 22 6c 69 74 65 72 61 6c 73 22 3a 5b 6e 75 6c 6c 2c 74 72
        75 65 2c 66 61 6c 73 65 5d 2c 22 6e 75 6d 62 65 72 73 22 3a
        5b 33 33 33 33 33 33 33 33 33 2e 33 33 33 33 33 33 33 2c 31
        65 2b 33 30 2c 34 2e 35 2c 30 2e 30 30 32 2c 31 65 2d 32 37
        5d 2c 22 73 74 72 69 6e 67 22 3a 22 e2 82 ac 24 5c 75 30 30
        30 66 5c 6e 41 27 42 5c 22 5c 5c 5c 5c 5c 22 2f 22 7d";
    let expected: Vec<u8> =
        expected.split_whitespace().map(|hex| u8::from_str_radix(hex, 16).expect("a byte")).collect();
    let value = parse(SAMPLE.as_bytes(), &Limits::default()).expect("a document");
    assert_eq!(canonical(&value).expect("a form"), expected);
}

#[test]
fn the_keys_of_section_3_2_3_are_in_its_order() {
    let text = r#"{
      "\u20ac": "Euro Sign",
      "\r": "Carriage Return",
      "\ufb33": "Hebrew Letter Dalet With Dagesh",
      "1": "One",
      "\ud83d\ude00": "Emoji: Grinning Face",
      "\u0080": "Control",
      "\u00f6": "Latin Small Letter O With Diaeresis"
    }"#;
    let values = [
        "Carriage Return",
        "One",
        "Control",
        "Latin Small Letter O With Diaeresis",
        "Euro Sign",
        "Emoji: Grinning Face",
        "Hebrew Letter Dalet With Dagesh",
    ];
    let written = form(text);
    let places: Vec<_> =
        values.iter().map(|value| written.find(value).expect("the value is there")).collect();
    assert!(places.is_sorted(), "{written}");
}

#[test]
fn the_published_test_data_has_its_published_output() {
    for (name, input, output) in [
        ("arrays", r#"[ 56, { "d": true, "10": null, "1": [ ] } ]"#, r#"[56,{"1":[],"10":null,"d":true}]"#),
        (
            "french",
            r#"{ "peach": "This sorting order", "péché": "is wrong according to French",
                 "pêche": "but canonicalization MUST", "sin":   "ignore locale" }"#,
            r#"{"peach":"This sorting order","péché":"is wrong according to French","pêche":"but canonicalization MUST","sin":"ignore locale"}"#,
        ),
        (
            "structures",
            r#"{ "1": {"f": {"f": "hi","F": 5} ,"\n": 56.0}, "10": { }, "": "empty", "a": { },
                 "111": [ {"e": "yes","E": "no" } ], "A": { } }"#,
            r#"{"":"empty","1":{"\n":56,"f":{"F":5,"f":"hi"}},"10":{},"111":[{"E":"no","e":"yes"}],"A":{},"a":{}}"#,
        ),
        ("unicode", r#"{ "Unnormalized Unicode":"A\u030a" }"#, "{\"Unnormalized Unicode\":\"A\u{30a}\"}"),
        (
            "values",
            SAMPLE,
            r#"{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],"string":"€$\u000f\nA'B\"\\\\\"/"}"#,
        ),
        (
            "weird",
            r#"{ "\u20ac": "Euro Sign", "\r": "Carriage Return", "\u000a": "Newline", "1": "One",
                 "\u0080": "Control\u007f", "\ud83d\ude02": "Smiley", "\u00f6": "Latin Small Letter O With Diaeresis",
                 "\ufb33": "Hebrew Letter Dalet With Dagesh", "</script>": "Browser Challenge" }"#,
            "{\"\\n\":\"Newline\",\"\\r\":\"Carriage Return\",\"1\":\"One\",\"</script>\":\"Browser Challenge\",\
             \"\u{80}\":\"Control\u{7f}\",\"ö\":\"Latin Small Letter O With Diaeresis\",\"€\":\"Euro Sign\",\
             \"😂\":\"Smiley\",\"\u{fb33}\":\"Hebrew Letter Dalet With Dagesh\"}",
        ),
    ] {
        assert_eq!(form(input), output, "{name}");
    }
}

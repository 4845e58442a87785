//! Conditions at the edges: every conversion, every comparison, every limit from both sides, and what steps cost.

use serde_json::{Value, json};

use super::{
    tests::{error, no, said, yes},
    *,
};

fn refusal(source: &str) -> String {
    match Condition::new(source) {
        Ok(_) => panic!("{source} was admitted"),
        Err(refused) => refused.message,
    }
}

#[track_caller]
fn admitted(source: &str) {
    if let Err(refused) = Condition::new(source) {
        panic!("{source}: {}", refused.message);
    }
}

#[test]
fn doubles_are_added_subtracted_multiplied_divided_and_negated() {
    let args = json!({"half": 0.5, "three": 3.0});
    for source in [
        "-args.half == -0.5",
        "-args.half < 0.0",
        "args.three + args.half == 3.5",
        "args.three - args.half == 2.5",
        "args.three * args.half == 1.5",
        "args.three / args.half == 6.0",
    ] {
        yes(source, &args);
    }
    error("args.three % args.half == 0.0", &args);
    error("'a' - 'b' == 'ab'", &args);
    error("'a' * 'b' == 'ab'", &args);
}

#[test]
fn arithmetic_of_two_number_types_names_the_way_out() {
    let args = json!({"whole": 3, "half": 0.5});
    for source in ["args.whole + args.half > 1.0", "args.half + args.whole > 1.0"] {
        let Tri::Error(trouble) = said(source, &args) else { panic!("{source}") };
        assert!(trouble.to_string().contains("convert with `double()`"), "{trouble}");
    }
}

#[test]
fn conversions_take_what_fits_and_refuse_the_rest() {
    let args = json!({"nineteen": 1e19, "on": true});
    for source in [
        "string(args.on) == 'true'",
        "string(!args.on) == 'false'",
        "int('9223372036854775807') == 9223372036854775807",
        "int('-9223372036854775808') == -9223372036854775808",
        "int(9.1e18) == 9100000000000000000",
        "int(-9.1e18) == -9100000000000000000",
        "int(-1.9) == -1",
        "double('1.5') == 1.5",
        "double(3) == 3.0",
    ] {
        yes(source, &args);
    }
    for source in [
        "int(args.nineteen) > 0",
        "int(9.2e18) > 0",
        "int('') == 0",
        "int(true) == 1",
        "string(1.5) == '1.5'",
    ] {
        error(source, &args);
    }
    let int = |length: usize| format!("int('{:0>length$}') == 1", 1);
    yes(&int(20), &args);
    error(&int(21), &args);
    let double = |length: usize| format!("double('{:0>length$}') == 1.0", 1);
    yes(&double(64), &args);
    error(&double(65), &args);
    error("double('1e999') > 0.0", &args);
}

#[test]
fn texts_have_two_quotes_raw_forms_and_escapes() {
    let args = json!({"t": "a\nb\tc\rd", "s": "\\n", "q": "'\"`?"});
    for source in [
        r"args.t == 'a\nb\tc\rd'",
        r#"args.t == "a\nb\tc\rd""#,
        r"args.t == 'a\x0Ab\X09c\u000Dd'",
        r"args.t == 'a\U0000000Ab\tc\rd'",
        r"args.s == r'\n'",
        r#"args.s == r"\n""#,
        r"args.s == '\\n'",
        r#"args.q == '\'\"\`\?'"#,
        r"'\u00f6' == 'ö' && '\U0001F600' == '😀'",
    ] {
        yes(source, &args);
    }
    for source in
        [r"'\q' == 'q'", r"'\x4' == 'q'", r"'\ud800' == 'q'", r"'\U00110000' == 'q'", "'a", "b'a' == 'a'"]
    {
        refusal(source);
    }
}

#[test]
fn numbers_end_where_their_digits_end() {
    let args = json!({});
    for source in
        ["1+2==3", "1-2==-1", "2.5-1.5==1.0", "1e2==100.0", "1E+2==100.0", "15e-1==1.5", "[1,2][1]==2"]
    {
        yes(source, &args);
    }
    admitted("1.size() == 1");
    for source in ["1x == 1", "1_000 == 1000", "1e == 1", "0x10 == 16", "1e+ == 1"] {
        assert_eq!(refusal(source), "a number is followed by a letter", "{source}");
    }
    assert!(refusal("9223372036854775808 > 0").contains("not"));
    assert!(refusal("1e999 > 0.0").contains("is not a number that fits"));
}

#[test]
fn a_condition_may_be_16_deep_and_have_200_parts() {
    let deep = |count: usize| format!("{}true", "!".repeat(count));
    admitted(&deep(DEPTH - 1));
    assert!(refusal(&deep(DEPTH)).contains("nested deeper than 16"));
    // Parentheses add no depth to the tree; the reader itself may go twice as deep.
    let nested = |count: usize| format!("{}true{}", "(".repeat(count), ")".repeat(count));
    admitted(&nested(2 * DEPTH - 1));
    assert!(refusal(&nested(2 * DEPTH)).contains("nested deeper than 16"));
    assert!(refusal(&nested(100)).contains("nested deeper than 16"));
    // The list itself is a part, and so is each literal, with or without a sign.
    for literal in ["1", "-1", "1.5", "-1.5"] {
        let wide = |count: usize| format!("[{}]", vec![literal; count].join(","));
        admitted(&wide(NODES - 1));
        assert!(refusal(&wide(NODES)).contains("more than 200 parts"), "{literal}");
    }
    let long = |length: usize| format!("'{}'", "x".repeat(length - 2));
    admitted(&long(SOURCE));
    refusal(&long(SOURCE + 1));
}

#[test]
fn what_was_not_expected_is_named() {
    for (source, message) in [
        ("true foo", "`foo` was not expected here"),
        ("1 within [1]", "`within` was not expected here"),
        ("true 1", "a number was not expected here"),
        ("true 1.5", "a number was not expected here"),
        ("true 'a'", "a text was not expected here"),
        ("true )", "`)` was not expected here"),
        ("(true", "`)` was expected, not the end of the condition"),
        ("true &&", "a value was expected, not the end of the condition"),
        ("args.1", "a name was expected after `.`, not a number"),
        ("args.l.all(args, true)", "`args` cannot name an element"),
        ("args.l.all(in, true)", "`in` cannot name an element"),
        ("args.l.all(1, true)", "a number cannot name an element"),
    ] {
        assert_eq!(refusal(source), message, "{source}");
    }
}

#[test]
fn an_offset_is_two_digits_each_and_at_most_14_hours() {
    // 23:46 UTC.
    for source in [
        "time.getHours('-02:00') == 21",
        "time.getHours('+02:00') == 1",
        "time.getMinutes('+00:20') == 6",
        "time.getMinutes('-00:59') == 47",
        "time.getHours('+14:00') == 13",
        "time.getHours('UTC') == 23",
        "time.getHours('Z') == 23",
    ] {
        yes(source, &json!({}));
    }
    for offset in [
        "+15:00", "-15:00", "+02:60", "+2:00", "+02:0", "+002:00", "+02:000", "02:00", "+0a:00", "+02:0a",
        "+02", "+-2:00", "+02:-1", "CET", "u", "",
    ] {
        let source = format!("time.getHours('{offset}') == 1");
        assert!(refusal(&source).contains("is not a fixed offset"), "{source}");
    }
}

#[test]
fn every_comparison_tells_less_equal_and_greater_apart() {
    let args = json!({"one": 1, "two": 2, "half": 1.5, "a": "a", "b": "b", "yes": true, "no": false});
    let time = |day: u32| format!("timestamp('2026-01-0{day}T00:00:00Z')");
    let (first, second) = (time(1), time(2));
    for (less, more) in [
        ("args.one", "args.two"),
        ("args.one", "args.half"),
        ("args.half", "args.two"),
        ("args.a", "args.b"),
        ("args.no", "args.yes"),
        (&first, &second),
    ] {
        for (sign, holds) in [
            ("<", [true, false, false]),
            ("<=", [true, true, false]),
            ("==", [false, true, false]),
            ("!=", [true, false, true]),
            (">=", [false, true, true]),
            (">", [false, false, true]),
        ] {
            for ((left, right), wanted) in [(less, more), (less, less), (more, less)].into_iter().zip(holds) {
                assert_eq!(
                    said(&format!("{left} {sign} {right}"), &args),
                    Tri::of(wanted),
                    "{left} {sign} {right}"
                );
            }
        }
    }
}

#[test]
fn whole_numbers_and_doubles_are_compared_exactly() {
    let args = json!({"min": i64::MIN, "max": i64::MAX, "big": 9_007_199_254_740_993_i64});
    for source in [
        "args.min > -1e300",
        "args.min == -9223372036854775808.0",
        "args.min < -9223372036854774784.0",
        "args.max < 9223372036854775808.0",
        "args.max < 1e300",
        "args.big > 9007199254740992.0",
        "1 < 1.5 && 2 > 1.5 && -1 > -1.5 && -2 < -1.5",
    ] {
        yes(source, &args);
    }
}

/// Two values of each type JSON has, and how they compare with each other wherever they lie.
#[test]
fn values_inside_lists_and_maps_are_compared_as_they_are_outside() {
    let values = [
        json!(null),
        json!(true),
        json!(false),
        json!("a"),
        json!("b"),
        json!(1),
        json!(2.5),
        json!([1]),
        json!([2]),
        json!([1, 1]),
        json!({"k": 1}),
        json!({"k": 2}),
        json!({"j": 1}),
        json!({"k": 1, "j": 1}),
    ];
    let kind = |value: &Value| match value {
        Value::Null => 0,
        Value::Bool(_) => 1,
        Value::Number(_) => 2,
        Value::String(_) => 3,
        Value::Array(_) => 4,
        Value::Object(_) => 5,
    };
    for left in &values {
        for right in &values {
            let comparable = kind(left) == kind(right) || left.is_null() || right.is_null();
            for args in [
                json!({"l": left, "r": right}),
                json!({"l": [left], "r": [right]}),
                json!({"l": {"x": left}, "r": {"x": right}}),
                json!({"l": [[left]], "r": [[right]]}),
            ] {
                let is = said("args.l == args.r", &args);
                if comparable {
                    assert_eq!(is, Tri::of(left == right), "{args}");
                    assert_eq!(said("args.l != args.r", &args), Tri::of(left != right), "{args}");
                } else {
                    assert!(matches!(is, Tri::Error(_)), "{args}");
                }
            }
            // A list that is computed is compared with one that lies in the arguments.
            let args = json!({"l": left, "r": [right]});
            let is = said("[args.l] == args.r", &args);
            assert!(
                if comparable { is == Tri::of(left == right) } else { matches!(is, Tri::Error(_)) },
                "{args}"
            );
        }
    }
}

#[test]
fn a_list_without_the_value_must_have_one_of_its_type() {
    let args = json!({"l": ["a", 2], "m": {"k": 1, "j": 2}});
    no("1 in args.l", &args);
    no("1 in ['a', 2]", &args);
    no("1 in []", &args);
    yes("2 in args.l && 'a' in args.l", &args);
    error("true in args.l", &args);
    error("1 in ['a']", &args);
    yes("size(args.m) == 2 && size(args.l) == 2 && size('abc') == 3 && size([1]) == 1", &args);
}

/// What a condition costs.
fn cost(source: &str, arguments: &Value) -> u32 {
    let condition = Condition::new(source).unwrap_or_else(|refused| panic!("{source}: {refused:?}"));
    let work = WorkBudget::new();
    let scope = Scope {
        arguments: arguments.as_object().unwrap(),
        tool: "",
        agent: "",
        source: "",
        time: Time::from_micros(0),
        session: "",
        lineage: None,
    };
    condition.test(&scope, &work);
    work.spent()
}

#[test]
fn long_texts_cost_by_their_length() {
    let of = |length: usize| {
        let text = "x".repeat(length);
        json!({"a": text, "b": text, "l": [text], "m": [text], "empty": ""})
    };
    for (source, length, more) in [
        ("args.a == args.b", 165, 10),
        ("args.a < args.b", 165, 10),
        ("args.l == args.m", 165, 10),
        ("size(args.a) > 0", 83, 10),
        ("args.a.startsWith(args.b)", 83, 10),
        ("args.a.endsWith(args.b)", 83, 10),
        ("args.a.contains(args.empty)", 83, 83),
        ("args.a + args.b != ''", 83, 166),
    ] {
        assert_eq!(cost(source, &of(length)) - cost(source, &of(0)), more, "{source}");
    }
}

#[test]
fn lists_cost_by_their_elements_and_maps_by_their_keys() {
    let list = |count: usize| json!({"l": vec![1; count], "m": vec![1; count]});
    assert_eq!(cost("args.l == args.m", &list(10)) - cost("args.l == args.m", &list(0)), 80);
    let map = |count: usize| {
        let map: Map<String, Value> = (0..count).map(|key| (key.to_string(), json!(1))).collect();
        json!({"l": map, "m": map})
    };
    assert_eq!(cost("args.l == args.m", &map(10)) - cost("args.l == args.m", &map(0)), 480);
    let each = "args.l.all(x, true)";
    assert_eq!(cost(each, &list(10)) - cost(each, &list(0)), 10 * 35);
}

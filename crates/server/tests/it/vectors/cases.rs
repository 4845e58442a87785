//! What the vectors are made of.

use serde_json::{Value, json};

/// Name and text of documents that have a canonical form.
pub(super) const ACCEPTED: &[(&str, &str)] = &[
    ("nothing in it", "{}"),
    ("white space", " \n\r\t{ \"b\" : [ 1 , 2 ] ,\n\"a\" : { } } "),
    ("words", "[null,true,false]"),
    ("number: zero", "[0,-0,0.0,-0.0,0e5,-0e-5]"),
    ("number: integral doubles", "[1.0,-1.0,1e3,100e-2,1E2,1e+2]"),
    (
        "number: greatest integers",
        "[9007199254740991,-9007199254740991,9007199254740991.0,9.007199254740991e15]",
    ),
    ("number: where the exponent begins", "[1e21,1e-6,1e-7,-1e21,-1e-7,123e-9,1.5e300]"),
    ("number: large doubles that keep their exponent", "[1e21,1.2345678901234567e29,3e23]"),
    ("number: least and greatest", "[5e-324,4.9e-324,2.2250738585072014e-308,1.7976931348623157e308]"),
    ("number: what underflows is zero", "[1e-400,-1e-400]"),
    ("number: sums", "[0.30000000000000004,0.1,0.2,0.3]"),
    ("number: of RFC 8785", "[333333333.33333329,4.50,2e-3,0.000000000000000000000000001]"),
    (
        "number: halves to even",
        "[333333333.3333332,333333333.33333325,333333333.3333333,333333333.3333334,333333333.33333343]",
    ),
    (
        "number: seventeen digits",
        "[4503599627370497.5,0.000001,1.7800590868057611e-307,-0.0000033333333333333333]",
    ),
    (
        "number: more digits than a double has",
        "[0.1000000000000000055511151231257827,123456789.123456789123456789]",
    ),
    ("text: empty", "\"\""),
    ("text: short escapes", r#""\b\t\n\f\r\"\\\/""#),
    (
        "text: control characters",
        r#""\u0000\u0001\u0007\u0008\u0009\u000a\u000b\u000c\u000d\u000e\u001f\u007f\u0080\u009f""#,
    ),
    ("text: escapes that need not be", r#""\u0041\u00e9\u20ac\ud83d\ude02\u2028\u2029\u002f""#),
    ("text: not normalised", "[\"\u{e9}\",\"e\u{301}\",\"\u{212b}\",\"\u{c5}\"]"),
    ("text: noncharacters and the end of Unicode", "[\"\u{ffff}\",\"\u{fffe}\",\"\u{10ffff}\",\"\u{fdd0}\"]"),
    ("text: a byte-order mark inside", "\"a\u{feff}b\""),
    ("text: of both directions", "\"\u{202e}gnp.exe\u{202c} \u{200b}\u{2066}\""),
    ("text: what HTML would escape", "\"<script>&amp;'</script>\""),
    ("keys: sorted", r#"{"b":1,"a":2,"B":3,"":4,"aa":5}"#),
    ("keys: digits sort as text", r#"{"10":1,"9":2,"1":3,"-1":4}"#),
    (
        "keys: by UTF-16 units, so above the plane comes before U+E000",
        "{\"\u{fb33}\":1,\"\u{1f602}\":2,\"\u{e000}\":3,\"\u{d7ff}\":4}",
    ),
    (
        "keys: of RFC 8785",
        r#"{"\u20ac":"Euro Sign","\r":"Carriage Return","\ufb33":"Hebrew Letter Dalet With Dagesh","1":"One","\ud83d\ude00":"Emoji: Grinning Face","\u0080":"Control","\u00f6":"Latin Small Letter O With Diaeresis"}"#,
    ),
    ("keys: not normalised, so two", "{\"\u{e9}\":1,\"e\u{301}\":2}"),
    ("keys: escapes", r#"{"\"":1,"\\":2,"\u0000":3,"/":4,"\n":5}"#),
    ("keys: that other languages trip over", r#"{"__proto__":1,"constructor":2,"toString":3,"length":4}"#),
    ("keys: the same at another level", r#"{"a":{"a":{"a":1}}}"#),
    ("nesting: order of a list stays", r#"[[3,2,1],{"z":[{"y":1,"x":2}]}]"#),
    (
        "an ordinary call",
        r#"{"files":["report.md","b/ü.txt"],"force":false,"limit":10,"ratio":0.25,"note":null}"#,
    ),
];

/// Texts that no reader of ours accepts. `value` says that the fault is still there in what a lenient parser makes of
/// the text, so that whoever starts from values must refuse it as well.
pub(super) fn refused() -> Vec<Value> {
    let text = |name: &str, text: &str, value: bool| json!({"name": name, "text": text, "value": value});
    let hex = |name: &str, hex: &str| json!({"name": name, "hex": hex, "value": false});
    let parts = |name: &str, parts: &[(&str, usize)], value: bool| {
        let parts: Vec<Value> =
            parts.iter().map(|(text, times)| json!({"text": text, "repeat": times})).collect();
        json!({"name": name, "parts": parts, "value": value})
    };
    vec![
        text("one key twice", r#"{"a":1,"a":1}"#, false),
        text("one key twice, the second spelled with an escape", r#"{"a":1,"\u0061":2}"#, false),
        text("one key twice, deep down", r#"[{"x":{"k":1,"l":2,"k":3}}]"#, false),
        text("half a surrogate pair, the first", r#"{"a":"\ud83d"}"#, true),
        text("half a surrogate pair, the second", r#"{"a":"\ude02"}"#, true),
        text("half a surrogate pair, twice the first", r#"{"a":"\ud83d\ud83d"}"#, true),
        text("half a surrogate pair, the wrong way round", r#"{"a":"\ude02\ud83d"}"#, true),
        text("half a surrogate pair in a key", r#"{"\ud83d":1}"#, true),
        hex("half a surrogate pair as bytes", "22eda0bd22"),
        text("a byte-order mark", "\u{feff}{}", false),
        hex("a byte-order mark of UTF-16", "fffe7b007d00"),
        hex("not UTF-8", "7b2261223a22ff227d"),
        hex("not UTF-8: too long a form of /", "22c0af22"),
        text("a second document", "{} {}", false),
        text("a comma after the end", "{},", false),
        hex("a zero byte after the end", "7b7d00"),
        text("an integer beyond 2^53-1", r#"{"n":9007199254740992}"#, true),
        text("an integer beyond 2^53-1 that doubles cannot hold", r#"{"n":9007199254740993}"#, true),
        text("an integer below -(2^53-1)", r#"{"n":-9007199254740992}"#, true),
        text(
            "an integer of more than 21 digits, though its double keeps an exponent",
            r#"{"n":333333333333333333333333}"#,
            false,
        ),
        text("a large integer", r#"{"n":123456789012345678901}"#, true),
        text("a double that is written like a large integer", r#"{"n":1e20}"#, true),
        text("a double that is written like an integer beyond 2^53-1", r#"{"n":9007199254740992.0}"#, true),
        text("not a number", r#"{"n":NaN}"#, true),
        text("infinity", r#"{"n":Infinity}"#, true),
        text("infinity below zero", r#"{"n":-Infinity}"#, true),
        text("a number beyond a double", r#"{"n":1e400}"#, true),
        text("a number with a zero before it", "[01]", false),
        text("a number with a plus", "[+1]", false),
        text("a number without its beginning", "[.5]", false),
        text("a number without its end", "[1.]", false),
        text("a number in another base", "[0x10]", false),
        text("a comma too many", "[1,]", false),
        text("a comment", "[1/* */]", false),
        text("another kind of quotes", "{'a':1}", false),
        text("a key without quotes", "{a:1}", false),
        text("a word of Python", "[None]", false),
        text("a word of JavaScript", "[undefined]", false),
        text("a line break in a text", "\"a\nb\"", false),
        text("an escape that does not exist", r#""\x41""#, false),
        text("cut off", r#"{"a":[1,2"#, false),
        text("nothing", "", false),
        text("white space alone", " \n ", false),
        parts("65 levels of lists", &[("[", 65), ("]", 65)], true),
        parts("65 levels of objects", &[("{\"a\":", 65), ("1", 1), ("}", 65)], true),
        parts("a hundred thousand levels", &[("[", 100_000)], false),
        parts("10,001 values", &[("[", 1), ("0,", 9_999), ("0]", 1)], true),
        parts("256 KiB and a byte", &[("\"", 1), ("x", 262_143), ("\"", 1)], true),
        parts("256 KiB and a byte of white space", &[("1", 1), (" ", 262_144)], false),
    ]
}

/// Name, body and decision of every record.
pub(super) fn requests() -> Vec<(&'static str, Value, Option<Value>)> {
    let action = |arguments: Value| json!({"kind": "action", "session": "s-1", "tool": "delete_files", "arguments": arguments});
    let approve = Some(json!({"decision": "approve"}));
    let plan = json!({"kind": "plan", "session": "s-1", "title": "Move the shop", "can_modify": true, "estimated_duration": "40 minutes",
        "steps": [{"id": "backup", "action": "backup", "description": "Back up", "arguments": {"target": "s3://b"}},
                  {"id": "verify", "action": "verify", "description": "Compare", "optional": true}]});
    vec![
        ("an action that waits", action(json!({"files": ["report.md"]})), None),
        ("an action without arguments, approved", action(json!({})), approve.clone()),
        (
            "an action, denied",
            action(json!({"files": []})),
            Some(json!({"decision": "deny", "reason": "not today"})),
        ),
        (
            "an action with everything, edited",
            json!({"kind": "action", "session": "s \u{1f602}\"\\\n", "tool": "pay/transfer", "arguments":
                {"\u{fb33}": 1, "\u{1f602}": 2, "amount": 0.1, "tiny": 5e-324, "big": 1e21, "text": "e\u{301}\u{0}\u{7f}\u{2028}", "list": [null, true, {"b": 1, "a": -0.5}]},
                "arguments_schema": {"type": "object", "properties": {"amount": {"type": "number", "maximum": 100}}},
                "context": {"cwd": "/srv", "lineage": ["planner", "payer"], "attempt": 2},
                "summary": "In my own words.", "risk": "high", "on_behalf_of": "carl@example.org", "group": "g-1", "expires_in": "10m"}),
            Some(
                json!({"decision": "edit", "reason": "too much", "arguments": {"amount": 1e-7, "\u{1f602}": "edited", "\u{fb33}": [], "whole": 9_007_199_254_740_991_u64}}),
            ),
        ),
        (
            "an action, answered in its place",
            json!({"kind": "action", "session": "s-1", "tool": "ask_crm", "arguments": {"id": 7}, "allowed": ["approve", "edit", "deny", "respond"]}),
            Some(json!({"decision": "respond", "answer": {"name": "Ann \u{e9}", "since": 2019}})),
        ),
        (
            "an action without a permit",
            json!({"kind": "action", "session": "s-1", "tool": "look", "arguments": {"a": 1}, "permit": false}),
            approve.clone(),
        ),
        ("a plan that waits", plan.clone(), None),
        ("a plan, approved as proposed", plan.clone(), approve.clone()),
        (
            "a plan, its steps decided one by one in another order",
            plan,
            Some(json!({"decision": "approve", "steps": [{"id": "verify", "decision": "deny"},
                {"id": "backup", "decision": "edit", "arguments": {"target": "s3://c", "n": 1e-7}}]})),
        ),
        (
            "a plan with nothing but what it must have",
            json!({"kind": "plan", "session": "s-1", "title": "t", "steps": [{"id": "a", "action": "x", "description": ""}]}),
            None,
        ),
        (
            "an input, answered with a choice",
            json!({"kind": "input", "session": "s-1", "question": "Which region?", "input": {"type": "choice", "options": ["eu", "us"]}, "required": true, "default": "eu"}),
            Some(json!({"decision": "respond", "answer": "us"})),
        ),
        (
            "an input, answered with a number",
            json!({"kind": "input", "session": "s-1", "question": "How many?", "input": {"type": "number", "min": -0.5, "max": 1e21}}),
            Some(json!({"decision": "respond", "answer": 1e-7})),
        ),
        (
            "an input, answered with nothing",
            json!({"kind": "input", "session": "s-1", "question": "Anything else?", "input": {"type": "text"}, "required": false}),
            Some(json!({"decision": "respond", "answer": null})),
        ),
        (
            "a confirmation with its own labels, approved",
            json!({"kind": "confirmation", "session": "s-1", "message": "Publish 2.0?", "details": "The site is rebuilt.", "confirm_label": "Publish", "cancel_label": "Wait"}),
            approve,
        ),
        (
            "a confirmation with the usual labels, denied",
            json!({"kind": "confirmation", "session": "s-1", "message": "Publish?"}),
            Some(json!({"decision": "deny"})),
        ),
    ]
}

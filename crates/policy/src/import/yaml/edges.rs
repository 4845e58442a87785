//! The reader of YAML at its edges: comments, quotes, signs that are refused, and depth.

use serde_json::json;

use super::*;

#[track_caller]
fn reads(text: &str, expected: Value) {
    assert_eq!(documents(text), Ok(vec![expected]), "{text}");
}

#[track_caller]
fn refuses(text: &str, why: &str) {
    let error = documents(text).unwrap_err();
    assert!(error.contains(why), "{text}: {error}");
}

#[test]
fn a_document_begins_on_a_line_of_its_own() {
    assert_eq!(documents("a: 1\n--- # next\nb: 2"), Ok(vec![json!({"a": 1}), json!({"b": 2})]));
    assert_eq!(documents("a: 1\n...\n---\nb: 2"), Ok(vec![json!({"a": 1}), json!({"b": 2})]));
    refuses("a: 1\n--- b: 2", "line 2: a document begins on a line of its own");
}

#[test]
fn a_comment_begins_with_a_hash_behind_a_blank_and_outside_of_quotes() {
    reads("a: x # c", json!({"a": "x"}));
    reads("a: x\t# c", json!({"a": "x"}));
    reads("a: x#y", json!({"a": "x#y"}));
    reads("#c\na: 1", json!({"a": 1}));
    reads("a: 'x # y' # c", json!({"a": "x # y"}));
    reads("a: \"x # y\" # c", json!({"a": "x # y"}));
    reads(r#"a: "x \" # y" # c"#, json!({"a": "x \" # y"}));
    reads(r"a: 'x\' # c", json!({"a": "x\\"}));
    reads("a: it's # c", json!({"a": "it's"}));
    reads("a: 5\" # c", json!({"a": "5\""}));
    reads("a: ['x # y', z] # c", json!({"a": ["x # y", "z"]}));
    reads("- 'x # y' # c", json!(["x # y"]));
}

#[test]
fn keys_may_stand_in_quotes() {
    reads("'a b': 1\n\"c: d\": 2", json!({"a b": 1, "c: d": 2}));
    reads("'a':\n  b: 1\n\"c\":\n  d: 2", json!({"a": {"b": 1}, "c": {"d": 2}}));
    refuses("\"a\\n\": 1", "escapes in a key");
    refuses("a: 1\n'b':1", "`key: value` was expected");
}

#[test]
fn signs_with_a_meaning_of_their_own_are_refused_by_name() {
    for (text, why) in [
        ("a: &x 1", "an anchor"),
        ("a: *x", "an alias"),
        ("a: !x 1", "a tag"),
        ("%YAML 1.2", "a directive"),
        ("a: @x", "a reserved sign"),
        ("a: `x`", "a reserved sign"),
        ("? a", "a complex key"),
        ("?", "a complex key"),
        ("<<: {a: 1}", "a merge key"),
    ] {
        refuses(text, why);
    }
    reads("?x: ?y", json!({"?x": "?y"}));
    reads("a: < b", json!({"a": "< b"}));
}

#[test]
fn what_does_not_fit_is_told_apart() {
    refuses("a: 'x'\n  b: 2", "line 2: the indentation does not fit");
    refuses("a: 1\n- b", "line 2: this does not belong to what stands above it");
    refuses("a: 1\n-", "line 2: this does not belong to what stands above it");
    refuses("a: 1\nb", "line 2: `key: value` was expected");
}

#[test]
fn a_long_text_has_a_short_head() {
    reads("a: |\n  x\n  y\nb: 1", json!({"a": "x\ny\n", "b": 1}));
    reads("a: |+1\n  x", json!({"a": "x\n"}));
    reads("a: >-\n  x", json!({"a": "x\n"}));
    refuses("a: |+-1\n  x", "does not begin a text");
    refuses("a: |+-12\n  x", "does not begin a text");
    refuses("a: |x\n  x", "does not begin a text");
}

#[test]
fn a_bracket_inside_quotes_closes_nothing() {
    reads("a: ['x]',\n  y]", json!({"a": ["x]", "y"]}));
    reads("a: [\"x]\",\n  y]", json!({"a": ["x]", "y"]}));
    reads("a: {b: '}',\n  c: 1}", json!({"a": {"b": "}", "c": 1}}));
}

#[test]
fn nesting_has_a_limit_in_blocks_and_in_brackets() {
    let block = |levels: usize| {
        (0..levels).map(|depth| format!("{}a:", " ".repeat(depth))).collect::<Vec<_>>().join("\n")
    };
    assert!(documents(&block(DEPTH + 1)).is_ok());
    refuses(&block(DEPTH + 2), "nested deeper than 64");
    let brackets = |levels: usize| format!("a: {}{}", "[".repeat(levels), "]".repeat(levels));
    assert!(documents(&brackets(DEPTH + 1)).is_ok());
    refuses(&brackets(DEPTH + 2), "nested deeper than 64");
}

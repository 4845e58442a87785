//! What a screen is given beside the raw text.

use placet_policy::shell::{analyse, escaped};

#[test]
fn the_parts_are_words_operators_and_files() {
    let parts = analyse("git log --oneline | head -5 > 'out file'").decomposition();
    assert_eq!(
        serde_json::to_value(&parts).expect("plain data"),
        serde_json::json!({
            "parts": [
                { "operator": null, "argv": ["git", "log", "--oneline"], "redirects": [] },
                { "operator": "|", "argv": ["head", "-5"], "redirects": [{ "fd": null, "mode": "write", "target": "out file" }] },
            ],
            "truncated": false,
        })
    );
}

#[test]
fn an_opaque_text_says_why_and_shows_what_was_found() {
    let parts = analyse("cd /tmp && rm -rf $(cat list) > log").decomposition();
    assert_eq!(
        serde_json::to_value(&parts).expect("plain data"),
        serde_json::json!({
            "opaque": { "reason": "the word is not literal: `$`", "at": 18 },
            "parts": [
                { "operator": null, "argv": ["cd", "/tmp"], "redirects": [] },
                { "operator": null, "argv": ["cat", "list"], "redirects": [] },
                { "operator": "&&", "argv": ["rm", "-rf", ""], "redirects": [{ "fd": null, "mode": "write", "target": "log" }] },
            ],
            "truncated": false,
        })
    );
}

#[test]
fn nothing_on_the_screen_can_disguise_itself() {
    let parts = analyse("echo 'a\u{202e}b\u{200b}c\nd\u{2028}e'").decomposition();
    assert_eq!(parts.parts[0].argv[1], "a\\u{202e}b\\u{200b}c\\u{a}d\\u{2028}e");
    assert_eq!(escaped("\u{1b}[2K é"), "\\u{1b}[2K é");
}

#[test]
fn a_very_long_text_is_shown_in_part() {
    let parts = analyse(&"a $x;".repeat(300)).decomposition();
    assert_eq!(parts.parts.len(), 100);
    assert!(parts.truncated);
    let parts = analyse(&"a".repeat(1 << 20)).decomposition();
    assert!(parts.parts.is_empty() && parts.truncated);
}

//! Documents written or built by hand, each with the verdict it must get: the source of
//! `tests/vectors/json.json`, which readers in other languages are held to as well.
//!
//! Names begin like those of the well-known JSON test suites: `y_` every JSON parser must accept, `n_` every one
//! must refuse, `i_` the standard leaves open and Placet decides.

use crate::corpus_tables::{ACCEPTED, REFUSED};

/// One document: pieces and how often each is repeated, so that the large ones stay short in the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Case {
    pub(crate) name: String,
    pub(crate) parts: Vec<(Vec<u8>, usize)>,
    pub(crate) expected: Expected,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Expected {
    /// The canonical form; none for a document too long to spell out.
    Accepted(Option<String>),
    /// The code, and the pointer to the place.
    Refused { code: String, pointer: String },
}

impl Case {
    pub(crate) fn text(&self) -> Vec<u8> {
        self.parts.iter().flat_map(|(piece, times)| piece.repeat(*times)).collect()
    }
}

fn case(name: impl Into<String>, text: impl AsRef<[u8]>, expected: Expected) -> Case {
    Case { name: name.into(), parts: vec![(text.as_ref().to_vec(), 1)], expected }
}

fn accepted(name: impl Into<String>, text: impl AsRef<[u8]>, canonical: impl Into<String>) -> Case {
    case(name, text, Expected::Accepted(Some(canonical.into())))
}

fn refused(name: impl Into<String>, text: impl AsRef<[u8]>, code: &str, pointer: &str) -> Case {
    let expected = Expected::Refused { code: code.to_owned(), pointer: pointer.to_owned() };
    case(name, text, expected)
}

/// The whole corpus, in a fixed order.
pub(crate) fn corpus() -> Vec<Case> {
    let mut cases = Vec::new();
    cases.extend(ACCEPTED.iter().map(|(name, text, canonical)| accepted(*name, text, *canonical)));
    cases.extend(REFUSED.iter().map(|(name, text, code, pointer)| refused(*name, text, code, pointer)));
    cases.extend(control_characters());
    cases.extend(escapes());
    cases.extend(bad_utf8());
    cases.extend(foreign_space());
    cases.extend(truncations());
    cases.extend(sizes());
    cases
}

/// Every control character, raw: never inside a string, and only four of them between tokens.
fn control_characters() -> impl Iterator<Item = Case> {
    (0..0x20_u8).flat_map(|byte| {
        let value = [b"[\"a", &[byte][..], b"a\"]"].concat();
        let key = [b"{\"a", &[byte][..], b"a\":1}"].concat();
        let between = [b"[1,", &[byte][..], b"2]"].concat();
        let between = match byte {
            b' ' | b'\n' | b'\r' | b'\t' => accepted(format!("y_space_{byte:02x}"), between, "[1,2]"),
            _ => refused(format!("n_space_{byte:02x}"), between, "syntax", "/1"),
        };
        [
            refused(format!("n_string_raw_control_{byte:02x}"), value, "syntax", "/0"),
            refused(format!("n_key_raw_control_{byte:02x}"), key, "syntax", ""),
            between,
        ]
    })
}

/// Every letter and digit after a backslash, and every control character as an escape.
fn escapes() -> impl Iterator<Item = Case> {
    let letters = (b'0'..=b'9').chain(b'A'..=b'Z').chain(b'a'..=b'z').chain(*b" '`,:;");
    let letters = letters.filter(|letter| !b"bfnrtu".contains(letter)).map(|letter| {
        let text = [b"\"\\", &[letter][..], b"\""].concat();
        refused(format!("n_escape_{letter:02x}"), text, "syntax", "")
    });
    let controls = (0..0x20_u8).map(|byte| {
        let short = match byte {
            8 => "\\b".to_owned(),
            9 => "\\t".to_owned(),
            10 => "\\n".to_owned(),
            12 => "\\f".to_owned(),
            13 => "\\r".to_owned(),
            _ => format!("\\u{byte:04x}"),
        };
        accepted(format!("y_escape_control_{byte:02x}"), format!("\"\\u{byte:04X}\""), format!("\"{short}\""))
    });
    letters.chain(controls)
}

/// Byte sequences that are not UTF-8, in a value, in a key and outside of strings.
fn bad_utf8() -> impl Iterator<Item = Case> {
    let sequences: [(&str, &[u8]); 22] = [
        ("stray_continuation", b"\x80"),
        ("stray_continuations", b"\xBF\xBF"),
        ("overlong_slash_2", b"\xC0\xAF"),
        ("overlong_slash_3", b"\xE0\x80\xAF"),
        ("overlong_slash_4", b"\xF0\x80\x80\xAF"),
        ("overlong_nul", b"\xC0\x80"),
        ("overlong_del", b"\xC1\xBF"),
        ("overlong_7ff", b"\xE0\x9F\xBF"),
        ("overlong_ffff", b"\xF0\x8F\xBF\xBF"),
        ("high_surrogate", b"\xED\xA0\x80"),
        ("low_surrogate", b"\xED\xBF\xBF"),
        ("surrogate_pair", b"\xED\xA0\xBD\xED\xB8\x82"),
        ("beyond_10ffff", b"\xF4\x90\x80\x80"),
        ("five_bytes", b"\xF8\x88\x80\x80\x80"),
        ("six_bytes", b"\xFC\x84\x80\x80\x80\x80"),
        ("byte_f5", b"\xF5\x80\x80\x80"),
        ("byte_fe", b"\xFE"),
        ("byte_ff", b"\xFF"),
        ("cut_2", b"\xC3"),
        ("cut_3", b"\xE2\x82"),
        ("cut_4", b"\xF0\x9F\x98"),
        ("latin1", b"\xE9t\xE9"),
    ];
    sequences.into_iter().flat_map(|(name, bytes)| {
        [
            refused(format!("i_utf8_value_{name}"), [b"{\"a\":\"", bytes, b"\"}"].concat(), "not_utf8", "/a"),
            refused(format!("i_utf8_key_{name}"), [b"{\"", bytes, b"\":1}"].concat(), "not_utf8", ""),
            refused(format!("n_utf8_outside_{name}"), [b"[1", bytes, b"]"].concat(), "not_utf8", ""),
        ]
    })
}

/// Characters that other languages count as white space.
fn foreign_space() -> impl Iterator<Item = Case> {
    let characters = [
        '\u{7f}', '\u{85}', '\u{a0}', '\u{1680}', '\u{2003}', '\u{2028}', '\u{2029}', '\u{2060}', '\u{3000}',
        '\u{feff}',
    ];
    characters.into_iter().flat_map(|space| {
        let code = u32::from(space);
        [
            refused(format!("n_space_before_element_{code:04x}"), format!("[{space}1]"), "syntax", "/0"),
            refused(format!("n_space_after_element_{code:04x}"), format!("[1{space}]"), "syntax", ""),
            refused(
                format!("n_space_after_document_{code:04x}"),
                format!("[1]{space}"),
                "trailing_bytes",
                "",
            ),
            accepted(format!("y_string_{code:04x}"), format!("\"{space}\""), format!("\"{space}\"")),
        ]
    })
}

/// One document, cut after every byte of it.
fn truncations() -> Vec<Case> {
    // Each piece with the pointer for a text that ends before any byte of it: the value that is not
    // there yet or not whole, and after a whole one (a number may always end) the container.
    let pieces = [
        ("{\"a\\u0062\"", ""),
        (":[", "/ab"),
        ("-1", "/ab/0"),
        (".", "/ab"),
        ("5", "/ab/0"),
        ("e", "/ab"),
        ("+3", "/ab/0"),
        (",", "/ab"),
        ("\"\\ud83d\\ude02\"", "/ab/1"),
        (",", "/ab"),
        ("true", "/ab/2"),
        ("]", "/ab"),
        ("}", ""),
    ];
    let mut text = String::new();
    let mut cases = Vec::new();
    for (piece, pointer) in pieces {
        for character in piece.chars() {
            if !text.is_empty() {
                let name = format!("n_truncated_after_{:02}", text.len());
                cases.push(refused(name, &text, "truncated", pointer));
            }
            text.push(character);
        }
    }
    cases.push(accepted("y_not_truncated", text, "{\"ab\":[-1500,\"\u{1f602}\",true]}"));
    cases
}

/// The limits of the default reader, on both sides.
fn sizes() -> Vec<Case> {
    let long = |name: &str, parts: &[(&str, usize)], expected: Expected| Case {
        name: name.to_owned(),
        parts: parts.iter().map(|(piece, times)| (piece.as_bytes().to_vec(), *times)).collect(),
        expected,
    };
    let fault = |code: &str, pointer: String| Expected::Refused { code: code.to_owned(), pointer };
    let nested = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
    let nested_objects = |levels: usize| format!("{}1{}", "{\"a\":".repeat(levels), "}".repeat(levels));
    vec![
        accepted("i_depth_64_arrays", nested(64), nested(64)),
        refused("i_depth_65_arrays", nested(65), "too_deep", &"/0".repeat(64)),
        accepted("i_depth_64_objects", nested_objects(64), nested_objects(64)),
        refused("i_depth_65_objects", nested_objects(65), "too_deep", &"/a".repeat(64)),
        refused("i_depth_65_mixed", "[{\"a\":".repeat(33), "too_deep", &"/0/a".repeat(32)),
        long("n_depth_100000_open", &[("[", 100_000)], fault("too_deep", "/0".repeat(64))),
        long("n_depth_50000_open_objects", &[("{\"\":", 50_000)], fault("too_deep", "/".repeat(64))),
        long("i_size_at_the_limit", &[("\"", 1), ("x", 262_142), ("\"", 1)], Expected::Accepted(None)),
        long(
            "i_size_over_the_limit",
            &[("\"", 1), ("x", 262_143), ("\"", 1)],
            fault("too_large", String::new()),
        ),
        long(
            "i_size_of_space_over_the_limit",
            &[("1", 1), (" ", 262_144)],
            fault("too_large", String::new()),
        ),
        long("i_nodes_at_the_limit", &[("[", 1), ("0,", 9_998), ("0]", 1)], Expected::Accepted(None)),
        long(
            "i_nodes_over_the_limit",
            &[("[", 1), ("0,", 9_999), ("0]", 1)],
            fault("too_many_nodes", "/9999".to_owned()),
        ),
        long(
            "i_nodes_over_the_limit_nested",
            &[("[", 1), ("[0],", 5_000), ("0]", 1)],
            fault("too_many_nodes", "/4999/0".to_owned()),
        ),
        long("i_number_of_200000_digits", &[("1", 200_000)], fault("integer_range", String::new())),
        long(
            "i_number_of_200000_fraction_digits",
            &[("0.", 1), ("3", 200_000)],
            Expected::Accepted(Some("0.3333333333333333".to_owned())),
        ),
        long(
            "i_number_of_200000_exponent_digits",
            &[("1e", 1), ("9", 200_000)],
            fault("number_range", String::new()),
        ),
        long("n_string_without_end", &[("\"", 1), ("x", 200_000)], fault("truncated", String::new())),
        long(
            "n_string_of_backslashes_without_end",
            &[("\"", 1), ("\\\\", 100_000)],
            fault("truncated", String::new()),
        ),
    ]
}

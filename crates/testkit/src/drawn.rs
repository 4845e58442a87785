//! What a person can find on a drawn card: random requests, their leaves by a walk of its own, and a reader of what a
//! terminal or a page shows.

use placet_core::show;
use proptest::{
    prelude::*,
    strategy::ValueTree as _,
    test_runner::{Config, RngAlgorithm, TestRng, TestRunner},
};
use serde_json::{Map, Value, json};

/// Texts that equal each other, words of the page, look like other things, or are empty or large.
fn texts() -> impl Strategy<Value = String> {
    let words = [
        "same",
        "same",
        "",
        " ",
        "Approve",
        "Everything else",
        "Why it waits",
        "at",
        "/arguments/a",
        "careful",
        "null",
        "5",
        "{}",
        "\"quoted\"",
        "a  b",
        "  at  /arguments/b",
        "│ row",
        "# Values",
        "<script>alert(1)</script>",
        "&amp;",
        "</pre>",
        "one\ntwo\n\nthree",
        "a\n\nWhy it waits\n  risk  low",
        "pay\u{202e}001\u{200b}",
        "\u{1b}[2J",
        "C:\\new\\n",
        "tab\there",
        "ann@example.com",
        "https://example.com/a?b=c",
        "漢字 🙂",
        "it's",
        "rm -rf /",
        "SELECT 1; DROP TABLE users",
        "1e5",
    ];
    prop_oneof![
        8 => prop::sample::select(words.to_vec()).prop_map(str::to_owned),
        1 => "[ -~]{0,30}",
        1 => (50_usize..400).prop_map(|many| format!("ok{}rm -rf /", " ".repeat(many))),
        1 => (200_usize..3_000).prop_map(|many| "long ".repeat(many / 5)),
    ]
}

fn keys() -> impl Strategy<Value = String> {
    let words = [
        "a",
        "b",
        "c",
        "0",
        "1",
        "to",
        "at",
        "command",
        "path",
        "body",
        "amount",
        "a b",
        "a/b",
        "~",
        "\"a\"",
        "Why it waits",
        "Everything else",
        "description",
        "a: 1",
        "it goes on and on and on and on and on and on and on",
    ];
    prop_oneof![9 => prop::sample::select(words.to_vec()).prop_map(str::to_owned), 1 => "[ -~]{1,12}"]
}

fn values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        6 => texts().prop_map(Value::String),
        1 => (-9_007_199_254_740_991_i64..9_007_199_254_740_991).prop_map(|number| json!(number)),
        1 => any::<bool>().prop_map(Value::Bool),
        1 => Just(Value::Null),
        1 => Just(json!({})),
        1 => Just(json!([])),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            2 => prop::collection::vec(inner.clone(), 0..4).prop_map(Value::Array),
            3 => prop::collection::vec((keys(), inner), 0..4).prop_map(|pairs| Value::Object(pairs.into_iter().collect())),
            1 => prop::collection::vec(texts(), 2..5).prop_map(|cells| {
                cells.iter().map(|cell| json!({"name": cell, "n": cell.len()})).collect()
            }),
        ]
    })
}

/// Arguments of any shape.
fn objects() -> impl Strategy<Value = Map<String, Value>> {
    prop::collection::vec((keys(), values()), 0..6).prop_map(|pairs| pairs.into_iter().collect())
}

/// A tool and its arguments.
type Call = (String, Map<String, Value>);

/// A tool with arguments that have a form of their own, and sometimes more.
fn calls() -> impl Strategy<Value = Call> {
    let typed = (0_usize..7, texts(), texts(), prop::option::weighted(0.3, (keys(), values())));
    let typed = typed.prop_map(|(which, one, two, more)| {
        let (tool, arguments) = match which {
            0 => ("Bash", json!({"command": format!("ls && {one}"), "description": two})),
            1 => ("send_email", json!({"to": one, "subject": two, "body": "Hi\nthere"})),
            2 => ("execute_sql", json!({"query": format!("DELETE FROM a; {one}")})),
            3 => ("Write", json!({"file_path": "/srv/a.txt", "content": format!("{one}\n{two}")})),
            4 => ("Edit", json!({"file_path": "/srv/a.txt", "old_string": one, "new_string": two})),
            5 => ("http_request", json!({"method": "POST", "url": "https://example.com/a", "body": one})),
            _ => ("transfer", json!({"amount": 5, "currency": "EUR", "to": one, "reference": two})),
        };
        let mut arguments = arguments.as_object().cloned().unwrap_or_default();
        arguments.extend(more);
        (tool.to_owned(), arguments)
    });
    prop_oneof![2 => objects().prop_map(|arguments| ("x.do".to_owned(), arguments)), 1 => typed]
}

/// Requests of all kinds, as agents send them. The same for the same seed.
#[must_use]
pub fn requests(many: usize, seed: u8) -> Vec<Value> {
    let action = (calls(), objects(), texts()).prop_map(|((tool, arguments), context, summary)| {
        json!({"kind": "action", "session": "s", "tool": tool, "arguments": arguments, "context": context, "summary": summary})
    });
    let plan = (prop::collection::vec((calls(), texts()), 1..4), texts()).prop_map(|(steps, title)| {
        let step = |(at, ((tool, arguments), said)): (usize, (Call, String))| {
            json!({"id": format!("s{at}"), "action": tool, "description": said, "arguments": arguments})
        };
        let steps: Vec<Value> = steps.into_iter().enumerate().map(step).collect();
        json!({"kind": "plan", "session": "s", "title": format!("p {title}"), "steps": steps})
    });
    let input = (texts(), texts(), texts()).prop_map(|(question, one, two)| {
        let options = [format!("1 {one}"), format!("2 {two}")];
        json!({"kind": "input", "session": "s", "question": format!("? {question}"), "required": true,
            "input": {"type": "choice", "options": options}, "context": {"why": one}})
    });
    let confirmation = (texts(), texts(), objects()).prop_map(|(message, details, context)| {
        json!({"kind": "confirmation", "session": "s", "message": format!("? {message}"), "details": details,
            "confirm_label": "Go", "cancel_label": "Wait", "context": context})
    });
    let any = prop_oneof![5 => action, 2 => plan, 1 => input, 1 => confirmation];
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &[seed; 32]);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    let mut next = || any.new_tree(&mut runner).map(|tree| tree.current());
    (0..many).map(|_| next().unwrap_or_else(|reason| panic!("no request: {reason}"))).collect()
}

/// Arguments to put in place of others. The same for the same seed.
#[must_use]
pub fn replacements(many: usize, seed: u8) -> Vec<Value> {
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &[seed; 32]);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    let mut next = || objects().new_tree(&mut runner).map(|tree| Value::Object(tree.current()));
    (0..many).map(|_| next().unwrap_or_else(|reason| panic!("no arguments: {reason}"))).collect()
}

/// A value that a person must be able to find.
#[derive(Debug)]
struct Wanted {
    /// Its pointer.
    pointer: String,
    /// The same for people: a key that reads like a number stands in quotes.
    place: String,
    /// Its text, in quotes or without.
    texts: Vec<String>,
}

/// Every value of a part of a request.
fn wanted(pointer: &str, place: &str, value: &Value, out: &mut Vec<Wanted>) {
    match value {
        Value::Object(map) if !map.is_empty() => {
            for (key, value) in map {
                let part = show(&key.replace('~', "~0").replace('/', "~1"));
                let numeric = !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_digit());
                let quoted = if numeric || part.starts_with('"') {
                    format!("\"{}\"", part.replace('"', "\\\""))
                } else {
                    part.clone()
                };
                wanted(&format!("{pointer}/{part}"), &format!("{place}/{quoted}"), value, out);
            }
        }
        Value::Array(items) if !items.is_empty() => {
            for (at, value) in items.iter().enumerate() {
                wanted(&format!("{pointer}/{at}"), &format!("{place}/{at}"), value, out);
            }
        }
        value => {
            let texts = match value {
                Value::String(text) => {
                    vec![show(text), format!("\"{}\"", show(text).replace('"', "\\\""))]
                }
                other => vec![other.to_string()],
            };
            out.push(Wanted { pointer: pointer.to_owned(), place: place.to_owned(), texts });
        }
    }
}

/// One line as it was drawn.
#[derive(Debug, Default, Clone)]
struct DrawnLine {
    label: String,
    text: String,
    row: bool,
}

/// What was drawn, in parts with a title each.
#[derive(Debug)]
pub struct Drawn(Vec<Vec<DrawnLine>>);

impl Drawn {
    /// The output of a terminal without colours and without a width.
    #[must_use]
    pub fn terminal(text: &str) -> Self {
        let line = |line: &str| {
            let line = line.strip_prefix("  ").unwrap_or(line);
            let is_mark =
                |label: &str| label.chars().all(|mark| mark.is_ascii_digit() || " +-@\\|&;".contains(mark));
            if let Some((label, text)) = line.split_once("│ ").filter(|(label, _)| is_mark(label)) {
                return DrawnLine { label: label.trim_end().to_owned(), text: text.to_owned(), row: true };
            }
            let (label, text) = line.split_once("  ").unwrap_or((line, ""));
            // A pointer with a space stands alone.
            let is_place = label.starts_with('/') && label.contains(' ');
            let (label, text) = if is_place { (line, "") } else { (label, text) };
            DrawnLine { label: label.to_owned(), text: text.trim_start().to_owned(), row: false }
        };
        Self(text.split("\n\n").map(|part| part.lines().map(line).collect()).collect())
    }

    /// A page of HTML.
    #[must_use]
    pub fn page(page: &str) -> Self {
        Self(page.split("<section").skip(1).map(html_lines).collect())
    }

    /// What of these parts of a record cannot be found: nothing, if all is well.
    #[must_use]
    pub fn missing(&self, record: &Value, parts: &[&str]) -> Vec<String> {
        let mut all = Vec::new();
        for part in parts {
            let pointer = format!("/{part}");
            if let Some(value) = record.pointer(&pointer).filter(|value| !value.is_null()) {
                wanted(&pointer, &pointer, value, &mut all);
            }
        }
        let gone = all.iter().filter(|wanted| !self.0.iter().any(|part| has(part, wanted)));
        gone.map(|wanted| format!("{} = {:?}", wanted.pointer, wanted.texts)).collect()
    }
}

/// A text without the notes that count spaces and lines, and without the spaces themselves.
fn plain(text: &str) -> String {
    text.chars().filter(|character| *character != ' ').collect()
}

/// A place without the quotes around keys that need them.
fn unquoted(place: &str) -> String {
    place.chars().filter(|character| !matches!(character, '"' | '\\')).collect()
}

/// Whether a part shows a value at its place.
fn has(part: &[DrawnLine], wanted: &Wanted) -> bool {
    let is_text = |drawn: &str| wanted.texts.iter().any(|text| plain(text) == plain(drawn));
    let is_place = |drawn: &str| drawn == wanted.place || unquoted(drawn) == unquoted(&wanted.pointer);
    let rows_after = |at: usize| {
        let rows = part.iter().skip(at + 1).filter(|line| !is_note(line)).take_while(|line| line.row);
        rows.map(|line| line.text.clone()).collect::<Vec<_>>()
    };
    for (at, line) in part.iter().enumerate().filter(|(_, line)| !line.row) {
        if is_place(&line.label) {
            let inline = std::iter::once(line.text.clone()).chain(rows_after(at)).collect::<String>();
            if is_text(&inline) || is_text(&line.text) {
                return true;
            }
        }
        // The place may have long runs of spaces itself: then it goes on in rows, before its value.
        if line.text.is_empty() && line.label.starts_with('/') {
            let rows = rows_after(at).concat();
            let both = |place: &String| {
                let joined = plain(&format!("{}{rows}", line.label));
                wanted.texts.iter().any(|text| joined == plain(&format!("{place}{text}")))
            };
            if both(&wanted.place) || both(&wanted.pointer) || in_table(part, at, wanted) {
                return true;
            }
        }
        if line.label == "at" && line.text == wanted.pointer && shows(part, wanted) {
            return true;
        }
    }
    false
}

fn is_note(line: &DrawnLine) -> bool {
    !line.row && line.label.starts_with('(')
}

/// Whether a section shows a text: in a line, or in rows with its line ends.
fn shows(part: &[DrawnLine], wanted: &Wanted) -> bool {
    let rows: Vec<String> =
        part.iter().filter(|line| line.row || !is_note(line)).map(|line| plain(&line.text)).collect();
    let joined = rows.concat();
    wanted.texts.iter().any(|text| {
        let text = plain(&lines(text).concat());
        joined.contains(&text)
    })
}

/// A drawn text at its line ends.
fn lines(text: &str) -> Vec<String> {
    let mut out = vec![String::new()];
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        let last = out.last_mut();
        match (character, last) {
            ('\\', Some(last)) => match characters.next() {
                Some('n') => out.push(String::new()),
                other => last.extend(std::iter::once('\\').chain(other)),
            },
            (character, Some(last)) => last.push(character),
            (_, None) => {}
        }
    }
    out
}

/// Whether the table below a pointer has the value in its row and column.
fn in_table(part: &[DrawnLine], at: usize, wanted: &Wanted) -> bool {
    let cell = || {
        let (row, column) =
            wanted.pointer.strip_prefix(&part.get(at)?.label)?.strip_prefix('/')?.split_once('/')?;
        let rows: Vec<&DrawnLine> =
            part.iter().skip(at + 1).filter(|line| !is_note(line)).take_while(|line| line.row).collect();
        let words = |line: &DrawnLine| -> Vec<String> {
            line.text.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).map(str::to_owned).collect()
        };
        let place = words(rows.first()?).iter().position(|name| name == column)?;
        words(rows.iter().find(|line| line.label.trim() == row)?).get(place).cloned()
    };
    cell().is_some_and(|cell| wanted.texts.contains(&cell))
}

/// The lines of a part of a page: pairs of names and values, places, and rows of texts.
fn html_lines(part: &str) -> Vec<DrawnLine> {
    let mut out = Vec::new();
    let mut left = part;
    let between = |text: &str, end: &str| text.split_once(end).map(|(inside, _)| inside.to_owned());
    while let Some(at) = left.find('<') {
        left = left.get(at..).unwrap_or_default();
        let line =
            |label: String, text: String, row| DrawnLine { label: bare(&label), text: bare(&text), row };
        if let Some(rest) = left.strip_prefix("<dt class=\"exact\">") {
            let label = between(rest, "</dt>").unwrap_or_default();
            let text = rest.split_once("<dd class=\"exact\">").and_then(|(_, rest)| between(rest, "</dd>"));
            out.push(line(label, text.unwrap_or_default(), false));
        } else if let Some(rest) = left.strip_prefix("<p class=\"place exact\">") {
            out.push(line(between(rest, "</p>").unwrap_or_default(), String::new(), false));
        } else if let Some(rest) = left.strip_prefix("<p class=\"soft\">(") {
            out.push(line("(".to_owned(), between(rest, "</p>").unwrap_or_default(), false));
        } else if let Some(rest) = left.strip_prefix("<pre>") {
            let inside = between(rest, "</pre>").unwrap_or_default();
            for row in inside.lines() {
                let (label, text) = match row.split_once("<span class=\"soft\">") {
                    Some((_, rest)) => rest.split_once("</span>").unwrap_or((rest, "")),
                    None => ("", row),
                };
                out.push(line(label.trim().to_owned(), text.to_owned(), true));
            }
        }
        left = left.get(1..).unwrap_or_default();
    }
    out
}

/// Text without tags and escapes.
fn bare(html: &str) -> String {
    let mut out = String::new();
    let mut inside = false;
    for character in html.chars() {
        match character {
            '<' => inside = true,
            '>' if inside => inside = false,
            character if !inside => out.push(character),
            _ => {}
        }
    }
    out.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&amp;", "&")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_on_a_terminal_is_named() {
        let record =
            json!({"arguments": {"a": "x", "b": {"0": "y"}, "c": "one\ntwo", "rows": [{"n": 1, "m": "z"}]}});
        let drawn = "Call it\n\nText · c\n  at  /arguments/c\n  │ one\n  │ two\n\nTable · rows\n  /arguments/rows\n  (each)\n    │ n  m\n  0 │ 1  z\n\nEverything else\n  /arguments/a      \"x\"\n  /arguments/b/\"0\"  y";
        assert_eq!(Drawn::terminal(drawn).missing(&record, &["arguments"]), Vec::<String>::new());
        for (from, to, pointer) in [
            ("/arguments/a ", "/arguments/z ", "/arguments/a"),
            ("\"x\"", "\"y\"", "/arguments/a"),
            ("│ two", "│ tw", "/arguments/c"),
            ("1  z", "1  y", "/arguments/rows/0/m"),
            ("at  /arguments/c", "", "/arguments/c"),
        ] {
            let missing = Drawn::terminal(&drawn.replace(from, to)).missing(&record, &["arguments"]);
            assert!(
                missing.len() == 1 && missing.iter().all(|gone| gone.starts_with(pointer)),
                "{from}: {missing:?}"
            );
        }
    }

    #[test]
    fn what_is_missing_on_a_page_is_named() {
        let record = json!({"arguments": {"a": "<b>\"", "c": "one\ntwo"}});
        let page = "<section><h3>Text</h3><dl><dt class=\"exact\">at</dt><dd class=\"exact\">/arguments/c</dd></dl><pre><span>one</span>\n<span>two</span>\n</pre></section><section><dl><dt class=\"exact\">/arguments/a</dt><dd class=\"exact\">&quot;&lt;b&gt;\\&quot;&quot;</dd></dl></section>";
        assert_eq!(Drawn::page(page).missing(&record, &["arguments"]), Vec::<String>::new());
        for (from, to) in [("<span>two</span>", ""), ("/arguments/a", "/arguments/b"), ("&lt;b&gt;", "")] {
            assert_eq!(
                Drawn::page(&page.replace(from, to)).missing(&record, &["arguments"]).len(),
                1,
                "{from}"
            );
        }
    }

    #[test]
    fn the_same_seed_makes_the_same_requests_of_all_kinds() {
        let all = requests(60, 1);
        assert_eq!(all, requests(60, 1));
        for kind in ["action", "plan", "input", "confirmation"] {
            assert!(all.iter().any(|request| request["kind"] == json!(kind)), "{kind}");
        }
    }
}

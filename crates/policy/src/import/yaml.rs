//! The plain part of YAML that configuration files use, read into JSON; anchors, tags and other surprises are refused.

use serde_json::{Map, Value};

/// Deepest nesting.
const DEPTH: usize = 64;

/// Every document of a text. A text that is JSON is read as JSON.
pub(super) fn documents(text: &str) -> Result<Vec<Value>, String> {
    if let Ok(value) = serde_json::from_str(text) {
        return Ok(vec![value]);
    }
    let mut documents = Vec::new();
    let mut lines = Vec::new();
    for (number, line) in (1_usize..).zip(text.lines()) {
        if line == "---" || line.starts_with("--- ") || line == "..." {
            if line.starts_with("--- ") && !line.trim_start_matches('-').trim_start().starts_with('#') {
                return Err(format!("line {number}: a document begins on a line of its own"));
            }
            documents.extend(document(std::mem::take(&mut lines))?);
        } else {
            lines.push((number, line));
        }
    }
    documents.extend(document(lines)?);
    Ok(documents)
}

fn document(lines: Vec<(usize, &str)>) -> Result<Option<Value>, String> {
    let mut reader = Reader { lines, next: 0 };
    let Some((_, indent, _)) = reader.peek()? else { return Ok(None) };
    let value = reader.block(indent, 0)?;
    match reader.peek()? {
        Some((number, ..)) => Err(format!("line {number}: this does not belong to what stands above it")),
        None => Ok(Some(value)),
    }
}

struct Reader<'t> {
    lines: Vec<(usize, &'t str)>,
    next: usize,
}

impl<'t> Reader<'t> {
    /// The next line that says something: its number, its indentation, and its text without a comment.
    fn peek(&mut self) -> Result<Option<(usize, usize, &'t str)>, String> {
        while let Some((number, line)) = self.lines.get(self.next).copied() {
            let text = line.trim_start_matches(' ');
            let content = without_comment(text).trim_end();
            if !content.is_empty() {
                if text.starts_with('\t') {
                    return Err(format!("line {number}: indent with spaces, not with tabs"));
                }
                return Ok(Some((number, line.len().saturating_sub(text.len()), content)));
            }
            self.advance();
        }
        Ok(None)
    }

    const fn advance(&mut self) {
        self.next = self.next.saturating_add(1);
    }

    /// Puts what stands behind `- ` in the place of its line, indented as it was.
    fn replace(&mut self, indent: usize, rest: &'t str) {
        if let Some((_, line)) = self.lines.get_mut(self.next) {
            let start = line.find(rest).unwrap_or(0).max(indent);
            // What stood before is blank for those who measure the indentation.
            *line = line.get(start..).unwrap_or(rest);
        }
    }

    fn block(&mut self, indent: usize, depth: usize) -> Result<Value, String> {
        let Some((number, at, text)) = self.peek()? else { return Ok(Value::Null) };
        if depth > DEPTH {
            return Err(format!("line {number}: nested deeper than {DEPTH}"));
        }
        if at != indent {
            return Err(format!("line {number}: the indentation does not fit"));
        }
        if text == "-" || text.starts_with("- ") {
            return self.sequence(indent, depth);
        }
        if key_of(text, number)?.is_some() {
            return self.mapping(indent, depth);
        }
        self.advance();
        scalar(text, number)
    }

    fn sequence(&mut self, indent: usize, depth: usize) -> Result<Value, String> {
        let mut list = Vec::new();
        while let Some((number, at, text)) = self.peek()? {
            if at != indent || !(text == "-" || text.starts_with("- ")) {
                if at > indent {
                    return Err(format!("line {number}: the indentation does not fit"));
                }
                break;
            }
            let rest = text.strip_prefix('-').unwrap_or(text).trim_start_matches(' ');
            if rest.is_empty() {
                self.advance();
                list.push(self.nested(indent, depth)?);
            } else if rest.starts_with("- ") || key_of(rest, number)?.is_some() {
                // `- key: value`: a block of its own, indented to where it begins.
                let inner = indent.saturating_add(text.len().saturating_sub(rest.len()));
                list.push(self.inline_block(inner, rest, depth)?);
            } else {
                self.advance();
                list.push(self.value(rest, number, indent)?);
            }
        }
        Ok(Value::Array(list))
    }

    /// A mapping or sequence that begins behind a dash.
    fn inline_block(&mut self, indent: usize, rest: &'t str, depth: usize) -> Result<Value, String> {
        let (number, _) = self.lines.get(self.next).copied().unwrap_or((0, ""));
        if rest.starts_with("- ") {
            return Err(format!("line {number}: a list inside a list begins on a line of its own"));
        }
        self.replace(indent, rest);
        self.mapping_from(indent, depth.saturating_add(1), true)
    }

    fn mapping(&mut self, indent: usize, depth: usize) -> Result<Value, String> {
        self.mapping_from(indent, depth, false)
    }

    fn mapping_from(&mut self, indent: usize, depth: usize, mut behind_dash: bool) -> Result<Value, String> {
        let mut map = Map::new();
        while let Some((number, at, text)) = self.peek()? {
            if depth > DEPTH {
                return Err(format!("line {number}: nested deeper than {DEPTH}"));
            }
            if at != indent && !behind_dash {
                if at > indent {
                    return Err(format!("line {number}: the indentation does not fit"));
                }
                break;
            }
            behind_dash = false;
            if text.starts_with("- ") || text == "-" {
                break;
            }
            let Some((key, rest)) = key_of(text, number)? else {
                return Err(format!("line {number}: `key: value` was expected"));
            };
            self.advance();
            let value = match rest {
                "" => self.nested_or_dashes(indent, depth)?,
                rest if rest.starts_with(['|', '>']) => self.literal(rest, number, indent)?,
                rest => self.value(rest, number, indent)?,
            };
            if map.insert(key.clone(), value).is_some() {
                return Err(format!("line {number}: the key `{}` stands here twice", key.escape_debug()));
            }
        }
        Ok(Value::Object(map))
    }

    fn nested(&mut self, indent: usize, depth: usize) -> Result<Value, String> {
        match self.peek()? {
            Some((_, at, _)) if at > indent => self.block(at, depth.saturating_add(1)),
            _ => Ok(Value::Null),
        }
    }

    /// The value of a key; the dashes of a list may stand right under the key.
    fn nested_or_dashes(&mut self, indent: usize, depth: usize) -> Result<Value, String> {
        match self.peek()? {
            Some((_, at, text)) if at == indent && (text == "-" || text.starts_with("- ")) => {
                self.sequence(indent, depth.saturating_add(1))
            }
            _ => self.nested(indent, depth),
        }
    }

    /// A value on the line of its key, and the lines it goes on over.
    fn value(&mut self, rest: &str, number: usize, indent: usize) -> Result<Value, String> {
        let mut text = rest.to_owned();
        let open = |text: &str| text.starts_with(['[', '{']) && !balanced(text);
        let quoted = rest.starts_with(['"', '\'', '[', '{']);
        while let Some((_, at, more)) = self.peek()? {
            if at <= indent && !open(&text) || (quoted && !open(&text)) {
                break;
            }
            text.push(' ');
            text.push_str(more);
            self.advance();
        }
        scalar(&text, number)
    }

    /// A text over several lines, behind `|` or `>`.
    fn literal(&mut self, head: &str, number: usize, indent: usize) -> Result<Value, String> {
        if head.len() > 3 || !head.chars().skip(1).all(|letter| "+-123456789".contains(letter)) {
            return Err(format!("line {number}: `{}` does not begin a text", head.escape_debug()));
        }
        let mut text = String::new();
        while let Some((_, line)) = self.lines.get(self.next).copied() {
            let inner = line.trim_start_matches(' ');
            if !inner.trim().is_empty() && line.len().saturating_sub(inner.len()) <= indent {
                break;
            }
            text.push_str(inner);
            text.push('\n');
            self.advance();
        }
        Ok(Value::String(text))
    }
}

fn without_comment(text: &str) -> &str {
    let mut quote = None;
    let mut before = ' ';
    for (at, letter) in text.char_indices() {
        match (quote, letter) {
            (Some(open), letter) if letter == open && !(open == '"' && before == '\\') => quote = None,
            (None, '"' | '\'') if " [{,:-".contains(before) => quote = Some(letter),
            (None, '#') if before == ' ' || before == '\t' || at == 0 => {
                return text.get(..at).unwrap_or(text);
            }
            _ => {}
        }
        before = letter;
    }
    text
}

/// The key of `key: value`, and what stands behind it.
fn key_of(text: &str, number: usize) -> Result<Option<(String, &str)>, String> {
    if text.starts_with(['[', '{']) {
        return Ok(None);
    }
    refuse(text, number)?;
    if let Some(quote) = text.chars().next().filter(|letter| *letter == '"' || *letter == '\'') {
        let Some((key, after)) = text.get(1..).and_then(|rest| rest.split_once(quote)) else {
            return Ok(None);
        };
        let Some(rest) = after.strip_prefix(':').filter(|rest| rest.is_empty() || rest.starts_with(' '))
        else {
            return Ok(None);
        };
        if key.contains('\\') {
            return Err(format!("line {number}: escapes in a key"));
        }
        return Ok(Some((key.to_owned(), rest.trim())));
    }
    let found = text
        .split_once(": ")
        .map(|(key, rest)| (key, rest.trim()))
        .or_else(|| text.strip_suffix(':').map(|key| (key, "")));
    Ok(found.filter(|(key, _)| !key.is_empty()).map(|(key, rest)| (key.trim_end().to_owned(), rest)))
}

/// What could mean something else than it says.
fn refuse(text: &str, number: usize) -> Result<(), String> {
    let what = match text.chars().next() {
        Some('&') => "an anchor",
        Some('*') => "an alias",
        Some('!') => "a tag",
        Some('%') => "a directive",
        Some('@' | '`') => "a reserved sign",
        Some('?') if text == "?" || text.starts_with("? ") => "a complex key",
        _ if text.starts_with("<<:") => "a merge key",
        _ => return Ok(()),
    };
    Err(format!("line {number}: {what} is not read here; write the value out, or give JSON"))
}

fn balanced(text: &str) -> bool {
    let mut open = 0_i32;
    let mut quote = None;
    for letter in text.chars() {
        match (quote, letter) {
            (Some(mark), letter) if letter == mark => quote = None,
            (None, '"' | '\'') => quote = Some(letter),
            (None, '[' | '{') => open = open.saturating_add(1),
            (None, ']' | '}') => open = open.saturating_sub(1),
            _ => {}
        }
    }
    open <= 0
}

fn scalar(text: &str, number: usize) -> Result<Value, String> {
    refuse(text, number)?;
    if text.starts_with(['[', '{']) {
        let mut flow = Flow { rest: text, number };
        let value = flow.value(0)?;
        if !flow.rest.trim().is_empty() {
            return Err(format!("line {number}: something stands behind the closing bracket"));
        }
        return Ok(value);
    }
    if let Some(inner) = text.strip_prefix('"') {
        return serde_json::from_str(text)
            .or_else(|_| {
                inner
                    .strip_suffix('"')
                    .filter(|inner| !inner.contains(['\\', '"']))
                    .map(|inner| Value::String(inner.to_owned()))
                    .ok_or(())
            })
            .map_err(|()| format!("line {number}: a text in quotes that JSON would not read"));
    }
    if let Some(inner) = text.strip_prefix('\'') {
        let inner =
            inner.strip_suffix('\'').ok_or_else(|| format!("line {number}: a quote is not closed"))?;
        return Ok(Value::String(inner.replace("''", "'")));
    }
    Ok(plain(text))
}

fn plain(text: &str) -> Value {
    match text {
        "" | "~" | "null" | "Null" | "None" => Value::Null,
        "true" | "True" | "TRUE" => Value::Bool(true),
        "false" | "False" | "FALSE" => Value::Bool(false),
        text => match serde_json::from_str(text) {
            Ok(number @ Value::Number(_)) => number,
            _ => Value::String(text.to_owned()),
        },
    }
}

/// Lists and maps in brackets.
struct Flow<'t> {
    rest: &'t str,
    number: usize,
}

impl Flow<'_> {
    fn value(&mut self, depth: usize) -> Result<Value, String> {
        let number = self.number;
        if depth > DEPTH {
            return Err(format!("line {number}: nested deeper than {DEPTH}"));
        }
        self.rest = self.rest.trim_start();
        if self.eat('[') {
            let mut list = Vec::new();
            while !self.eat(']') {
                list.push(self.value(depth.saturating_add(1))?);
                self.between(']')?;
            }
            return Ok(Value::Array(list));
        }
        if self.eat('{') {
            let mut map = Map::new();
            while !self.eat('}') {
                let key = match self.atom(&[':'])? {
                    Value::String(key) => key,
                    other => other.to_string(),
                };
                let value = if self.eat(':') { self.value(depth.saturating_add(1))? } else { Value::Null };
                if map.insert(key, value).is_some() {
                    return Err(format!("line {number}: a key stands here twice"));
                }
                self.between('}')?;
            }
            return Ok(Value::Object(map));
        }
        self.atom(&[])
    }

    fn eat(&mut self, sign: char) -> bool {
        self.rest = self.rest.trim_start();
        match self.rest.strip_prefix(sign) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn between(&mut self, close: char) -> Result<(), String> {
        if self.eat(',') || self.rest.trim_start().starts_with(close) {
            return Ok(());
        }
        Err(format!("line {}: `,` or `{close}` was expected", self.number))
    }

    fn atom(&mut self, ends: &[char]) -> Result<Value, String> {
        self.rest = self.rest.trim_start();
        refuse(self.rest, self.number)?;
        let unclosed = || format!("line {}: a quote is not closed", self.number);
        if let Some(quote) = self.rest.chars().next().filter(|letter| *letter == '"' || *letter == '\'') {
            let (inner, after) =
                self.rest.get(1..).and_then(|rest| rest.split_once(quote)).ok_or_else(unclosed)?;
            if inner.contains('\\') {
                return Err(format!(
                    "line {}: escapes in brackets are not read here; give JSON",
                    self.number
                ));
            }
            self.rest = after;
            return Ok(Value::String(inner.to_owned()));
        }
        let end = self
            .rest
            .find(|letter| ",[]{}".contains(letter) || ends.contains(&letter))
            .unwrap_or(self.rest.len());
        let (text, after) = self.rest.split_at_checked(end).unwrap_or((self.rest, ""));
        if text.trim().is_empty() {
            return Err(format!("line {}: a value was expected", self.number));
        }
        self.rest = after;
        Ok(plain(text.trim()))
    }
}

#[cfg(test)]
mod edges;
#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_plain_part_of_yaml_is_read() {
        let text = "\
# an agent
apiVersion: kagent.dev/v1alpha2
kind: Agent
metadata:
  name: k8s-agent   # its name
spec:
  description: a text that goes
    on and on: and on
  systemMessage: |
    You are helpful.
      - key: value
    # not a comment
  empty:
  tools:
  - type: McpServer
    mcpServer:
      name: \"kagent: tools\"
      toolNames:
        - k8s_get_resources
        - 'k8s_delete_resource'
      requireApproval: [k8s_delete_resource, \"x\"]
  - type: Agent
  numbers: [1, 2.5, true, null, {a: b}]
";
        let expected = json!({
            "apiVersion": "kagent.dev/v1alpha2", "kind": "Agent", "metadata": {"name": "k8s-agent"},
            "spec": {
                "description": "a text that goes on and on: and on",
                "systemMessage": "You are helpful.\n- key: value\n# not a comment\n",
                "empty": null,
                "tools": [
                    {"type": "McpServer", "mcpServer": {"name": "kagent: tools", "toolNames": ["k8s_get_resources", "k8s_delete_resource"], "requireApproval": ["k8s_delete_resource", "x"]}},
                    {"type": "Agent"}
                ],
                "numbers": [1, 2.5, true, null, {"a": "b"}]
            }
        });
        assert_eq!(documents(text).unwrap(), vec![expected]);
        assert_eq!(documents("a: 1\n---\nb: 2\n").unwrap(), vec![json!({"a": 1}), json!({"b": 2})]);
        assert_eq!(documents("{\"a\": [1]}").unwrap(), vec![json!({"a": [1]})]);
        assert_eq!(documents("a: [x,\n  y]\nb: 1").unwrap(), vec![json!({"a": ["x", "y"], "b": 1})]);
        assert_eq!(documents("# nothing\n").unwrap(), Vec::<Value>::new());
    }

    #[test]
    fn what_could_mean_something_else_is_refused() {
        for text in [
            "a: &x 1",
            "a: *x",
            "a: !!str 1",
            "? a\n: b",
            "<<: *x",
            "a: 1\n\tb: 2",
            "a: 1\na: 2",
            "a:\n  b: 1\n c: 2",
            "a: 'x",
            "a: [1",
            "a: {x: 1, x: 2}",
            "a: [1] 2",
            "just text\nmore: x",
            "- - 1",
            "a: \"x\\q\"",
        ] {
            assert!(documents(text).is_err(), "{text}: {:?}", documents(text));
        }
    }

    #[test]
    fn deep_nesting_is_refused_and_not_fatal() {
        assert!(documents(&format!("a: {}", "[".repeat(100_000))).is_err());
        let deep: Vec<String> = (0..500).map(|depth| format!("{}a:", " ".repeat(depth))).collect();
        assert!(documents(&deep.join("\n")).is_err());
    }
}

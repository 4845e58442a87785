//! What the arguments of a call make a tool do beyond reading, whatever the tool is called.
//!
//! Commands, SQL and other languages that write, methods and bodies of requests, at any depth. What is too much to look
//! through counts as more than reading.

use placet_core::visible;
use serde_json::{Map, Value};

use crate::{sql, words::Words};

/// Most values that are looked at, and most bytes of text.
const VALUES: usize = 10_000;
const TEXT: usize = 64 * 1024;

/// Words of arguments that hold a command, wherever they stand in the name.
const COMMANDS: &[&str] = &[
    "args",
    "argv",
    "batch",
    "cli",
    "executable",
    "execute",
    "popen",
    "process",
    "program",
    "subprocess",
    "bash",
    "cmd",
    "cmdline",
    "cmds",
    "command",
    "commandline",
    "commands",
    "entrypoint",
    "exec",
    "powershell",
    "pwsh",
    "script",
    "scripts",
    "sh",
    "shell",
    "stdin",
    "terminal",
    "zsh",
];
/// Last words of names that only speak of one: `script_id`, `process_name`.
const ABOUT: &[&str] = &[
    "after", "before", "count", "format", "id", "ids", "kind", "language", "limit", "name", "names",
    "number", "size", "status", "type", "uuid", "version",
];
/// Words of arguments that ask for a deed. Not in the past: `include_deleted` asks for none.
const DEEDS: &[&str] = &[
    "clear",
    "create",
    "delete",
    "destroy",
    "drop",
    "erase",
    "halt",
    "insert",
    "kill",
    "overwrite",
    "pay",
    "poweroff",
    "purge",
    "reboot",
    "remove",
    "reset",
    "restart",
    "save",
    "send",
    "shutdown",
    "terminate",
    "transfer",
    "truncate",
    "unlink",
    "update",
    "upload",
    "upsert",
    "wipe",
    "write",
];
/// Arguments whose value says what is to be done.
const SAYS: &[&str] = &["action", "do", "mode", "op", "operation", "task"];
/// The same, of several words.
const LONGER: &[&str] =
    &["commandline", "commandstring", "commandtext", "commandtorun", "shellinput", "codetorun"];
/// Last words of arguments that hold code, if it looks like code: a country has a code too.
const CODE: &[&str] = &["code", "eval", "javascript", "js", "lua", "python", "snippet"];
/// Arguments that name another server.
const ADDRESSES: &[&str] = &[
    "address", "baseurl", "endpoint", "host", "hostname", "href", "link", "uri", "url", "urls", "webhook",
    "website",
];
/// Words of tools that talk to one.
const CALLERS: &[&str] = &[
    "api", "curl", "endpoint", "fetch", "http", "https", "page", "request", "rest", "uri", "url", "web",
    "webhook", "webpage",
];
const METHODS: &[&str] = &[
    "httpmethod",
    "httpverb",
    "method",
    "methodoverride",
    "reqmethod",
    "requestmethod",
    "requesttype",
    "verb",
    "xhttpmethodoverride",
];
/// What is sent, whatever else there is.
const BODIES: &[&str] = &[
    "body",
    "bodyjson",
    "formdata",
    "jsonbody",
    "payload",
    "postbody",
    "postdata",
    "rawbody",
    "reqbody",
    "requestbody",
    "requestpayload",
];
/// What is sent where there is an address.
const SENT: &[&str] = &[
    "attachment",
    "attachments",
    "content",
    "data",
    "file",
    "files",
    "form",
    "json",
    "multipart",
    "upload",
    "xml",
];
/// Keys of documents that make a database write, and those that make it run code.
const WRITING_KEYS: &[&str] = &["$inc", "$merge", "$out", "$pull", "$push", "$rename", "$unset", "mutation"];
const CODE_KEYS: &[&str] = &["$accumulator", "$function", "$where"];
/// Options of command lines that make a request send something.
const FLAGS: &[&str] =
    &["--data", "--form", "--json", "--post-", "--request", "--upload-file", "-F", "-T", "-X", "-d"];
/// Commands of a key-value store that write, as they are written there.
const STORE: &[&str] = &[
    "CONFIG", "DEL", "EVAL", "EXPIRE", "GETDEL", "INCR", "LTRIM", "RENAME", "SET", "ZADD", "ZREM",
    "FLUSHALL", "FLUSHDB", "HDEL", "HSET", "LPUSH", "MSET", "RPUSH", "SADD", "UNLINK",
];
const READING: &[&str] = &["GET", "HEAD", "OPTIONS"];
const WRITING: &[&str] = &["DELETE", "PATCH", "POST", "PUT"];
/// Tools that look for a text in files: the text may be anything.
const SEARCHERS: &[&str] = &[
    "codebasesearch",
    "filesearch",
    "findinfiles",
    "glob",
    "grep",
    "grepsearch",
    "rg",
    "ripgrep",
    "searchcode",
    "searchfilecontent",
    "searchfiles",
];
const SEARCHED: &[&str] = &["pattern", "patterns", "q", "query", "regex", "search", "text"];

/// Last words of arguments that say what is to be read, in as many words as it takes. A text under any other name may be
/// handed to anything, so it must be a single plain word, a number or an address.
const QUESTIONS: &[&str] = &[
    "q",
    "query",
    "queries",
    "question",
    "questions",
    "search",
    "keyword",
    "keywords",
    "term",
    "terms",
    "pattern",
    "patterns",
    "regex",
    "regexp",
    "phrase",
    "topic",
    "subject",
    "title",
    "name",
    "names",
    "label",
    "labels",
    "tag",
    "tags",
    "category",
    "path",
    "paths",
    "file",
    "files",
    "filename",
    "folder",
    "folders",
    "directory",
    "dir",
    "root",
    "cwd",
    "url",
    "urls",
    "uri",
    "link",
    "address",
    "street",
    "city",
    "town",
    "place",
    "location",
    "region",
    "country",
    "company",
    "organization",
    "person",
    "author",
    "user",
    "owner",
    "customer",
    "assignee",
    "email",
    "date",
    "time",
    "since",
    "until",
    "from",
    "to",
    "before",
    "after",
    "start",
    "end",
    "range",
    "sort",
    "order",
    "by",
    "filter",
    "filters",
    "where",
    "having",
    "column",
    "columns",
    "field",
    "fields",
    "table",
    "tables",
    "sql",
    "jql",
    "cql",
    "soql",
    "kql",
    "selector",
    "xpath",
    "glob",
    "language",
    "format",
    "headers",
    "reason",
    "description",
    "explanation",
    "justification",
    "purpose",
];
/// Longest word that is plain.
const PLAIN: usize = 512;

const RUNS: &str = "runs a command";
const CHANGES: &str = "changes a database";
const SENDS: &str = "sends something";
const DOES: &str = "asks for more than reading";

/// What the arguments make the tool do beyond reading; none where they only say what to read.
pub fn beyond_reading(tool: &str, arguments: &Map<String, Value>) -> Option<&'static str> {
    let name = Words::of_tool(tool);
    let searcher = SEARCHERS.contains(&name.together());
    let mut leaves = Leaves { keys: Vec::new(), values: VALUES, text: TEXT };
    let mut addressed = name.any_of(CALLERS);
    let whole = leaves.of_map(arguments, &mut |keys, value| {
        addressed |= keys.iter().any(|key| ADDRESSES.contains(&key.words.together()))
            || value.as_str().is_some_and(|text| text.contains("://"));
    });
    if whole.is_err() {
        return Some("is handed more than can be looked through");
    }
    let mut found = None;
    let mut leaves = Leaves { keys: Vec::new(), values: VALUES, text: TEXT };
    let again = leaves.of_map(arguments, &mut |keys, value| {
        let last = keys.last().map_or("", |key| key.words.together());
        if found.is_none() && !(searcher && SEARCHED.contains(&last)) {
            found = does(keys, value, addressed);
        }
    });
    found.or(again.err().map(|TooMuch| "is handed more than can be looked through"))
}

/// The name of an argument with a text in it that may be anything: a command, a message, code. None where every text stands
/// under a name that asks, or is a plain word.
pub fn open_text(tool: &str, arguments: &Map<String, Value>) -> Option<String> {
    let searcher = SEARCHERS.contains(&Words::of_tool(tool).together());
    let mut leaves = Leaves { keys: Vec::new(), values: VALUES, text: TEXT };
    let mut found = None;
    let whole = leaves.of_map(arguments, &mut |keys, value| {
        let Some(text) = value.as_str().map(str::trim) else { return };
        let asks = |key: &Key<'_>| {
            QUESTIONS.contains(&key.words.last().unwrap_or_default())
                || (searcher && SEARCHED.contains(&key.words.together()))
        };
        if found.is_none() && !keys.iter().any(asks) && !is_plain(text) && !sql::reads(text) {
            found = keys.last().map(|key| key.raw.to_owned());
        }
    });
    found.or(whole.err().and_then(|TooMuch| arguments.keys().next().cloned()))
}

/// Whether a text is one word that no program takes apart, a moment, or an address.
fn is_plain(text: &str) -> bool {
    let moment = |byte: u8| byte.is_ascii_digit() || b" -:.+TZ".contains(&byte);
    let deed = || Words::of(text).first().is_some_and(|word| DEEDS.contains(&word));
    let address = text.starts_with("https://") || text.starts_with("http://");
    let signs = if address { "\\`\"'<>{}|;" } else { "\\`\"'<>{}|;&$()!*" };
    let word =
        !text.contains(|letter: char| !visible(letter) || letter.is_whitespace() || signs.contains(letter));
    text.len() <= PLAIN && (text.bytes().all(moment) || (word && !deed()))
}

/// What one value does, by the names that lead to it and by what it says.
fn does(keys: &[Key<'_>], value: &Value, addressed: bool) -> Option<&'static str> {
    // A flag that asks for a body is none; a flag inside of one is.
    let said = |inside: bool| match value {
        Value::String(text) => inside || !text.trim().is_empty(),
        Value::Number(_) => true,
        Value::Bool(_) => inside,
        _ => false,
    };
    let below = |at: usize| at.saturating_add(1) < keys.len();
    for (at, key) in keys.iter().enumerate() {
        let (last, whole) = (key.words.last().unwrap_or_default(), key.words.together());
        let command = (key.words.any_of(COMMANDS) && !ABOUT.contains(&last))
            || LONGER.contains(&whole)
            || CODE_KEYS.contains(&key.raw);
        if command && said(below(at)) {
            return Some(RUNS);
        }
        let asked = !matches!(value, Value::Bool(false) | Value::Null) && value.as_str() != Some("");
        if asked
            && key.words.any_of(DEEDS)
            && !ABOUT.contains(&last)
            && !["by", "at", "on", "since"].contains(&last)
        {
            return Some(DOES);
        }
        if WRITING_KEYS.contains(&key.raw) {
            return Some(CHANGES);
        }
        let sent = BODIES.contains(&whole)
            || ["body", "payload"].contains(&last)
            || whole.starts_with("post") && addressed
            || addressed && SENT.contains(&last);
        if sent && said(below(at)) {
            return Some(SENDS);
        }
    }
    let text = value.as_str()?.trim();
    let key = keys.last()?;
    let (last, whole) = (key.words.last().unwrap_or_default(), key.words.together());
    if CODE.contains(&last) && text.contains(['(', ';', '\n', '`', '{']) {
        return Some(RUNS);
    }
    if SAYS.contains(&whole) && Words::of(text).first().is_some_and(|word| DEEDS.contains(&word)) {
        return Some(DOES);
    }
    // Some tools take JSON in a text.
    if text.starts_with('{')
        && let Ok(Value::Object(inside)) = serde_json::from_str(text)
        && let Some(found) = beyond_reading("", &inside)
    {
        return Some(found);
    }
    let is = |list: &[&str]| list.iter().any(|word| word.eq_ignore_ascii_case(text));
    let method = METHODS.contains(&whole);
    if is(WRITING) && (method || addressed) || (method && addressed && !is(READING) && !text.is_empty()) {
        return Some(SENDS);
    }
    if is_raw_request(text)
        || (addressed && text.split_whitespace().any(|word| FLAGS.iter().any(|flag| word.starts_with(flag))))
    {
        return Some(SENDS);
    }
    let sql = whole.contains("sql") || ["ddl", "dml", "stmt"].contains(&last);
    (sql::changes(text, sql) || graph_changes(text) || document_changes(text)).then_some(CHANGES)
}

/// Whether a text is a whole request: `POST /users HTTP/1.1`.
fn is_raw_request(text: &str) -> bool {
    let Some((method, rest)) = text.split_once(' ') else { return false };
    WRITING.contains(&method) && (rest.starts_with('/') || rest.starts_with("http"))
}

/// Whether a text is a call of a document store or a command of a key-value store that writes.
fn document_changes(text: &str) -> bool {
    let writes = ["drop", "delete", "remove", "insert", "update", "replace", "rename", "create", "bulkWrite"];
    let document = text.starts_with("db.") && writes.iter().any(|verb| text.contains(&format!(".{verb}")));
    let mut words = text.split_whitespace();
    let (first, more) = (words.next().unwrap_or_default(), words.next().is_some());
    let wipes = ["FLUSHALL", "FLUSHDB"].iter().any(|wipe| wipe.eq_ignore_ascii_case(first));
    document || wipes || (more && STORE.contains(&first))
}

/// Whether a text is a GraphQL mutation, or Cypher that writes.
fn graph_changes(text: &str) -> bool {
    let words: Vec<&str> =
        text.split(|letter: char| !letter.is_ascii_alphanumeric()).filter(|word| !word.is_empty()).collect();
    let first = words.first().copied().unwrap_or_default();
    let is = |word: &str, of: &[&str]| of.iter().any(|each| each.eq_ignore_ascii_case(word));
    let mutation = text.contains('{') && words.contains(&"mutation");
    let cypher = is(first, &["MATCH", "OPTIONAL", "UNWIND", "MERGE", "CREATE"])
        && text.contains('(')
        && words.iter().any(|word| is(word, &["DELETE", "SET", "REMOVE", "MERGE", "CREATE"]));
    mutation || cypher
}

/// The name of an argument, taken apart.
struct Key<'a> {
    raw: &'a str,
    words: Words,
}

/// A walk over all values that have none inside them.
struct Leaves<'a> {
    keys: Vec<Key<'a>>,
    values: usize,
    text: usize,
}

struct TooMuch;

impl<'a> Leaves<'a> {
    fn of_map(
        &mut self,
        map: &'a Map<String, Value>,
        each: &mut impl FnMut(&[Key<'a>], &'a Value),
    ) -> Result<(), TooMuch> {
        for (key, value) in map {
            self.text = self.text.checked_sub(key.len()).ok_or(TooMuch)?;
            self.keys.push(Key { raw: key, words: Words::of(key) });
            self.of(value, each)?;
            self.keys.pop();
        }
        Ok(())
    }

    fn of(&mut self, value: &'a Value, each: &mut impl FnMut(&[Key<'a>], &'a Value)) -> Result<(), TooMuch> {
        self.values = self.values.checked_sub(1).ok_or(TooMuch)?;
        match value {
            Value::Object(map) => return self.of_map(map, each),
            Value::Array(list) => return list.iter().try_for_each(|value| self.of(value, each)),
            Value::String(text) => self.text = self.text.checked_sub(text.len()).ok_or(TooMuch)?,
            _ => {}
        }
        each(&self.keys, value);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn finds(tool: &str, arguments: &Value) -> Option<&'static str> {
        beyond_reading(tool, arguments.as_object().unwrap())
    }

    #[test]
    fn commands_are_found_at_any_depth_and_under_any_name_for_one() {
        for arguments in [
            json!({"command": "ls"}),
            json!({"cmd": ["rm", "x"]}),
            json!({"q": {"cmd": "rm -rf /"}}),
            json!({"a": [{"shellCommand": "id"}]}),
            json!({"command_line": "id"}),
            json!({"Script": "id"}),
            json!({"command": {"program": "rm"}}),
            json!({"code": "os.remove('x')"}),
            json!({"filter": {"$where": "sleep(1)"}}),
        ] {
            assert_eq!(finds("get_x", &arguments), Some(RUNS), "{arguments}");
        }
        for arguments in [
            json!({"code": "DE"}),
            json!({"status_code": 200}),
            json!({"script_id": 5}),
            json!({"command": ""}),
            json!({"command": null}),
            json!({"include_script": false}),
        ] {
            assert_eq!(finds("get_x", &arguments), None, "{arguments}");
        }
    }

    #[test]
    fn statements_are_found_under_any_name() {
        for key in ["sql", "query", "q", "statement", "filter", "where", "text", "input", "expression", "id"]
        {
            for text in ["DELETE FROM users", "DROP TABLE users", "SELECT 1; DELETE FROM users WHERE id = 1"]
            {
                assert_eq!(finds("search_db", &json!({key: text})), Some(CHANGES), "{key} {text}");
                assert_eq!(finds("search_db", &json!({"a": [{key: text}]})), Some(CHANGES), "{key} {text}");
            }
            assert_eq!(finds("search_db", &json!({key: "SELECT * FROM users"})), None, "{key}");
        }
        for arguments in [
            json!({"query": "mutation { deleteUser(id: 1) }"}),
            json!({"cypher": "MATCH (n) DETACH DELETE n"}),
            json!({"pipeline": [{"$match": {}}, {"$out": "x"}]}),
        ] {
            assert_eq!(finds("get_x", &arguments), Some(CHANGES), "{arguments}");
        }
        for arguments in [
            json!({"q": "delete old users"}),
            json!({"query": "query { user(id: 1) { name } }"}),
            json!({"query": "match (a) or b"}),
            json!({"id": 5}),
            json!({"path": "README.md"}),
            json!({"limit": 10}),
        ] {
            assert_eq!(finds("search_issues", &arguments), None, "{arguments}");
        }
        assert_eq!(finds("Grep", &json!({"pattern": "DROP TABLE users"})), None, "a text in files");
        assert_eq!(finds("Grep", &json!({"pattern": "x", "command": "id"})), Some(RUNS));
    }

    #[test]
    fn a_text_of_several_words_stands_under_a_name_that_asks_or_may_be_anything() {
        let open = |arguments: Value| open_text("get_x", arguments.as_object().unwrap());
        for (key, text) in [
            ("input", "shutdown -h now"),
            ("line", "reboot now"),
            ("message", "Dear all, you are dismissed"),
            ("anything", "$(id)"),
            ("anything", "a;reboot"),
            ("value", "shutdown"),
            ("then", "DELETE"),
            ("text", "two words"),
            ("x", &"y".repeat(600)),
            ("x", "a\u{a0}b"),
        ] {
            assert_eq!(open(json!({key: text})).as_deref(), Some(key), "{key} {text}");
            assert_eq!(open(json!({"options": [{key: text}]})).as_deref(), Some(key), "{key} {text}");
        }
        for arguments in [
            json!({"id": "5f9c-11", "limit": 5, "all": true, "at": "2026-11-17 10:00:00"}),
            json!({"q": "shutdown of the plant", "city": "New York", "sortBy": "name, date"}),
            json!({"filter": {"any": {"status": "not done"}}}),
            json!({"target": "https://a.example/x?y=1&z=(2)", "branch": "feature/x-1", "repo": "a/b", "mail": "a@b.example"}),
            json!({"statement": "SELECT a, count(*) FROM users GROUP BY a"}),
            json!({}),
        ] {
            assert_eq!(open(arguments.clone()), None, "{arguments}");
        }
        assert_eq!(open_text("Grep", json!({"text": "two words"}).as_object().unwrap()), None);
    }

    #[test]
    fn methods_and_bodies_are_found() {
        for arguments in [
            json!({"url": "https://a.example", "method": "POST"}),
            json!({"url": "https://a.example", "httpMethod": "delete"}),
            json!({"path": "/x", "method": "PUT"}),
            json!({"url": "https://a.example", "body": "x"}),
            json!({"url": "https://a.example", "data": {"a": 1}}),
            json!({"url": "https://a.example", "json": ["x"]}),
            json!({"url": "https://a.example", "json": {"a": true}}),
            json!({"url": "https://a.example", "payload": 5}),
            json!({"target": "https://a.example", "options": {"method": "PURGE"}}),
            json!({"url": "https://a.example", "headers": {"X-HTTP-Method-Override": "DELETE"}}),
            json!({"requestBody": "x"}),
            json!({"a": [{"url": "https://a.example", "postData": "x"}]}),
        ] {
            assert_eq!(finds("get_x", &arguments), Some(SENDS), "{arguments}");
        }
        for arguments in [
            json!({"url": "https://a.example", "method": "get", "body": null}),
            json!({"url": "https://a.example", "method": "HEAD"}),
            json!({"method": "express"}),
            json!({"data": "x"}),
            json!({"url": "https://a.example", "body": ""}),
            json!({"url": "https://a.example", "content": true}),
        ] {
            assert_eq!(finds("get_x", &arguments), None, "{arguments}");
        }
        assert_eq!(
            finds("get_url", &json!({"target": "x", "data": "y"})),
            Some(SENDS),
            "its name says that it calls"
        );
    }

    #[test]
    fn what_is_too_much_to_look_through_is_more_than_reading() {
        assert!(finds("get_x", &json!({"q": "x".repeat(TEXT)})).is_some());
        assert!(finds("get_x", &json!({"q": vec![1; VALUES]})).is_some());
        assert_eq!(finds("get_x", &json!({"q": "x".repeat(TEXT / 2)})), None);
    }
}

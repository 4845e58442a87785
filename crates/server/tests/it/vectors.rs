//! `tests/contract/digests.json`: canonical forms, texts that must be refused, and whole records with their digests,
//! for the SDKs of every language. The texts are judged by the reader that the server uses, the records are made by a
//! server, so the file is true by construction; `UPDATE=1` writes it again.

mod cases;

use std::{fmt::Write as _, path::PathBuf};

use data_encoding::HEXLOWER;
use placet_ledger::{
    canonical_string, hash,
    ijson::{Limits, parse},
};
use placet_testkit::{Http, Server};
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};

use self::cases::{ACCEPTED, refused, requests};
use crate::support::{at, merged, on_sqlite, vote};

fn file() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/contract/digests.json")
}

fn stored() -> Value {
    let text = std::fs::read(file()).expect("tests/contract/digests.json is there");
    serde_json::from_slice(&text).expect("tests/contract/digests.json is JSON")
}

fn list<'a>(file: &'a Value, name: &str) -> &'a [Value] {
    file[name].as_array().unwrap_or_else(|| panic!("no list `{name}`"))
}

/// The bytes of a vector: a text, bytes as hexadecimal digits, or parts that are repeated.
fn bytes(vector: &Value) -> Vec<u8> {
    if let Some(text) = vector["text"].as_str() {
        return text.as_bytes().to_vec();
    }
    if let Some(hex) = vector["hex"].as_str() {
        return HEXLOWER.decode(hex.as_bytes()).expect("hexadecimal digits");
    }
    let parts = vector["parts"].as_array().expect("text, hex or parts");
    let repeat = |part: &Value| {
        let times = usize::try_from(part["repeat"].as_u64().expect("how often")).expect("how often");
        part["text"].as_str().expect("a text").repeat(times)
    };
    parts.iter().map(repeat).collect::<String>().into_bytes()
}

fn sha256(text: &str) -> String {
    format!("sha256:{}", HEXLOWER.encode(&Sha256::digest(text)))
}

/// Both lists of texts, with what the reader says of each.
fn texts() -> (Vec<Value>, Vec<Value>) {
    let accepted = ACCEPTED.iter().map(|(name, text)| {
        let value = parse(text.as_bytes(), &Limits::default()).unwrap_or_else(|e| panic!("{name}: {e}"));
        let canonical = canonical_string(&value).expect("what is accepted has a form");
        json!({"name": name, "text": text, "canonical": canonical, "sha256": sha256(&canonical)})
    });
    let refused = refused().into_iter().map(|mut vector| {
        let error = parse(&bytes(&vector), &Limits::default()).expect_err("a text that must be refused");
        vector["code"] = error.code().into();
        vector
    });
    (accepted.collect(), refused.collect())
}

/// The file's text: one vector a line, in ASCII, so that no editor changes what is in it.
fn written(lists: &[(&str, Vec<Value>)]) -> String {
    let mut text = String::from("{\n");
    for (index, (name, vectors)) in lists.iter().enumerate() {
        let lines: Vec<String> = vectors.iter().map(|vector| ascii(&vector.to_string())).collect();
        let end = if index + 1 == lists.len() { "" } else { "," };
        write!(text, "\"{name}\": [\n{}\n]{end}\n", lines.join(",\n")).expect("writing to a string");
    }
    text.push_str("}\n");
    text
}

fn ascii(json: &str) -> String {
    let mut out = String::new();
    for character in json.chars() {
        if character.is_ascii() && character != '\u{7f}' {
            out.push(character);
        } else {
            for unit in character.encode_utf16(&mut [0; 2]) {
                write!(out, "\\u{unit:04x}").expect("writing to a string");
            }
        }
    }
    out
}

/// The digest of a record with these arguments in place of its own, by the book: docs/architecture.md, "Every digest".
fn digest_of(record: &Value, arguments: Option<&Value>) -> String {
    let own: &[&str] = match record["kind"].as_str().expect("a kind") {
        "action" => &["tool", "arguments", "arguments_schema"],
        "plan" => &["title", "steps", "can_modify", "estimated_duration"],
        "input" => &["question", "input", "required", "default"],
        "confirmation" => &["message", "details", "confirm_label", "cancel_label"],
        other => panic!("unknown kind {other}"),
    };
    let field = |name: &&str| ((*name).to_owned(), record[*name].clone());
    let mut body: Map<String, Value> = own.iter().map(field).filter(|(_, value)| !value.is_null()).collect();
    if let Some(arguments) = arguments {
        body.insert("arguments".to_owned(), arguments.clone());
    }
    let names = ["agent", "context", "created_at", "id", "kind", "nonce", "on_behalf_of", "session"];
    let mut whole: Map<String, Value> = names.iter().map(field).collect();
    whole.insert("body".to_owned(), body.into());
    whole.insert("space".to_owned(), "main".into());
    hash("placet/request/v1", &[canonical_string(&whole).expect("a form").as_bytes()]).to_string()
}

/// What a decision was about: the request itself, the request with other arguments, or an answer or steps to it.
fn decided_of(record: &Value) -> Option<String> {
    let decision = record["decision"].as_object()?;
    let proposal = if decision["decision"] == "respond" {
        json!({"answer": decision["answer"]})
    } else if !decision["steps"].is_null() {
        json!({"steps": decision["steps"]})
    } else if decision["decision"] == "edit" {
        return Some(digest_of(record, Some(&decision["arguments"])));
    } else {
        return Some(digest_of(record, None));
    };
    let text = format!("{}\n{}", digest_of(record, None), canonical_string(&proposal).expect("a form"));
    Some(hash("placet/proposal/v1", &[text.as_bytes()]).to_string())
}

fn assert_digests(name: &str, record: &Value) {
    assert_eq!(record["digest"], digest_of(record, None), "{name}");
    assert_eq!(record["decision"]["digest"].as_str(), decided_of(record).as_deref(), "{name}");
}

/// Makes every request at a server and decides it, and reads the record that its agent sees.
async fn records(server: &Server) -> Vec<Value> {
    let (bot, ann) = (server.agent("bot").await, server.reviewer("ann").await);
    let mut made = Vec::new();
    for (name, body, decision) in requests() {
        made.push(json!({"name": name, "record": record(&bot, &ann, body, decision).await}));
    }
    made
}

async fn record(bot: &Http, ann: &Http, body: Value, decision: Option<Value>) -> Value {
    let record = bot.post("/v1/requests", body).await.expect(201);
    if let Some(decision) = decision {
        let word = decision["decision"].as_str().expect("a decision").to_owned();
        ann.post(&at(&record, "/decision"), merged(vote(&record, &word), decision)).await.expect(200);
    }
    bot.get(&at(&record, "")).await.expect(200)
}

#[test]
fn contract_digests_are_current() {
    let (canonical, refused) = texts();
    if std::env::var_os("UPDATE").is_some() {
        on_sqlite(async |server| {
            let lists = [
                ("canonical", canonical.clone()),
                ("refused", refused.clone()),
                ("requests", records(server).await),
            ];
            std::fs::write(file(), written(&lists)).expect("the file can be written");
        });
    }
    let stored = stored();
    let stale = "tests/contract/digests.json is not what the code says: run this test with UPDATE=1, and look at the difference";
    assert!(list(&stored, "canonical") == canonical, "{stale}");
    assert!(list(&stored, "refused") == refused, "{stale}");
    // Identifiers and times differ from run to run, so the records are held to their digests, and to what was asked.
    let asked = requests();
    assert_eq!(list(&stored, "requests").len(), asked.len(), "{stale}");
    for (vector, (name, body, decision)) in list(&stored, "requests").iter().zip(asked) {
        assert_eq!(vector["name"], name, "{stale}");
        assert_digests(name, &vector["record"]);
        // The record has these two as a time and as `claimable`.
        let same = |(field, _): &(&String, &Value)| !["expires_in", "permit"].contains(&field.as_str());
        for (field, value) in body.as_object().expect("an object").iter().filter(same) {
            assert_eq!(vector["record"][field], *value, "{name}: {field}");
        }
        let word = decision.map_or(Value::Null, |decision| decision["decision"].clone());
        assert_eq!(vector["record"]["decision"]["decision"], word, "{name}");
    }
}

#[test]
fn contract_digests_are_those_of_a_server() {
    on_sqlite(async |server| {
        for vector in records(server).await {
            assert_digests(vector["name"].as_str().expect("a name"), &vector["record"]);
        }
    });
}

#[test]
fn contract_texts_are_refused_by_a_server_with_their_codes() {
    on_sqlite(async |server| {
        let bot = server.agent("bot").await;
        for vector in list(&stored(), "refused") {
            let answer = bot.post_bytes("/v1/requests", bytes(vector)).await;
            // No body at all counts as `{}`; it is the fields that are missing then.
            let expected =
                if bytes(vector).is_empty() { "invalid" } else { vector["code"].as_str().expect("a code") };
            assert_eq!((answer.status, answer.code()), (422, expected), "{}", vector["name"]);
        }
    });
}

//! The second process: keeps its own fsynced file of intents, answers and executions, and judges the server by it.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::sync::mpsc::channel;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use serde_json::Value;

use super::book::Book;
use super::chain::Chain;
use super::lines::{Line, Rare, Verdict};
use crate::node::http::Http;
use crate::node::{create_file, print, thread};

/// Reads lines until the load ends.
pub(super) fn run(path: &Path) -> Result<()> {
    let mut file = create_file(path)?;
    let (sender, lines) = channel();
    // Reading is apart from writing, so that the load never waits for our disk.
    thread("oracle-input", move || {
        for line in BufReader::new(std::io::stdin()).lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                break;
            }
        }
    })?;
    let mut book = Book::default();
    let mut chain = Chain::default();
    let (mut answers, mut effects, mut learned, mut rare) = (0, 0, 0, Rare::default());
    while let Ok(first) = lines.recv() {
        let batch: Vec<String> = std::iter::once(first).chain(lines.try_iter()).collect();
        write(&mut file, &batch)?;
        for text in batch {
            let line: Line = serde_json::from_str(&text).with_context(|| format!("the line {text}"))?;
            match line {
                Line::Life { .. } => {
                    answers += book.answers;
                    effects += book.effects;
                    learned += book.learned;
                    rare += book.rare;
                    book = Book::default();
                    chain = Chain::default();
                }
                Line::Ledger { page } => book.violations.extend(chain.seen(&page)),
                Line::Judge { addr, auditor, end } => {
                    let mut http = Http::new(addr.parse()?, &auditor);
                    let (records, entries) = quiet(&mut http, &mut chain)?;
                    book.settle(&records, end);
                    book.violations.extend(entries);
                    book.violations.extend(chain.agrees(&records));
                    let mut all = rare;
                    all += book.rare;
                    let verdict = Verdict {
                        violations: std::mem::take(&mut book.violations),
                        lost: std::mem::take(&mut book.lost),
                        requests: records.len(),
                        entries: chain.len(),
                        answers: answers + book.answers,
                        effects: effects + book.effects,
                        learned: learned + book.learned,
                        rare: all,
                    };
                    print(serde_json::to_string(&verdict)?);
                }
                line => book.note(line),
            }
        }
    }
    Ok(())
}

/// Writes everything that waits to the disk at once, before it is used for a judgement.
fn write(file: &mut File, batch: &[String]) -> Result<()> {
    let mut text = batch.join("\n");
    text.push('\n');
    file.write_all(text.as_bytes()).context("write the oracle's file")?;
    file.sync_data().context("sync the oracle's file")
}

/// All records and the faults of the ledger, at one moment. There are no callers, but deadlines still pass.
fn quiet(http: &mut Http, chain: &mut Chain) -> Result<(BTreeMap<String, Value>, Vec<String>)> {
    let mut wrong = chain.read_back(http)?;
    for _ in 0..50 {
        let before = chain.len();
        let records = records(http)?;
        wrong.extend(chain.read_back(http)?);
        if chain.len() == before {
            return Ok((records, wrong));
        }
    }
    bail!("the ledger never stood still while it was read");
}

/// Every request the server has, in pages.
fn records(http: &mut Http) -> Result<BTreeMap<String, Value>> {
    let mut found = BTreeMap::new();
    let mut cursor = String::new();
    loop {
        let answer = http.get(&format!("/v1/requests?limit=200{cursor}"), Duration::from_secs(30))?;
        if answer.status != 200 {
            bail!("GET /v1/requests answered {}: {}", answer.status, answer.text());
        }
        let page = answer.json()?;
        for record in page.get("items").and_then(Value::as_array).context("`items` in a page of requests")? {
            let id = record.get("id").and_then(Value::as_str).context("`id` of a record")?;
            found.insert(id.to_owned(), record.clone());
        }
        match page.get("next_cursor").and_then(Value::as_str) {
            Some(next) => cursor = format!("&cursor={next}"),
            None => return Ok(found),
        }
    }
}

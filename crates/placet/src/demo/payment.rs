//! `placet demo payment`: a payment that is edited and approved by two, while its agent is killed and started again.

use std::{collections::BTreeMap, process::Stdio};

use anyhow::{Context as _, bail, ensure};
use placet_client::{Client, Decide, Permit, Report};
use placet_core::{DecisionWord, State};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tokio::process::{Child, Command};

use super::stage::{Stage, Tone};
use crate::{exit::NO_PERMIT, output::short};

/// The policy of this story.
pub(super) const POLICY: &str = include_str!("payment.toml");
const TOOL: &str = "payments.transfer";

/// What `placet request --claim --json` prints.
#[derive(Debug, Deserialize)]
struct ClaimedCall {
    permit: Permit,
    arguments: Map<String, Value>,
}

/// A bank that counts.
#[derive(Debug, Default)]
struct Bank {
    paid: Vec<String>,
}

impl Bank {
    fn transfer(&mut self, arguments: &Map<String, Value>) {
        let amount = arguments.get("amount").map(Value::to_string).unwrap_or_default();
        let to = arguments.get("to").and_then(Value::as_str).unwrap_or_default();
        self.paid.push(format!("{amount} EUR to {to}"));
    }
}

/// Plays it.
pub(super) async fn play(stage: &mut Stage) -> anyhow::Result<()> {
    let (ann, ben) = (stage.person("ann").await?, stage.person("ben").await?);
    let (robot, key) = stage.agent("billing-bot").await?;
    let mut bank = Bank::default();
    stage.head("A payment").await?;
    stage.say(Tone::Plain, "More than 10,000 EUR takes two people. The agent is a process of its own: `placet request --claim`.").await?;

    let mut first = agent(stage, &key)?;
    let asked = stage.pending(&ann, |record| record.tool.as_deref() == Some(TOOL)).await?;
    let id = short(asked.id);
    stage
        .say(
            Tone::Plain,
            &format!("\nbilling-bot  asks to pay 18,500 EUR to DE89370400440532013000 ({id}), and waits"),
        )
        .await?;
    stage
        .say(Tone::Careful, &format!("policy       holds it by the rule {}: two people", asked.verdict.rule))
        .await?;

    let mut arguments = asked.arguments.clone().unwrap_or_default();
    arguments.insert("amount".to_owned(), json!(12_500));
    let edit = Decide::edit(&asked, arguments).with_reason("the invoice says 12,500");
    let edited = ann.decide(asked.id, &edit).await?;
    ensure!(edited.state == State::Pending && edited.proposal.is_some(), "one vote must not be enough");
    stage.say(Tone::Good, "ann          looks at the invoice and changes the amount to 12,500. One yes of two: nothing runs").await?;

    first.kill().await?;
    stage.say(Tone::Bad, "billing-bot  is killed with SIGKILL while it waits").await?;

    let seen = ben.get(asked.id).await?;
    let stale = Decide::approve(&asked);
    let refused = ben.decide(asked.id, &stale).await.err();
    ensure!(refused.is_some(), "a yes for the old amount must not count");
    stage.say(Tone::Bad, "ben          still has the old page open: his yes to 18,500 is refused").await?;
    let approved = ben.decide(asked.id, &Decide::approve(&seen).with_reason("12,500 is right")).await?;
    let decision = approved.decision.as_ref().context("two people said yes")?;
    ensure!(approved.state == State::Approved && decision.decision == DecisionWord::Edit, "{approved:?}");
    stage
        .say(
            Tone::Good,
            "ben          looks again, sees 12,500, and says yes. Now it is approved, and no agent is there",
        )
        .await?;

    let again = agent(stage, &key)?;
    let claimed = claimed(again).await?;
    ensure!(claimed.arguments.get("amount") == Some(&json!(12_500)), "{:?}", claimed.arguments);
    stage
        .say(
            Tone::Plain,
            "\nbilling-bot  is started again, finds its request, and takes the permit: 12,500, not 18,500",
        )
        .await?;
    bank.transfer(&claimed.arguments);
    stage.say(Tone::Good, &format!("the bank     pays {}", bank.paid.join(", "))).await?;

    let twin = agent(stage, &key)?.wait_with_output().await?;
    ensure!(twin.status.code() == Some(i32::from(NO_PERMIT)), "a second agent must get no permit: {twin:?}");
    stage
        .say(
            Tone::Bad,
            "billing-bot  is started a second time by mistake: there is no second permit, so it pays nothing",
        )
        .await?;
    let done = robot.report(asked.id, &claimed.permit, &Report::succeeded()).await?;
    ensure!(done.state == State::Succeeded && bank.paid.len() == 1, "it must be paid once: {bank:?}");
    stage.say(Tone::Good, "billing-bot  reports: done").await?;

    let paid = u64::try_from(bank.paid.len())?;
    let counts = BTreeMap::from([
        ("starts", 3),
        ("payments", paid),
        ("yes", 2),
        ("requests", requests(&stage.auditor).await?),
    ]);
    stage.say(Tone::Plain, "\nThree starts of the agent, two people, one request, one payment.").await?;
    stage
        .end("payment", &counts, &[
            "History, the payment: who changed what, both votes, and the one permit.",
            "Ledger: each step is an entry, linked to the one before. `placet ledger verify` checks them.",
        ])
        .await
}

async fn requests(auditor: &Client) -> anyhow::Result<u64> {
    let page = auditor.list(&placet_client::ListQuery::default()).await?;
    Ok(u64::try_from(page.items.len())?)
}

/// The agent: a process that asks, waits, and claims. The same job has the same key.
fn agent(stage: &Stage, key: &str) -> anyhow::Result<Child> {
    let mut command = Command::new(std::env::current_exe()?);
    let call = json!({"to": "DE89370400440532013000", "amount": 18_500, "currency": "EUR", "reference": "invoice 2041"});
    command
        .args(["--json", "--url", &stage.url, "request", "--tool", TOOL, "--args", &call.to_string()])
        .args(["--session", "invoices", "--idempotency-key", "invoice-2041", "--claim"])
        .args(["--summary", "Invoice 2041 of Acme is due."])
        .env("PLACET_TOKEN", key)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true);
    command.spawn().context("the agent")
}

async fn claimed(agent: Child) -> anyhow::Result<ClaimedCall> {
    let ended = agent.wait_with_output().await?;
    if !ended.status.success() {
        bail!("the agent got no permit: {}", String::from_utf8_lossy(&ended.stderr));
    }
    serde_json::from_slice(&ended.stdout).context("the permit of the agent")
}

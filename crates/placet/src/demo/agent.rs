//! The demo's agent: asks, waits, runs what was approved (harmlessly: it prints), and reports.

use std::{convert::Infallible, time::Duration};

use placet_client::{Client, CreateOptions, Gated};
use placet_core::{Kind, Record, State, show};
use serde_json::{Map, Value, json};
use tokio::task::JoinSet;

use super::script::{self, DemoRequest};
use crate::output::{self, DIM, GOOD, NAME, headline, json_line, oneline, paint, short, state_style};

/// How many requests may be pending before the agent stops making more.
const WAITING: usize = 15;
/// Between two small things.
const PACE: Duration = Duration::from_secs(20);
/// The pause between two requests of the first round: slow enough to follow.
const STEP: Duration = Duration::from_millis(300);

/// The agent, and how it reports.
#[derive(Clone)]
pub(super) struct Story {
    pub(super) client: Client,
    pub(super) json: bool,
}

impl Story {
    /// Makes one request of each kind and waits for all decisions. Returns the number of requests.
    pub(super) async fn once(&self) -> anyhow::Result<usize> {
        let mut following = JoinSet::new();
        for ask in script::everything() {
            self.ask(ask, &mut following).await?;
        }
        let mut decided = 0;
        while let Some(done) = following.join_next().await {
            done??;
            decided += 1;
        }
        Ok(decided)
    }

    /// Makes one request of each kind, then small ones for ever, while there is room in the inbox. `reminder` is said
    /// after the first round, and again after each later request, so that it stays on the screen.
    pub(super) async fn for_ever(&self, reminder: &str) -> anyhow::Result<()> {
        let mut following = JoinSet::new();
        for ask in script::everything() {
            self.ask(ask, &mut following).await?;
            // A program that reads the output needs no pauses.
            if !self.json {
                tokio::time::sleep(STEP).await;
            }
        }
        for turn in 1.. {
            if !self.json && following.len() < WAITING {
                output::line(reminder)?;
            }
            tokio::time::sleep(PACE).await;
            while let Some(done) = following.try_join_next() {
                done??;
            }
            if following.len() < WAITING {
                self.ask(script::small(turn), &mut following).await?;
            }
        }
        Ok(())
    }

    /// Makes one request and follows it in its own task.
    async fn ask(&self, ask: DemoRequest, following: &mut JoinSet<anyhow::Result<()>>) -> anyhow::Result<()> {
        let record = self.client.create(&ask.create, CreateOptions::default()).await?;
        let note = paint(DIM, &format!("[{}]", ask.note));
        self.tell("asked", &record, &format!("asks  {}\n          {note}", what(&record)))?;
        let story = self.clone();
        following.spawn(async move { story.follow(record).await });
        Ok(())
    }

    /// Waits for the decision. What was approved is run once, with exactly the arguments of the claim.
    async fn follow(&self, asked: Record) -> anyhow::Result<()> {
        let record = self.client.wait_decided(asked.id, None).await?;
        let state = paint(state_style(record.state), &headline(&record));
        self.tell("decided", &record, &format!("is    {state}"))?;
        if record.kind != Kind::Action || record.state != State::Approved {
            return Ok(());
        }
        let tool = record.tool.clone().unwrap_or_default();
        let pretend = async |arguments: Map<String, Value>| {
            let call = format!("{}({})", show(&tool), json_line(&arguments));
            Ok::<String, Infallible>(call)
        };
        match self.client.run_approved(record, pretend).await? {
            Gated::Ran { value, record } => {
                let done = paint(GOOD, record.state.as_str());
                self.tell("ran", &record, &format!("ran   {value} (it only pretends), reported: {done}"))?;
            }
            Gated::Refused(record) => {
                self.tell("refused", &record, &format!("is    {}", headline(&record)))?;
            }
            Gated::Unreached { error, .. } => return Err(error.into()),
        }
        Ok(())
    }

    fn tell(&self, event: &str, record: &Record, text: &str) -> std::io::Result<()> {
        if self.json {
            return output::line(&json_line(&json!({"event": event, "record": record})));
        }
        output::line(&format!("  {} {text}", paint(NAME, &short(record.id))))
    }
}

fn what(record: &Record) -> String {
    let tool = record.tool.as_deref().map_or_else(|| record.kind.to_string(), show);
    format!("{tool}: {}", oneline(record))
}

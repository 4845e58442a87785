//! The stage of a story: a server with its people and agents, what is said about them, and the time to read it.

use std::{collections::BTreeMap, path::PathBuf, time::Duration};

use placet_client::{Client, ListQuery};
use placet_core::{Record, Role, State};
use serde_json::{Map, Value, json};

use crate::output::{self, BAD, DIM, GOOD, NAME, STRONG, WARN, json_line, paint};

/// How long one character takes to read. With it, every story takes less than three minutes.
const READING: Duration = Duration::from_millis(45);
/// Between two looks at the queue.
const LOOK: Duration = Duration::from_millis(25);

/// The stage.
pub(super) struct Stage {
    pub(super) url: String,
    pub(super) admin: Client,
    /// Reads everything, and changes nothing.
    pub(super) auditor: Client,
    /// A folder of the story, removed with it.
    pub(super) folder: PathBuf,
    fast: bool,
    json: bool,
    reading: Duration,
}

/// How a line is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tone {
    Plain,
    Good,
    Bad,
    Careful,
    Quiet,
}

impl Stage {
    pub(super) async fn new(
        url: &str,
        bootstrap: &str,
        folder: PathBuf,
        fast: bool,
        json: bool,
    ) -> anyhow::Result<Self> {
        let admin = Client::new(url, bootstrap)?;
        let auditor = admin.create_key(Role::Auditor, "auditor", None).await?;
        let auditor = Client::new(url, &auditor.key)?;
        Ok(Self { url: url.to_owned(), admin, auditor, folder, fast, json, reading: Duration::ZERO })
    }

    /// Says a line, and leaves the time to read it.
    pub(super) async fn say(&mut self, tone: Tone, text: &str) -> anyhow::Result<()> {
        let style = match tone {
            Tone::Plain => None,
            Tone::Good => Some(GOOD),
            Tone::Bad => Some(BAD),
            Tone::Careful => Some(WARN),
            Tone::Quiet => Some(DIM),
        };
        if !self.json {
            output::line(&style.map_or_else(|| text.to_owned(), |style| paint(style, text)))?;
        }
        let pause = READING * u32::try_from(text.chars().count()).unwrap_or(u32::MAX);
        self.reading += pause;
        if !self.fast {
            tokio::time::sleep(pause).await;
        }
        Ok(())
    }

    /// The beginning of a part.
    pub(super) async fn head(&mut self, text: &str) -> anyhow::Result<()> {
        if !self.json {
            output::line(&format!("\n{}", paint(STRONG, text)))?;
        }
        self.say(Tone::Quiet, "").await
    }

    /// A person with a key.
    pub(super) async fn person(&self, name: &str) -> anyhow::Result<Client> {
        let made = self.admin.create_key(Role::Reviewer, name, None).await?;
        Ok(Client::new(&self.url, &made.key)?)
    }

    /// An agent with a key, and the key.
    pub(super) async fn agent(&self, name: &str) -> anyhow::Result<(Client, String)> {
        let made = self.admin.create_key(Role::Agent, name, None).await?;
        Ok((Client::new(&self.url, &made.key)?, made.key))
    }

    /// The pending request that fits, once it is there.
    pub(super) async fn pending(
        &self,
        client: &Client,
        fits: impl Fn(&Record) -> bool,
    ) -> anyhow::Result<Record> {
        let query = ListQuery { state: Some(State::Pending), limit: Some(50), ..ListQuery::default() };
        loop {
            if let Some(found) = client.list(&query).await?.items.into_iter().find(&fits) {
                return Ok(found);
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    /// The end: the figures of the server, and what to look at.
    pub(super) async fn end(
        &mut self,
        story: &str,
        counts: &BTreeMap<&'static str, u64>,
        look: &[&str],
    ) -> anyhow::Result<()> {
        let states = self.states().await?;
        let head = self.auditor.ledger(0).await?;
        let link = self.admin.person_link("you").await?;
        if self.json {
            let ended = json!({
                "event": "ended", "story": story, "counts": counts, "states": states, "sign_in": link.url,
                "entries": head.items.len(), "reading_seconds": self.reading.as_secs(),
            });
            output::line(&json_line(&ended))?;
            return Ok(());
        }
        self.head("What to look at").await?;
        for line in look {
            self.say(Tone::Plain, &format!("  {line}")).await?;
        }
        if !self.fast {
            output::line(&format!(
                "\nThe server runs until Ctrl-C. Open it, signed in as `you`:\n  {}",
                paint(NAME, &link.url)
            ))?;
        }
        Ok(())
    }

    /// How many requests are in which state.
    async fn states(&self) -> anyhow::Result<Map<String, Value>> {
        let mut states: BTreeMap<String, u64> = BTreeMap::new();
        let mut query = ListQuery { limit: Some(100), ..ListQuery::default() };
        loop {
            let page = self.auditor.list(&query).await?;
            for record in &page.items {
                *states.entry(record.state.to_string()).or_default() += 1;
            }
            if page.next_cursor.is_none() {
                break;
            }
            query.cursor = page.next_cursor;
        }
        Ok(states.into_iter().map(|(state, count)| (state, count.into())).collect())
    }
}

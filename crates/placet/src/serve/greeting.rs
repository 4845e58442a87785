//! What `placet up` says about the server that it started.

use placet_core::Actor;
use placet_gate::Gate;

use crate::exit::usage;

/// A server that has just started.
pub(crate) struct Greeting {
    /// The address for browsers.
    pub(crate) pages: String,
    pub(super) gate: Gate,
}

impl Greeting {
    /// Why the database cannot be used, if it lost entries.
    pub(crate) fn lost(&self) -> Option<String> {
        self.gate.store().lost()
    }

    /// The policy in force, in one line.
    pub(crate) async fn policy(&self) -> anyhow::Result<String> {
        let policy = self.gate.policy(&Actor::system()).await?;
        if let Some(broken) = policy.broken {
            return Ok(format!(
                "{} cannot be used, so every request waits for two people: {broken}",
                policy.source
            ));
        }
        Ok(match (policy.source.as_str(), policy.name) {
            ("preset:coding-agent", _) => {
                "preset:coding-agent: what only looks passes, what changes something waits for you".to_owned()
            }
            (source, Some(name)) if source != name => format!("{name} ({source})"),
            (source, _) => source.to_owned(),
        })
    }

    /// Makes the first person, so that the owner of the data can have a link for them later. Nobody gets this one.
    pub(crate) async fn first_person(&self) -> anyhow::Result<()> {
        self.gate.first_link().await?;
        Ok(())
    }

    /// A one-time link for a person. At the first start the person is made.
    pub(crate) async fn link(&self, person: &str) -> anyhow::Result<String> {
        let first = self.gate.first_link().await?.filter(|link| link.name == person);
        let made = match first {
            Some(link) => link,
            None => self
                .gate
                .create_link(&Actor::system(), person, None)
                .await
                .map_err(|error| usage(format!("{error}: name a person of this server with --as")))?,
        };
        Ok(format!("{}/sign-in/{}", self.pages, made.token.unwrap_or_default()))
    }
}

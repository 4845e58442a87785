//! The folders that people open to agents.

use placet_core::{Actor, AdminCommand, Role};

use crate::{Gate, GateError};

/// An agent as people see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentView {
    /// Its name.
    pub name: String,
    /// Who answers for it.
    pub owner: Option<String>,
    /// The folders that are open to it.
    pub roots: Vec<String>,
}

impl Gate {
    /// Opens these folders to an agent and closes all others, for every key of it and on every node. Only an admin can: an
    /// agent that could open folders to itself would be asked nothing.
    ///
    /// With `add` those that are open stay open.
    pub async fn put_roots(
        &self,
        actor: &Actor,
        agent: &str,
        mut roots: Vec<String>,
        add: bool,
    ) -> Result<AgentView, GateError> {
        let actor = &*self.acting(actor, &[Role::Admin])?;
        let directory = self.store.refresh_directory().await?;
        if add {
            roots.extend_from_slice(directory.roots(agent));
        }
        let same = add && roots == directory.roots(agent) && directory.agents.contains_key(agent);
        if !same {
            let command = AdminCommand::PutRoots { agent: agent.to_owned(), roots };
            self.admin(actor, command, None).await?;
        }
        let directory = self.store.directory();
        Ok(AgentView {
            name: agent.to_owned(),
            owner: directory.owner(agent).map(str::to_owned),
            roots: directory.roots(agent).to_vec(),
        })
    }

    /// Every agent, with its owner and its folders.
    pub async fn agents(&self, actor: &Actor) -> Result<Vec<AgentView>, GateError> {
        self.acting(actor, &[Role::Admin, Role::Auditor, Role::Reviewer])?;
        let directory = self.store.refresh_directory().await?;
        let view = |(name, agent): (&String, &placet_core::Agent)| AgentView {
            name: name.clone(),
            owner: agent.owner.clone(),
            roots: agent.roots.clone(),
        };
        Ok(directory.agents.iter().map(view).collect())
    }
}

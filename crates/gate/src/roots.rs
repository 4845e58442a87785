//! Agents as people see them: the folders that are open to them, and their reports.

use placet_core::{Actor, AdminCommand, Coverage, Covered, Directory, Role};

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
    /// Whether its hook program may be told to run calls confined.
    pub confine: bool,
    /// What its reports come to.
    pub covered: Covered,
    /// Its reports, one for each program.
    pub coverage: Vec<Coverage>,
}

impl AgentView {
    fn of(directory: &Directory, name: &str) -> Self {
        Self {
            name: name.to_owned(),
            owner: directory.owner(name).map(str::to_owned),
            roots: directory.roots(name).to_vec(),
            confine: directory.agents.get(name).is_some_and(|agent| agent.confine),
            covered: directory.covered(name),
            coverage: directory.coverage(name).to_vec(),
        }
    }
}

impl Gate {
    /// Opens these folders to an agent and closes all others, for every key of it and on every node. Only an admin
    /// can: an agent that could open folders to itself would never be asked.
    ///
    /// With `add`, the open folders stay open.
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
        Ok(AgentView::of(&self.store.directory(), agent))
    }

    /// Sets whether an agent's hook program may be told to run calls confined, on every node. Only an admin can,
    /// because a person is not asked about calls that are allowed confined.
    pub async fn put_confine(
        &self,
        actor: &Actor,
        agent: &str,
        confine: bool,
    ) -> Result<AgentView, GateError> {
        let actor = &*self.acting(actor, &[Role::Admin])?;
        let known = self.store.refresh_directory().await?;
        if known.agents.get(agent).is_none_or(|known| known.confine != confine) {
            let command = AdminCommand::PutConfine { agent: agent.to_owned(), confine };
            self.admin(actor, command, None).await?;
        }
        Ok(AgentView::of(&self.store.directory(), agent))
    }

    /// Every agent, with its owner and its folders.
    pub async fn agents(&self, actor: &Actor) -> Result<Vec<AgentView>, GateError> {
        self.acting(actor, &[Role::Admin, Role::Auditor, Role::Reviewer])?;
        let directory = self.store.refresh_directory().await?;
        Ok(directory.agents.keys().map(|name| AgentView::of(&directory, name)).collect())
    }

    /// Stores an agent's report of one of its programs. The same report again changes nothing.
    pub async fn put_coverage(&self, actor: &Actor, report: Coverage) -> Result<AgentView, GateError> {
        let actor = &*self.acting(actor, &[Role::Agent])?;
        if !self.store.refresh_directory().await?.reports_the_same(&actor.name, &report) {
            let command = AdminCommand::PutCoverage { agent: actor.name.clone(), report: Box::new(report) };
            self.admin(actor, command, None).await?;
        }
        Ok(AgentView::of(&self.store.directory(), &actor.name))
    }

    /// Forgets the reports of an agent. It is unknown until it reports again.
    pub async fn forget_coverage(&self, actor: &Actor, agent: &str) -> Result<AgentView, GateError> {
        let actor = &*self.acting(actor, &[Role::Admin])?;
        self.admin(actor, AdminCommand::ForgetCoverage { agent: agent.to_owned() }, None).await?;
        Ok(AgentView::of(&self.store.directory(), agent))
    }
}

//! Freezes: the stop switch.

use std::sync::Arc;

use placet_core::{Actor, AdminCommand, AdminRefusal, Freeze, FreezeId, Role, Time};

use crate::{Gate, GateError};

/// A freeze to be made. Without agent and tool it stops everything.
#[derive(Debug, Clone)]
pub struct NewFreeze {
    /// Only calls of this agent.
    pub agent: Option<String>,
    /// Only calls of this tool.
    pub tool: Option<String>,
    /// The reason. Everybody can read it.
    pub reason: String,
}

impl Gate {
    /// Freezes an agent, a tool or everything. When this returns, nothing of it is allowed, approved or claimed on
    /// any node. Two calls make two freezes, and both have to be lifted.
    pub async fn freeze(&self, actor: &Actor, new: NewFreeze) -> Result<Arc<Freeze>, GateError> {
        let actor = &*self.acting(actor, &[Role::Reviewer, Role::Admin])?;
        let mut random = [0_u8; 10];
        self.entropy.fill(&mut random);
        let id = FreezeId::new(self.now().millis(), random);
        let freeze = Freeze {
            id,
            agent: new.agent,
            tool: new.tool,
            by: actor.name.clone(),
            reason: new.reason,
            at: Time::default(),
        };
        self.admin(actor, AdminCommand::Freeze { freeze: Box::new(freeze) }, None).await?;
        // It may have been lifted just now.
        let set = self.store.directory().freezes.get(&id).cloned();
        set.ok_or_else(|| AdminRefusal::NoFreeze.into())
    }

    /// Lets it go on.
    pub async fn unfreeze(&self, actor: &Actor, id: FreezeId) -> Result<(), GateError> {
        let actor = &*self.acting(actor, &[Role::Admin])?;
        self.admin(actor, AdminCommand::Unfreeze { id }, None).await.map(drop)
    }

    /// The current freezes, as every node knows them. Everybody may see them.
    pub async fn freezes(&self) -> Result<Vec<Arc<Freeze>>, GateError> {
        Ok(self.store.refresh_directory().await?.freezes.values().cloned().collect())
    }
}

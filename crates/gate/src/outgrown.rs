//! Standing approvals of version 0.2 on commands: they said nothing of a folder, so they end at the upgrade.

use std::sync::Arc;

use placet_core::{Actor, AdminCommand, Grant, GrantEnd, Role, Scope, Time};

use crate::{Gate, GateError, judge::call_of};

/// Standing approvals and trust that the upgrade ended.
#[derive(Debug, Clone)]
pub struct Outgrown {
    /// Standing approvals, the newest first.
    pub grants: Vec<OutgrownGrant>,
    /// How many kinds of calls people had approved often enough to be counted.
    pub trust: u64,
}

/// A standing approval that ended at the upgrade.
#[derive(Debug, Clone)]
pub struct OutgrownGrant {
    /// What was given.
    pub grant: Arc<Grant>,
    /// How often it was used.
    pub used: u32,
    /// What it covered, in words.
    pub covered: String,
    /// When it ended.
    pub at: Time,
}

impl Gate {
    /// Ends the standing approvals that version 0.2 gave on commands, with an entry for each, and says how many.
    pub async fn end_outgrown(&self) -> Result<usize, GateError> {
        let directory = self.store.refresh_directory().await?;
        let mut ended = 0;
        for grant in directory.grants.values().filter(|grant| grant.scope == Scope::Exact { bound: false }) {
            if self.is_about_a_command(grant).await? {
                let command = AdminCommand::EndGrant { id: grant.id, why: GrantEnd::Upgrade };
                // Another node may have been quicker.
                self.store.admin(Actor::system(), command, None).await?;
                ended += 1;
            }
        }
        Ok(ended)
    }

    /// Whether a standing approval was given on a command. If its request or content is gone, it counts as one.
    async fn is_about_a_command(&self, grant: &Grant) -> Result<bool, GateError> {
        let Some(request) = self.store.get(grant.request).await? else { return Ok(true) };
        let Some(content) = request.content.as_deref() else { return Ok(true) };
        let version = self.version(&grant.policy).await?;
        let call = call_of(&request, content, &content.body, request.created_at);
        Ok(version.good().is_none_or(|policy| policy.free_form(&call)))
    }

    /// What ended at the upgrade: a reviewer sees their own.
    pub async fn outgrown(&self, actor: &Actor) -> Result<Outgrown, GateError> {
        let actor = &*self.acting(actor, &[Role::Admin, Role::Auditor, Role::Reviewer])?;
        let ended = self.store.ended_at_upgrade().await?;
        let mut grants = Vec::new();
        for one in ended.grants {
            if actor.role != Role::Reviewer || one.grant.by == actor.name {
                let covered = self.covers(&one.grant, None).await?;
                grants.push(OutgrownGrant { grant: one.grant, used: one.used, covered, at: one.at });
            }
        }
        Ok(Outgrown { grants, trust: ended.trust })
    }
}

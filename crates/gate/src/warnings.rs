//! Warnings for the operator, although everything works.

use std::sync::{Arc, Mutex, PoisonError};

use placet_core::{Actor, AdminCommand, Directory, Role, Time};

use crate::{Gate, GateError};

/// The findings about a directory, kept until the directory changes.
#[derive(Debug, Default)]
pub(crate) struct Warnings(Mutex<Option<(Arc<Directory>, Vec<String>)>>);

impl Gate {
    /// One sentence per finding, with what to do.
    pub fn warnings(&self) -> Vec<String> {
        let mut all = self.store.warnings();
        let directory = self.store.directory();
        all.extend(directory.unconfirmed.map(undone));
        all.extend(self.warnings.of(&directory));
        all
    }

    /// Confirms that keys, people and policy were checked after a restore or a recovery.
    pub async fn confirm_restore(&self, actor: &Actor) -> Result<(), GateError> {
        let actor = &*self.acting(actor, &[Role::Admin])?;
        self.admin(actor, AdminCommand::ConfirmRestore, None).await.map(drop)
    }
}

impl Warnings {
    fn of(&self, directory: &Arc<Directory>) -> Vec<String> {
        // Held while names are compared. Only other readers of the warnings wait for it.
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match &*known {
            Some((seen, found)) if Arc::ptr_eq(seen, directory) => found.clone(),
            _ => {
                let found: Vec<String> = directory.lookalikes().iter().map(|names| sentence(names)).collect();
                *known = Some((directory.clone(), found.clone()));
                found
            }
        }
    }
}

fn undone(at: Time) -> String {
    format!(
        "keys that were revoked and policies that were tightened after the backup may be back since {at}: look at keys, \
         people and policy, then say so with `placet doctor --confirm-restore`"
    )
}

fn sentence(names: &[&str]) -> String {
    let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    format!(
        "the names {} look alike: people among them count as one person in votes and four eyes. Give them clearly \
         different names",
        names.join(", ")
    )
}

//! What an operator should mend although everything works.

use std::sync::{Arc, Mutex, PoisonError};

use placet_core::Directory;

use crate::Gate;

/// What was found in a directory, kept until there is another one.
#[derive(Debug, Default)]
pub(crate) struct Warnings(Mutex<Option<(Arc<Directory>, Vec<String>)>>);

impl Gate {
    /// One sentence for each thing, with what to do about it.
    pub fn warnings(&self) -> Vec<String> {
        let mut all = self.store.warnings();
        all.extend(self.warnings.of(&self.store.directory()));
        all
    }
}

impl Warnings {
    fn of(&self, directory: &Arc<Directory>) -> Vec<String> {
        // Held while names are compared; nothing waits for it but another look.
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

fn sentence(names: &[&str]) -> String {
    let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    format!(
        "the names {} look alike: people among them count as one person in votes and four eyes. Give them names that \
         nobody takes for one another",
        names.join(", ")
    )
}

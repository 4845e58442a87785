//! What an installation tells the server if the user owns the server's data: the folder, and the mark for confined
//! calls.

use std::fs;

use super::{confines, scope::Scope};
use crate::{
    cli::{InstallArgs, Place},
    offline,
};

/// Tells the server, if it is ours, what the agent may do. Returns what was done, or what is left to do.
pub(super) async fn server_notes(args: &InstallArgs) -> Vec<String> {
    if args.uninstall {
        return Vec::new();
    }
    let key = match &args.token_file {
        Some(file) => fs::read_to_string(file).ok(),
        None => std::env::var("PLACET_TOKEN").ok(),
    };
    let key = key.map(|key| key.trim().to_owned()).filter(|key| !key.is_empty() && !args.dry_run);
    let mut notes: Vec<String> = folder_note(args, key.as_deref()).await.into_iter().collect();
    if confines(args) {
        notes.push(confine_note(args, key.as_deref()).await);
    }
    notes
}

/// Marks the agent, if the user may do that.
async fn confine_note(args: &InstallArgs, key: Option<&str>) -> String {
    let place = Place { data: args.data.clone(), database: None };
    let marked = match key {
        Some(key) => offline::mark(place, key).await,
        None => Ok(None),
    };
    match marked {
        Ok(Some(agent)) => format!(
            "`{agent}` may run commands confined where policy allows it. Undo that with: placet agent confine {agent} --off"
        ),
        Ok(None) => {
            "Commands can run confined after the agent is marked for it: placet agent confine NAME".to_owned()
        }
        Err(error) => format!("the agent was not marked for confined commands: {error:#}"),
    }
}

/// Opens the project's folder to the agent, if the user may do that. Returns what was done, or what is left to do.
async fn folder_note(args: &InstallArgs, key: Option<&str>) -> Option<String> {
    let scope = Scope::of(args);
    let named = match std::env::current_dir().and_then(fs::canonicalize) {
        Ok(folder) if scope == Scope::Personal => folder.into_os_string().into_string().ok()?,
        _ => "DIR".to_owned(),
    };
    let command = format!("placet agent roots NAME --add {}", shell_word(&named));
    let by_hand = format!(
        "What happens in a folder passes only once somebody opened it to the agent. With an admin's key, or as the owner \
         of the data: {command}"
    );
    if scope != Scope::Personal || args.dry_run {
        return Some(by_hand);
    }
    let Some(key) = key else { return Some(by_hand) };
    let place = Place { data: args.data.clone(), database: None };
    match offline::open_folder(place, key, named.clone()).await {
        Ok(Some(agent)) => {
            Some(format!("{named} is open to `{agent}`. Close it with: placet agent roots {agent} --clear"))
        }
        Ok(None) => Some(by_hand),
        Err(error) => Some(format!("{named} was not opened to the agent: {error:#}")),
    }
}

/// A word that a shell reads as it is.
fn shell_word(text: &str) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "/._-".contains(letter);
    if text.chars().all(plain) { text.to_owned() } else { format!("'{}'", text.replace('\'', "'\\''")) }
}

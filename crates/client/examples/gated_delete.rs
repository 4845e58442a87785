//! Deletes files only after a person approved it: ask, wait, claim, run, report in one call.
//!
//! ```text
//! export PLACET_URL=http://127.0.0.1:4000 PLACET_TOKEN=plk_agent_…
//! cargo run -p placet-client --example gated_delete -- old.log older.log
//! ```
#![expect(clippy::print_stdout, reason = "an example talks to its user")]

use std::{error::Error, io, time::Duration};

use placet_client::{Client, Gated, RunError};
use placet_core::{Create, Kind, Risk};
use serde_json::{Map, Value, json};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let files: Vec<String> = std::env::args().skip(1).collect();
    if files.is_empty() {
        return Err("name the files to delete".into());
    }
    // How long the server may be away before this gives up. Then nothing is deleted. `with_on_outage` sets what
    // happens instead.
    let placet = Client::from_env()?.with_outage_budget(Duration::from_mins(1));
    let mut create = Create::new(Kind::Action, "gated-delete");
    create.tool = Some("delete_files".to_owned());
    create.arguments = json!({ "files": files }).as_object().cloned();
    create.risk = Some(Risk::High);
    create.expires_in = Some("10m".to_owned());

    println!("asking; decide with `placet inbox`");
    match placet.run_gated(create, delete).await {
        Ok(Gated::Ran { value, .. }) => println!("approved, and {value} files are gone"),
        Ok(Gated::Refused(record)) => println!("not done: the request is {}", record.state),
        Ok(Gated::Unreached { error, .. }) => println!("not done: {error}"),
        // It ran, but the report failed. Say so, and never run it again because of that.
        Err(RunError::Unreported { value, error }) => println!("{value} files are gone, unreported: {error}"),
        Err(error) => return Err(error.into()),
    }
    Ok(())
}

/// Runs at most once, on the approved arguments: a reviewer may have removed files from the list.
async fn delete(arguments: Map<String, Value>) -> io::Result<usize> {
    let wrong = || io::Error::new(io::ErrorKind::InvalidInput, "`files` is not a list of names");
    let files = arguments.get("files").and_then(Value::as_array).ok_or_else(wrong)?;
    for file in files {
        tokio::fs::remove_file(file.as_str().ok_or_else(wrong)?).await?;
    }
    Ok(files.len())
}

//! `placet policy simulate`: what a candidate would have done with all requests on record, the dangerous changes
//! first.

use std::{io::IsTerminal as _, sync::Arc};

use anyhow::Context as _;
use placet_client::{Change, Example, Simulation, SimulationProgress};
use placet_core::{Actor, Confine, Effect};
use placet_gate::{Gate, Settings, SystemClock, SystemEntropy};
use placet_store::{Location, Options, Store};
use tokio::time::Duration;

use super::Source;
use crate::{
    cli::{FailOn, Global, SimulateArgs},
    output::{self, Progress, paint, safe, span},
    verbs::Context,
};

/// The change is dangerous.
const DANGEROUS: u8 = 3;
/// The number of examples of each change. `--json` has them all.
const SHOWN: usize = 5;

/// Simulates, prints the result, and returns the exit code for CI.
pub(super) async fn run(global: &Global, args: SimulateArgs) -> anyhow::Result<u8> {
    let source = Source::read(&args.file)?;
    source.parse()?;
    let mut progress = Progress::new(std::io::stderr().is_terminal() && !global.json);
    let location = match (args.data, args.database) {
        (Some(data), _) => Some(Location::Folder(data)),
        (None, Some(url)) => Some(Location::Postgres(url)),
        (None, None) => None,
    };
    let simulation = match location {
        None => {
            let client = Context::new(global)?.client;
            client.simulate(&source.text, |at| show(&mut progress, at)).await
        }
        .map_err(anyhow::Error::from),
        Some(location) => offline(&location, &source.text, &mut progress).await,
    };
    progress.end();
    let simulation = simulation?;
    if global.json {
        output::json(&simulation)?;
    } else {
        tell(&simulation)?;
    }
    Ok(if failed(&simulation, args.fail_on) { DANGEROUS } else { 0 })
}

fn show(progress: &mut Progress, at: SimulationProgress) {
    progress.at(at.done, at.of, &format!("{} requests", at.requests));
}

/// On a copy, so that a running server is not disturbed and the original cannot change.
async fn offline(location: &Location, policy: &str, progress: &mut Progress) -> anyhow::Result<Simulation> {
    let folder =
        tempfile::Builder::new().prefix("placet-simulate-").tempdir().context("no temporary folder")?;
    progress.say("copying the database");
    placet_store::backup(location, &folder.path().join("placet.db")).await?;
    let clock = Arc::new(SystemClock::new());
    let copy = Options::new(Location::Folder(folder.path().to_owned()), clock);
    let store = Arc::new(Store::open(copy).await?);
    let gate = Gate::start(store, Arc::new(SystemEntropy), Settings::default()).await?;
    let report = gate
        .simulate(&Actor::system(), policy, |at| {
            show(progress, SimulationProgress { done: at.done, of: at.of, requests: at.requests });
        })
        .await;
    gate.close().await;
    let report = serde_json::to_value(report?)?;
    serde_json::from_value(report).context("the report cannot be read")
}

/// Whether the change is of the kind that `--fail-on` forbids.
fn failed(simulation: &Simulation, fail_on: FailOn) -> bool {
    let denied = simulation.denied_now_allowed_count > 0;
    match fail_on {
        FailOn::Denied => denied,
        FailOn::Loosened => denied || simulation.changes.iter().any(Change::loosens),
        FailOn::Any => denied || !simulation.changes.is_empty(),
    }
}

/// For people: the dangerous changes, the other changes, the time saved.
pub(super) fn tell(simulation: &Simulation) -> anyhow::Result<()> {
    let denied = simulation.denied_now_allowed_count;
    if denied > 0 {
        let text = format!("{} that a person denied would be allowed", requests(denied));
        output::line(&paint(output::BAD, &text))?;
        examples(&simulation.denied_now_allowed, denied)?;
    }
    let changed = simulation.total.saturating_sub(simulation.unchanged);
    output::line(&format!(
        "{}: {} judged as before, {changed} differently",
        requests(simulation.total),
        simulation.unchanged
    ))?;
    for change in &simulation.changes {
        let said = |effect: Effect, confine: Option<Confine>| {
            format!("{effect}{}", if confine.is_some() { " confined" } else { "" })
        };
        let (from, to) = (said(change.from, change.from_confine), said(change.to, change.to_confine));
        let style = if change.loosens() { output::WARN } else { output::STRONG };
        output::line(&format!("{} {}", paint(style, &format!("  {from} -> {to}")), change.count))?;
        examples(&change.examples, change.count)?;
    }
    if simulation.risk_changed > 0 || simulation.rule_changed > 0 {
        let text = format!(
            "of those judged as before, {} get another risk and {} are decided by another rule",
            simulation.risk_changed, simulation.rule_changed
        );
        output::line(&paint(output::DIM, &text))?;
    }
    let (saved, added) = (simulation.prompts_saved, simulation.prompts_added);
    let minutes = match (simulation.human_minutes_saved, simulation.median_decision_seconds) {
        _ if saved == 0 && added == 0 => String::new(),
        (Some(minutes), Some(median)) => time(minutes, median),
        _ => "; there are no decisions yet, so their time is unknown".to_owned(),
    };
    output::line(&format!("prompts: {saved} saved, {added} added{minutes}"))?;
    Ok(())
}

/// People's time, estimated from their past decisions.
fn time(minutes: f64, median: f64) -> String {
    let word = if minutes < 0.0 { "more" } else { "fewer" };
    let half = match Duration::try_from_secs_f64(median) {
        Ok(median) if median >= Duration::from_secs(1) => span(median),
        _ => "1s".to_owned(),
    };
    format!(
        "; about {:.1} {word} minutes of people's time, as half of all decisions took up to {half}",
        minutes.abs()
    )
}

fn requests(count: u64) -> String {
    if count == 1 { "1 request".to_owned() } else { format!("{count} requests") }
}

fn examples(examples: &[Example], count: u64) -> std::io::Result<()> {
    for example in examples.iter().take(SHOWN) {
        let Example { id, agent, tool, before, after } = example;
        let tool = tool.as_deref().unwrap_or("(no tool)");
        let text = format!("{} {}: rule {} -> {}", safe(agent), safe(tool), safe(before), safe(after));
        output::line(&format!("    {}  {text}", paint(output::NAME, &safe(id))))?;
    }
    match usize::try_from(count).unwrap_or(usize::MAX).saturating_sub(examples.len().min(SHOWN)) {
        0 => Ok(()),
        more => output::line(&paint(output::DIM, &format!("    and {more} more"))),
    }
}

#[cfg(test)]
mod tests {

    use super::*;

    fn simulation(changes: &[(Effect, Effect)], denied: u64) -> Simulation {
        let change = |(from, to): &(Effect, Effect)| Change {
            from: *from,
            from_confine: None,
            to: *to,
            to_confine: None,
            count: 1,
            examples: Vec::new(),
        };
        Simulation {
            denied_now_allowed: Vec::new(),
            denied_now_allowed_count: denied,
            changes: changes.iter().map(change).collect(),
            total: 9,
            unchanged: 1,
            risk_changed: 0,
            rule_changed: 0,
            prompts_saved: 0,
            prompts_added: 0,
            median_decision_seconds: None,
            human_minutes_saved: None,
        }
    }

    #[test]
    fn ci_fails_on_what_it_was_told_to_fail_on() {
        let fails = |simulation: &Simulation| {
            [FailOn::Denied, FailOn::Loosened, FailOn::Any].map(|on| failed(simulation, on))
        };
        assert_eq!(fails(&simulation(&[], 0)), [false, false, false]);
        assert_eq!(
            fails(&simulation(&[(Effect::Allow, Effect::Hold), (Effect::Hold, Effect::Deny)], 0)),
            [false, false, true]
        );
        assert_eq!(fails(&simulation(&[(Effect::Deny, Effect::Hold)], 0)), [false, true, true]);
        assert_eq!(fails(&simulation(&[(Effect::Hold, Effect::Allow)], 0)), [false, true, true]);
        assert_eq!(fails(&simulation(&[(Effect::Hold, Effect::Allow)], 1)), [true, true, true]);
        let confined = |from, to| {
            let mut simulation = simulation(&[(Effect::Allow, Effect::Allow)], 0);
            (simulation.changes[0].from_confine, simulation.changes[0].to_confine) = (from, to);
            simulation
        };
        let workspace = Some(Confine::Workspace);
        assert_eq!(
            fails(&confined(workspace, None)),
            [false, true, true],
            "it ran confined, and would not now"
        );
        assert_eq!(fails(&confined(None, workspace)), [false, false, true]);
    }
}

//! `placet doctor`: is everything in place, and does a no really block? Proved with the hook itself, not assumed.

use std::{process::ExitCode, time::Duration};

use placet_client::{Client, CreateOptions, DEFAULT_URL, Error};
use placet_core::{Create, Effect, Kind, Record, State};
use placet_hooks::Agent;
use serde::Serialize;
use serde_json::json;

use crate::{
    cli::{DoctorArgs, Global},
    exit::{bring_back, usage},
    output::{self, paint, safe},
};

mod hooks;
mod proof;
mod prove;
mod settings;
mod stand_in;

/// How long an unreachable server is tried.
const OUTAGE: Duration = Duration::from_secs(3);
/// Clocks further apart than this confuse people who read deadlines; nothing of ours depends on them.
const SKEW: Duration = Duration::from_secs(30);

/// How a check ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Verdict {
    Good,
    /// It works, and somebody should know something.
    Warning,
    Bad,
    /// There was nothing to check.
    Skipped,
}

/// One check.
#[derive(Debug, Clone, Serialize)]
struct Check {
    name: String,
    verdict: Verdict,
    detail: String,
}

impl Check {
    fn new(name: impl Into<String>, verdict: Verdict, detail: impl Into<String>) -> Self {
        Self { name: name.into(), verdict, detail: detail.into() }
    }
}

/// Whether `placet run` works on this machine. Where it does not, commands are held, so it is no fault.
#[cfg(target_os = "linux")]
fn confinement() -> Check {
    let probe = placet_confine::probe();
    let verdict = if probe.works { Verdict::Good } else { Verdict::Warning };
    let mut sentences = probe.sentences;
    let proven = crate::hook::confine::proven();
    if !proven.is_empty() {
        let proven: Vec<String> = proven.into_iter().collect();
        sentences.push(format!("Seen to run what their hook hands them: {}.", proven.join("; ")));
    }
    Check::new("confinement", verdict, sentences.join(" "))
}

#[cfg(not(target_os = "linux"))]
fn confinement() -> Check {
    Check::new(
        "confinement",
        Verdict::Warning,
        "Commands cannot be confined on this system, so they are held.",
    )
}

/// Checks everything, says what it found, and ends with 1 if something is wrong.
pub(crate) async fn run(args: &DoctorArgs, global: &Global) -> anyhow::Result<ExitCode> {
    let token = match &args.token_file {
        None => std::env::var("PLACET_TOKEN").unwrap_or_default(),
        Some(file) => std::fs::read_to_string(file)
            .map_err(|error| usage(format!("`--token-file`: cannot read {}: {error}", file.display())))?,
    };
    let url = global.url.clone().filter(|url| !url.is_empty()).unwrap_or_else(|| DEFAULT_URL.to_owned());
    let outage = args.give_up.map_or(OUTAGE, |sooner| sooner.min(OUTAGE));
    let client = Client::new(&url, token.trim())?.with_outage_budget(outage);
    if args.confirm_restore {
        client.confirm_restore().await?;
        output::line("confirmed; the ledger says by whom")?;
        return Ok(ExitCode::SUCCESS);
    }
    let agents = args.agent.map_or_else(|| Agent::ALL.to_vec(), |agent| vec![agent]);

    let mut checks = Vec::new();
    if client.sends_key_in_the_clear() {
        checks.push(Check::new("transport", Verdict::Warning, crate::verbs::in_the_clear(client.url())));
    }
    let server = server(&client, token.trim()).await;
    let reached = server.iter().all(|check| check.verdict != Verdict::Bad);
    checks.extend(server);
    let hooks = hooks::installed(&agents);
    let prove = prove::wanted(args, &hooks);
    checks.extend(hooks);
    checks.extend(proof::all(&agents, args.give_up).await?);
    if let Some(agents) = prove {
        checks.extend(prove::all(&agents, reached, &client).await?);
    }
    checks.push(confinement());

    let bad = checks.iter().filter(|check| check.verdict == Verdict::Bad).count();
    let warnings = checks.iter().filter(|check| check.verdict == Verdict::Warning).count();
    if global.json {
        output::json(&json!({ "healthy": bad == 0, "url": client.url(), "checks": checks }))?;
    } else {
        for check in &checks {
            output::line(&shown(check))?;
        }
        let summary = match (bad, warnings) {
            (0, 0) => "Everything is well.".to_owned(),
            (0, warnings) => format!("Works, with {warnings} things to know."),
            (bad, _) => format!("{bad} things are wrong."),
        };
        output::line(&format!("\n{summary}"))?;
    }
    Ok(if bad == 0 { ExitCode::SUCCESS } else { ExitCode::from(crate::exit::ERROR) })
}

fn shown(check: &Check) -> String {
    let (word, style) = match check.verdict {
        Verdict::Good => ("good   ", output::GOOD),
        Verdict::Warning => ("warning", output::WARN),
        Verdict::Bad => ("bad    ", output::BAD),
        Verdict::Skipped => ("-      ", output::DIM),
    };
    format!("{}  {}: {}", paint(style, word), check.name, safe(&check.detail))
}

/// The server, the key and the policy, as a hook finds them.
async fn server(client: &Client, token: &str) -> Vec<Check> {
    let mut checks = Vec::new();
    match client.health().await {
        Ok(health) => {
            let text = |name: &str| {
                health.ready.get(name).and_then(serde_json::Value::as_str).unwrap_or("?").to_owned()
            };
            checks.push(Check::new("server", Verdict::Good, format!("answers at {}", client.url())));
            let level = format!("{}: {}", text("database"), text("durability"));
            checks.push(Check::new("durability", Verdict::Good, level));
            let warnings = health.ready.get("warnings").and_then(serde_json::Value::as_array);
            for warning in warnings.into_iter().flatten().filter_map(serde_json::Value::as_str) {
                checks.push(Check::new("server", Verdict::Warning, warning));
            }
        }
        Err(Error::Problem(problem)) if problem.status == 403 => {
            checks.push(Check::new("server", Verdict::Good, format!("answers at {}", client.url())));
            let detail =
                "not told to other machines; set `server.public_health` on the server to see it here";
            checks.push(Check::new("durability", Verdict::Skipped, detail));
        }
        Err(Error::Problem(problem)) if problem.status == 503 => {
            let reason = problem.document.get("reason").and_then(serde_json::Value::as_str);
            checks.push(Check::new(
                "server",
                Verdict::Bad,
                format!("not ready: {}", reason.unwrap_or("it does not say why")),
            ));
        }
        Err(error) => {
            let detail = format!("{error}. {}", bring_back(client.url()));
            checks.push(Check::new("server", Verdict::Bad, detail));
            return checks;
        }
    }
    match client.has_dashboard().await {
        Ok(true) => checks.push(Check::new("dashboard", Verdict::Good, client.url())),
        Ok(false) => {
            let detail = "this server was built without it; the command line and plain pages work";
            checks.push(Check::new("dashboard", Verdict::Warning, detail));
        }
        Err(error) => checks.push(Check::new("dashboard", Verdict::Warning, error.to_string())),
    }
    checks.extend(asking(client, token).await);
    checks
}

/// Asks for something harmless and takes it back: that shows key, role, policy and clock at once.
async fn asking(client: &Client, token: &str) -> Vec<Check> {
    let mut create = Create::new(Kind::Action, "doctor");
    create.tool = Some("placet_doctor".to_owned());
    create.arguments = Some(serde_json::Map::new());
    create.summary = Some("`placet doctor` looks whether it may ask; withdrawn at once".to_owned());
    create.expires_in = Some("1m".to_owned());
    let (before, asked) = (output::now(), client.create(&create, CreateOptions::default()).await);
    let after = output::now();
    let record = match asked {
        Ok(record) => record,
        Err(error) => {
            let detail = match &error {
                Error::Problem(problem) if problem.status == 401 && token.is_empty() => {
                    "PLACET_TOKEN is not set; make a key with `placet key new --role agent --name NAME`"
                        .to_owned()
                }
                Error::Problem(problem) if problem.status == 403 => {
                    format!("{problem}. Hooks need the key of an agent")
                }
                error => error.to_string(),
            };
            return vec![Check::new("key", Verdict::Bad, detail)];
        }
    };
    let mut checks = Vec::new();
    let how = if token.is_empty() { " (no key: a development server)" } else { "" };
    checks.push(Check::new("key", Verdict::Good, format!("works, as the agent `{}`{how}", record.agent)));
    checks.push(policy(&record));
    let skew = if record.created_at < before {
        before.since(record.created_at)
    } else {
        record.created_at.since(after)
    };
    let verdict = if skew > SKEW { Verdict::Warning } else { Verdict::Good };
    checks.push(Check::new("clock", verdict, format!("{:.1} s apart from the server's", skew.as_secs_f64())));
    if matches!(record.state, State::Pending | State::Approved) {
        // It would expire by itself; nothing can be run with it.
        let _ = client.cancel(record.id, Some("placet doctor is done")).await;
    }
    checks
}

fn policy(record: &Record) -> Check {
    let verdict = &record.verdict;
    let rule =
        if verdict.rule.is_empty() { "its defaults".to_owned() } else { format!("`{}`", verdict.rule) };
    let version: String = verdict.policy.chars().take(19).collect();
    let detail = format!("{version}: a tool it has never heard of meets {} ({rule})", verdict.effect);
    let judged = if verdict.effect == Effect::Allow { Verdict::Warning } else { Verdict::Good };
    Check::new("policy", judged, detail)
}

//! `placet demo`: a server in a temporary folder, with a scripted agent that makes one request of each kind, or a story.

use std::{path::Path, process::ExitCode};

use anyhow::Context as _;
use data_encoding::BASE32_DNSSEC;
use placet_client::Client;
use placet_core::Role;
use placet_server::ListenAddress;
use serde_json::json;
use tokio::task::JoinSet;

use crate::{
    cli::{DemoArgs, DemoStory},
    output::{self, NAME, STRONG, json_line, paint},
    serve::{self, NamedPolicy, RunningServer, StartOptions},
};

mod agent;
mod attack;
mod auto;
mod day;
mod payment;
mod script;
mod stage;

use self::stage::Stage;

const PORT: u16 = 4000;
/// The demo's policy.
const POLICY: &str = include_str!("demo/policy.toml");

/// Runs until Ctrl-C, or with `--auto` and `--fast` until everything is decided.
pub(crate) async fn run(args: DemoArgs, json: bool) -> anyhow::Result<ExitCode> {
    let folder = tempfile::Builder::new().prefix("placet-demo-").tempdir().context("no temporary folder")?;
    let data = args.keep.clone().unwrap_or_else(|| folder.path().join("data"));
    let bootstrap = secret()?;
    let running = start(&args, &data, &bootstrap).await?;
    let played = async {
        match args.story {
            Some(story) => tell(story, &running.url, &bootstrap, folder.path(), args.fast, json).await,
            None => play(&running.url, &bootstrap, args.auto, json).await,
        }
    };
    // In every case the server is stopped before its folder is removed.
    let result = tokio::select! {
        result = played => result,
        _ = tokio::signal::ctrl_c() => Ok(()),
    };
    running.stop().await;
    if !json && !args.auto && !args.fast {
        output::line(&match &args.keep {
            Some(kept) => format!("\nStopped. The demo's data is in {}.", kept.display()),
            None => "\nStopped. The demo's data is gone with it.".to_owned(),
        })?;
    }
    result.map(|()| ExitCode::SUCCESS)
}

/// A story, and then the server until Ctrl-C, so that its traces can be looked at.
async fn tell(
    story: DemoStory,
    url: &str,
    bootstrap: &str,
    folder: &Path,
    fast: bool,
    json: bool,
) -> anyhow::Result<()> {
    let mut stage = Stage::new(url, bootstrap, folder.to_owned(), fast, json).await?;
    stage.admin.put_person("you", &[Role::Reviewer, Role::Admin, Role::Auditor], &[]).await?;
    match story {
        DemoStory::Day => day::play(&mut stage).await?,
        DemoStory::Payment => payment::play(&mut stage).await?,
        DemoStory::Attack => attack::play(&mut stage).await?,
    }
    if !fast {
        std::future::pending::<()>().await;
    }
    Ok(())
}

/// Starts the server: on the given port, on 4000, or on a free port if 4000 is taken.
async fn start(args: &DemoArgs, data: &Path, bootstrap: &str) -> anyhow::Result<RunningServer> {
    let policy = match args.story {
        Some(DemoStory::Day) => NamedPolicy::read("preset:coding-agent")?,
        Some(DemoStory::Payment) => NamedPolicy::built_in("payment", payment::POLICY)?,
        Some(DemoStory::Attack) | None => NamedPolicy::built_in("demo", POLICY)?,
    };
    let at = |port: u16| StartOptions {
        data: data.to_owned(),
        listen: ListenAddress::loopback(port),
        bootstrap_token: bootstrap.to_owned(),
        policy: policy.clone(),
    };
    if let Some(port) = args.port {
        serve::start(at(port)).await
    } else {
        let taken = ListenAddress::loopback(PORT).bind().await.is_err();
        serve::start(at(if taken { 0 } else { PORT })).await
    }
}

/// The whole play.
async fn play(url: &str, bootstrap: &str, auto: bool, json: bool) -> anyhow::Result<()> {
    let admin = Client::new(url, bootstrap)?;
    let reviewer = admin.create_key(Role::Reviewer, "you", None).await?;
    admin.put_person("you", &[Role::Reviewer, Role::Admin, Role::Auditor], &[]).await?;
    let link = admin.person_link("you").await?;
    let second = admin.create_key(Role::Reviewer, "ben", None).await?;
    let robot = admin.create_key(Role::Agent, "demo-agent", None).await?;
    if json {
        let ready = json!({"event": "ready", "url": url, "reviewer": reviewer.key, "second": second.key,
            "agent": robot.key, "admin": bootstrap, "sign_in": link.url});
        output::line(&json_line(&ready))?;
    } else {
        welcome(url, &link.url, [&reviewer.key, &second.key, &robot.key, bootstrap], auto)?;
    }
    let robot = Client::new(url, &robot.key)?;
    // Dropping the set ends the scripted reviewer.
    let mut helpers = JoinSet::new();
    if auto {
        helpers.spawn(auto::review(Client::new(url, &reviewer.key)?));
        helpers.spawn(auto::second(Client::new(url, &second.key)?));
    }
    let story = agent::Story { client: robot, json };
    if !auto {
        let reminder = format!("  {} {}", paint(STRONG, "Sign in, once:"), paint(NAME, &link.url));
        story.for_ever(&reminder).await?;
        return Ok(());
    }
    let decided = story.once().await?;
    if !json {
        output::line(&format!("\nAll {decided} requests were decided, and what was approved ran once."))?;
    }
    Ok(())
}

fn welcome(url: &str, link: &str, keys: [&str; 4], auto: bool) -> anyhow::Result<()> {
    let [reviewer, second, robot, admin] = keys;
    let head = |text: &str| paint(STRONG, text);
    output::line(&head("Placet demo"))?;
    output::line(&format!("A server runs at {url}. It contains only this demo."))?;
    if auto {
        output::line("Two scripted reviewers decide whatever policy holds.\n")?;
        return Ok(());
    }
    output::line(&format!("\n{}", head("Be the reviewer: open this in a browser (it works once):")))?;
    output::line(&format!("  {}", paint(NAME, link)))?;
    output::line(&format!("\n{}", head("Or be the reviewer in a second terminal:")))?;
    for line in [
        format!("export PLACET_URL={url}"),
        format!("export PLACET_TOKEN={reviewer}"),
        "placet inbox --watch      # j/k to move, a to approve, d to deny, ? for all keys".to_owned(),
    ] {
        output::line(&format!("  {}", paint(NAME, &line)))?;
    }
    output::line("or one by one:")?;
    for line in [
        "placet inbox",
        "placet show ID",
        "placet approve ID",
        "placet answer ID VALUE",
        "placet deny ID --reason 'not today'",
    ] {
        output::line(&format!("  {}", paint(NAME, line)))?;
    }
    output::line("One payment takes two people. Be the second one, too:")?;
    output::line(&format!("  {}", paint(NAME, &format!("PLACET_TOKEN={second} placet inbox --watch"))))?;
    output::line(&format!("\n{}", head("Policy says what passes, what waits and for whom:")))?;
    for line in [
        "placet policy show > policy.toml".to_owned(),
        "placet policy explain ID".to_owned(),
        "placet approve ID --remember exact --for 1h".to_owned(),
        format!("PLACET_TOKEN={admin} placet policy put policy.toml"),
    ] {
        output::line(&format!("  {}", paint(NAME, &line)))?;
    }
    output::line(&format!("\n{}", head("Or be an agent yourself, in a third:")))?;
    let ask = "placet request --tool send_mail --args '{\"to\":\"ann@example.com\"}'";
    output::line(&format!("  {}", paint(NAME, &format!("PLACET_URL={url} PLACET_TOKEN={robot} {ask}"))))?;
    output::line(&format!("\n{} (Ctrl-C ends the demo)\n", head("What the agent does:")))?;
    Ok(())
}

#[expect(clippy::disallowed_methods, reason = "the demo's own credential is made before there is a gate")]
fn secret() -> anyhow::Result<String> {
    let mut bytes = [0_u8; 25];
    getrandom::fill(&mut bytes)
        .map_err(|error| anyhow::anyhow!("the operating system gave no randomness: {error}"))?;
    Ok(BASE32_DNSSEC.encode(&bytes))
}

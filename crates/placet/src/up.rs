//! `placet up`: the server of one person, on data of their own, with the dashboard open and signed in.

mod browser;
mod own_user;
mod place;
mod service;

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
    time::Duration,
};

use placet_server::{ListenAddress, ListenError};
use placet_store::StoreError;
use serde_json::json;

pub(crate) use self::{own_user::run_command as own_user, place::usual};
use crate::{
    cli::UpArgs,
    config::Config,
    exit::usage,
    output::{self, NAME, STRONG, json_line, paint, safe},
    serve::{self, Greeting, NamedPolicy},
    socket::{self, LinkRequest, OwnerAnswer, OwnerRequest, Reply},
};

/// How often a server that starts or stops at this moment is asked, a tenth of a second apart.
const TRIES: u32 = 50;

/// What was started, or is to be started.
#[derive(Debug)]
struct Started {
    data: PathBuf,
    state: Option<PathBuf>,
    listen: Option<ListenAddress>,
    policy: String,
}

impl Started {
    /// The command line of the same server as a service.
    fn arguments(&self) -> anyhow::Result<Vec<String>> {
        let own = std::fs::canonicalize(std::env::current_exe()?)?;
        let mut words: Vec<PathBuf> = vec![own];
        let mut push = |name: &str, value: &Path| words.extend([name.into(), value.to_owned()]);
        push("up", Path::new("--service"));
        push("--data", &self.data);
        if let Some(state) = &self.state {
            push("--state", &std::path::absolute(state)?);
        }
        if let Some(listen) = self.listen {
            push("--listen", Path::new(&listen.to_string()));
        }
        // A file of the current folder is another one for a service.
        let file = !self.policy.starts_with("preset:");
        let policy = if file { std::path::absolute(&self.policy)? } else { PathBuf::from(&self.policy) };
        push("--policy", &policy);
        let text = |word: PathBuf| {
            let text = word.into_os_string().into_string().ok();
            text.filter(|text| !text.chars().any(char::is_control)).ok_or_else(|| {
                usage("a service cannot name a path that is no text, or that has control characters")
            })
        };
        words.into_iter().map(text).collect()
    }
}

/// `placet up`.
pub(crate) async fn run(args: UpArgs) -> anyhow::Result<ExitCode> {
    if args.own_user {
        return own_user(args).await;
    }
    if args.not_at_login {
        return service::remove();
    }
    let data = place::data(args.data.clone())?;
    place::check(&data)?;
    let started = Started {
        data: data.clone(),
        state: args.state.clone(),
        listen: args.listen,
        policy: args.policy.clone(),
    };
    if args.at_login {
        return at_login(&args, &started).await;
    }
    if let Some(url) = running(&data, &args.person).await? {
        return show_running(&args, &data, &url).await;
    }
    match start(&args, &data).await {
        Ok(code) => Ok(code),
        Err(error) => match another(&args, &data, &error).await? {
            Some(url) => show_running(&args, &data, &url).await,
            None => Err(explained(error, &args).await),
        },
    }
}

/// Starts the server in this process, and returns when it was stopped.
async fn start(args: &UpArgs, data: &Path) -> anyhow::Result<ExitCode> {
    let mut config = Config::load(None, &[])?;
    if let Some(listen) = args.listen {
        config.server.listen = listen;
    }
    if let Some(state) = &args.state {
        config.storage.state = state.clone();
    }
    config.storage.data = data.to_owned();
    // This terminal belongs to a person. PLACET_LOG shows more.
    "warn".clone_into(&mut config.log.level);
    // A file that made the first policy may be gone later.
    let used = data.join("placet.db").exists();
    let policy = if used && !args.policy.starts_with("preset:") && !Path::new(&args.policy).exists() {
        None
    } else {
        Some(NamedPolicy::first(&args.policy)?)
    };
    let ended = serve::run_for(&config, policy, async |greeting| greet(args, data, greeting).await).await;
    browser::forget(data);
    ended
}

/// What is said when the server runs.
async fn greet(args: &UpArgs, data: &Path, greeting: Greeting) -> anyhow::Result<()> {
    let pages = greeting.pages.as_str();
    if args.service {
        if greeting.lost().is_none() {
            greeting.first_person().await?;
        }
        return Ok(output::line(&format!("listening on {pages}"))?);
    }
    let shown = data.display();
    if let Some(why) = greeting.lost() {
        return Err(usage(format!(
            "the database in {shown} lost entries that were acknowledged ({why}): `placet recover --dry-run --data {shown}` says which"
        )));
    }
    let policy = greeting.policy().await?;
    let url = greeting.link(&args.person).await?;
    let opened = !args.no_browser && browser::open(data, &url).await;
    if args.json {
        let mut ready =
            json!({"event": "ready", "url": pages, "data": data, "policy": policy, "opened": opened});
        if !opened && let Some(map) = ready.as_object_mut() {
            map.insert("sign_in".to_owned(), url.into());
        }
        return Ok(output::line(&json_line(&ready))?);
    }
    output::line(&format!("{} at {}", paint(STRONG, "Placet runs"), paint(NAME, pages)))?;
    say_link(opened, &url)?;
    output::line(&format!("Data     {}", safe(&data.display().to_string())))?;
    output::line(&format!("Policy   {}", safe(&policy)))?;
    output::line(&format!("User     {}", place::guard(rustix::process::geteuid().as_raw())))?;
    output::line("Stop     Ctrl-C")?;
    Ok(())
}

fn say_link(opened: bool, url: &str) -> anyhow::Result<()> {
    let lead = if opened {
        "It is open in your browser. If no page came, open this (it works once):"
    } else {
        "Open this in a browser (it works once):"
    };
    output::line(&format!("{lead}\n  {}", paint(NAME, url)))?;
    Ok(())
}

/// A link of the server that runs on this data, if one does.
async fn running(data: &Path, person: &str) -> anyhow::Result<Option<String>> {
    let request = OwnerRequest::Link(LinkRequest { link: person.to_owned() });
    match socket::ask(data, &request).await? {
        Reply::Answered(OwnerAnswer::Link { url, .. }) => Ok(Some(url)),
        Reply::Answered(OwnerAnswer::Refused(why)) => {
            Err(usage(format!("Placet runs already, but {why}: name a person with --as")))
        }
        Reply::Answered(_) => anyhow::bail!("the running server gave an unexpected answer"),
        Reply::NotAsked(_) => Ok(None),
    }
}

/// The server that was started at the same moment, if that is why ours was not.
async fn another(args: &UpArgs, data: &Path, error: &anyhow::Error) -> anyhow::Result<Option<String>> {
    let locked = matches!(error.downcast_ref(), Some(StoreError::Locked(_)));
    let taken = error.downcast_ref::<ListenError>().is_some_and(ListenError::is_taken);
    let tries = match (locked, taken && data.exists()) {
        (true, _) => TRIES,
        // A server takes its port first, and then its data.
        (_, true) => TRIES / 5,
        _ => 0,
    };
    for _ in 0..tries {
        if let Some(url) = running(data, &args.person).await? {
            return Ok(Some(url));
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    Ok(None)
}

/// Opens the server that runs already.
async fn show_running(args: &UpArgs, data: &Path, url: &str) -> anyhow::Result<ExitCode> {
    let pages = url.split("/sign-in/").next().unwrap_or(url);
    let opened = !args.no_browser && !args.service && browser::open(data, url).await;
    if args.service {
        return Err(usage(format!("Placet runs already on {}, at {pages}", data.display())));
    }
    if args.json {
        let mut said = json!({"event": "running", "url": pages, "data": data, "opened": opened});
        if !opened && let Some(map) = said.as_object_mut() {
            map.insert("sign_in".to_owned(), url.into());
        }
        output::line(&json_line(&said))?;
        return Ok(ExitCode::SUCCESS);
    }
    output::line(&format!("{} at {}", paint(STRONG, "Placet runs already"), paint(NAME, pages)))?;
    say_link(opened, url)?;
    Ok(ExitCode::SUCCESS)
}

/// `placet up --at-login`.
async fn at_login(args: &UpArgs, started: &Started) -> anyhow::Result<ExitCode> {
    if !service::install(started)? {
        output::line(&format!(
            "The service manager could not be reached. Run this once it can be:\n  {}",
            service::BY_HAND
        ))?;
        return Ok(ExitCode::FAILURE);
    }
    for _ in 0..TRIES {
        if let Some(url) = running(&started.data, &args.person).await? {
            let code = show_running(args, &started.data, &url).await?;
            output::line(&format!("User     {}", place::guard(rustix::process::geteuid().as_raw())))?;
            output::line("Stop     placet up --not-at-login")?;
            return Ok(code);
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    output::line("It has not answered yet. Its log: journalctl --user -u placet.service")?;
    Ok(ExitCode::FAILURE)
}

/// An error of the start, with what to do about it.
async fn explained(error: anyhow::Error, args: &UpArgs) -> anyhow::Error {
    if error.downcast_ref::<ListenError>().is_some_and(ListenError::is_taken) {
        let address = args.listen.map_or_else(|| "127.0.0.1:4000".to_owned(), |listen| listen.to_string());
        let what = if is_placet(&address).await {
            "a Placet with other data, or of another user, and it was not opened"
        } else {
            "another program"
        };
        return usage(format!(
            "{address} is taken by {what}. Choose another port, such as `placet up --listen 127.0.0.1:4100`, and set PLACET_URL to it for your agents"
        ));
    }
    if let Some(StoreError::Newer { .. }) = error.downcast_ref() {
        return error.context("this folder was used by a newer version of Placet");
    }
    error
}

/// Whether a Placet answers there.
async fn is_placet(address: &str) -> bool {
    let Ok(client) = placet_client::Client::new(&format!("http://{address}"), "nobody") else { return false };
    let client = client.with_outage_budget(Duration::ZERO);
    let asked = tokio::time::timeout(Duration::from_secs(2), client.health()).await;
    asked.is_ok_and(|health| health.is_ok_and(|health| health.ready.get("database").is_some()))
}

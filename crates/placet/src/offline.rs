//! Commands on the database itself: first keys, verification, backup and restore.

mod restored;

use std::{
    io::BufRead as _,
    path::{Path, PathBuf},
    process::ExitCode,
    sync::Arc,
};

use anyhow::{Context as _, bail};
use placet_client::SignInLink;
use placet_core::counted;
use placet_gate::{Gate, Settings, SystemClock, SystemEntropy};
use placet_ledger::Chain;
use placet_store::{Location, Options, Progress, Store, StoreError, Verified, VerifyError};
use restored::RestoredAccess;
use serde_json::{json, value::RawValue};

use crate::{
    cli::{
        AgentConfineArgs, AgentRootsArgs, BackupArgs, Global, KeyNewArgs, LedgerVerifyArgs, PersonPlaceArgs,
        Place, RestoreArgs,
    },
    config::Config,
    exit::usage,
    output::{self, json_line, safe},
    secret, serve,
    socket::{
        self, ConfineRequest, KeyRequest, LinkRequest, OwnerAnswer, OwnerRequest, PasswordRequest, Reply,
        RootsRequest,
    },
    up,
    verbs::{
        agents::{say_confine, say_roots},
        people::say_link,
    },
};

/// Where the database is: as given, where `placet serve` would look, or else the folder of `placet up`.
pub(crate) fn location(place: Place) -> anyhow::Result<Location> {
    let (data, database) = (place.data, place.database);
    Ok(match (data, database) {
        (Some(data), _) => Location::Folder(data),
        (None, Some(url)) => Location::Postgres(url),
        (None, None) => match serve::location(&Config::load(None, &[])?) {
            Location::Folder(here) if !here.is_dir() => {
                Location::Folder(up::usual().filter(|own| own.is_dir()).unwrap_or(here))
            }
            location => location,
        },
    })
}

/// Where the server remembers acknowledged entries: as given, or its default.
pub(crate) fn state(named: Option<PathBuf>) -> anyhow::Result<Option<PathBuf>> {
    Ok(match named {
        Some(state) => Some(state),
        None => Config::load(None, &[])?.storage.state(),
    })
}

/// `placet key new`.
pub(crate) async fn key_new(args: KeyNewArgs) -> anyhow::Result<ExitCode> {
    let location = location(args.place)?;
    let request =
        OwnerRequest::Key(KeyRequest { role: args.role, name: args.name.clone(), owner: args.owner });
    let asked = match &location {
        Location::Folder(data) => Some(socket::ask(data, &request).await?),
        Location::Postgres(_) => None,
    };
    // A misspelt folder, or one that no server uses, must not be taken for the folder of a server.
    let made = match (&location, &asked) {
        (Location::Folder(data), Some(Reply::NotAsked(_))) if !data.is_dir() => Some(data.clone()),
        _ => None,
    };
    let answer = match asked {
        Some(Reply::Answered(answer)) => answer,
        Some(Reply::NotAsked(why)) => alone(location, request, Some(&why)).await?,
        None => alone(location, request, None).await?,
    };
    if let Some(data) = made {
        output::to_stderr(&format!(
            "There was no data in {}, so a new database was made. Only a server on this data knows this key.",
            safe(&data.display().to_string())
        ));
    }
    match answer {
        OwnerAnswer::Refused(why) => Err(usage(why)),
        OwnerAnswer::Made { id, key } if args.json => {
            output::line(&json_line(&json!({"id": id, "role": args.role, "name": args.name, "key": key})))?;
            Ok(ExitCode::SUCCESS)
        }
        OwnerAnswer::Made { key, .. } => {
            output::line(&key)?;
            output::to_stderr(&format!(
                "This key of `{}` is shown once; keep it. Use it as PLACET_TOKEN.",
                safe(&args.name)
            ));
            Ok(ExitCode::SUCCESS)
        }
        _ => bail!("the running server gave an unexpected answer"),
    }
}

/// `placet person link`, as the owner of the data.
pub(crate) async fn person_link(args: PersonPlaceArgs, global: &Global) -> anyhow::Result<ExitCode> {
    let request = OwnerRequest::Link(LinkRequest { link: args.name.clone() });
    let (answer, running) = ask_or_open(args.place, request).await?;
    match answer {
        OwnerAnswer::Link { url, expires_at } => {
            let base = match global.url.as_deref().filter(|url| !url.is_empty()) {
                _ if running => "",
                Some(url) => url.trim_end_matches('/'),
                None => placet_client::DEFAULT_URL,
            };
            let link = SignInLink { url: format!("{base}{url}"), expires_at };
            say_link(&args.name, &link, global.json)?;
            Ok(ExitCode::SUCCESS)
        }
        OwnerAnswer::Refused(why) => Err(usage(why)),
        _ => bail!("the running server gave an unexpected answer"),
    }
}

/// `placet person password`, as the owner of the data.
pub(crate) async fn person_password(args: PersonPlaceArgs, json: bool) -> anyhow::Result<ExitCode> {
    let password = secret::read(&format!("New password of {}", safe(&args.name)))?;
    let request = OwnerRequest::Password(PasswordRequest { person: args.name.clone(), password });
    match ask_or_open(args.place, request).await?.0 {
        OwnerAnswer::Set if json => {
            output::line(&json_line(&json!({"name": args.name, "password_set": true})))?;
            Ok(ExitCode::SUCCESS)
        }
        OwnerAnswer::Set => {
            output::line(&format!(
                "{} signs in with the new password; all their sessions have ended",
                safe(&args.name)
            ))?;
            Ok(ExitCode::SUCCESS)
        }
        OwnerAnswer::Refused(why) => Err(usage(why)),
        _ => bail!("the running server gave an unexpected answer"),
    }
}

/// `placet agent roots`, as the owner of the data.
pub(crate) async fn agent_roots(args: AgentRootsArgs, json: bool) -> anyhow::Result<ExitCode> {
    let roots = args.folders()?;
    let show = roots.is_empty() && !args.clear;
    let request = OwnerRequest::Roots(RootsRequest { agent: args.name, roots, add: args.add || show });
    match ask_or_open(args.place, request).await?.0 {
        OwnerAnswer::Roots { agent, roots } => {
            say_roots(&agent, &roots, json)?;
            Ok(ExitCode::SUCCESS)
        }
        OwnerAnswer::Refused(why) => Err(usage(why)),
        _ => bail!("the running server gave an unexpected answer"),
    }
}

/// `placet agent confine`, as the owner of the data.
pub(crate) async fn agent_confine(args: AgentConfineArgs, json: bool) -> anyhow::Result<ExitCode> {
    let request = OwnerRequest::Confine(ConfineRequest { agent: args.name, confine: !args.off });
    match ask_or_open(args.place, request).await?.0 {
        OwnerAnswer::Confine { agent, confine } => {
            say_confine(&agent, confine, json)?;
            Ok(ExitCode::SUCCESS)
        }
        OwnerAnswer::Refused(why) => Err(usage(why)),
        _ => bail!("the running server gave an unexpected answer"),
    }
}

/// Opens a folder to the agent of this key, if a server runs on this user's data. Returns the agent's name.
pub(crate) async fn open_folder(place: Place, key: &str, folder: String) -> anyhow::Result<Option<String>> {
    let Location::Folder(data) = location(place)? else { return Ok(None) };
    let request = OwnerRequest::Roots(RootsRequest { agent: key.to_owned(), roots: vec![folder], add: true });
    match socket::ask(&data, &request).await? {
        Reply::Answered(OwnerAnswer::Roots { agent, .. }) => Ok(Some(agent)),
        Reply::Answered(OwnerAnswer::Refused(why)) => Err(usage(why)),
        Reply::Answered(_) | Reply::NotAsked(_) => Ok(None),
    }
}

/// Marks the agent of this key for confined calls, in the same way.
pub(crate) async fn mark(place: Place, key: &str) -> anyhow::Result<Option<String>> {
    let Location::Folder(data) = location(place)? else { return Ok(None) };
    let request = OwnerRequest::Confine(ConfineRequest { agent: key.to_owned(), confine: true });
    match socket::ask(&data, &request).await? {
        Reply::Answered(OwnerAnswer::Confine { agent, .. }) => Ok(Some(agent)),
        Reply::Answered(OwnerAnswer::Refused(why)) => Err(usage(why)),
        Reply::Answered(_) | Reply::NotAsked(_) => Ok(None),
    }
}

/// Asks the server that runs on the data, or opens the data itself. Returns which.
async fn ask_or_open(place: Place, request: OwnerRequest) -> anyhow::Result<(OwnerAnswer, bool)> {
    let location = location(place)?;
    let Location::Folder(data) = &location else {
        return Ok((alone(location, request, None).await?, false));
    };
    let why = match socket::ask(data, &request).await? {
        Reply::Answered(answer) => return Ok((answer, true)),
        Reply::NotAsked(why) => why,
    };
    if !data.is_dir() {
        return Err(usage(format!(
            "there is no data in {}: name it with --data or --database, or set PLACET_TOKEN to an admin's key",
            data.display()
        )));
    }
    Ok((alone(location, request, Some(&why)).await?, false))
}

/// Opens the database for this command. No server could be asked, for the given reason.
async fn alone(
    location: Location,
    request: OwnerRequest,
    not_asked: Option<&std::io::Error>,
) -> anyhow::Result<OwnerAnswer> {
    let clock = Arc::new(SystemClock::new());
    let store = match Store::open(Options::new(location, clock)).await {
        Ok(store) => Arc::new(store),
        Err(StoreError::Locked(folder)) => bail!(socket::in_use(&folder, not_asked)),
        Err(error) => return Err(error.into()),
    };
    let gate = Gate::start(store, Arc::new(SystemEntropy), Settings::default()).await?;
    let answer = socket::make(&gate, "", request).await;
    gate.close().await;
    Ok(answer)
}

/// Shows the progress of a long check, to people only.
fn progress(json: bool) -> impl FnMut(Progress) + Send {
    let mut said = 0;
    move |progress: Progress| {
        if !json && (progress.done >= said + 100_000 || (progress.done == progress.of && said > 0)) {
            said = progress.done;
            output::to_stderr(&format!("checked {} of {} entries", progress.done, progress.of));
        }
    }
}

/// `placet ledger verify`.
pub(crate) async fn ledger_verify(args: LedgerVerifyArgs) -> anyhow::Result<ExitCode> {
    let checked = match args.file {
        Some(file) if is_database(&file)? => placet_store::verify_file(&file, progress(args.json)).await,
        Some(file) => return verify_export(&file, args.json),
        None => match location(args.place)? {
            Location::Folder(data) => placet_store::verify_file(&data, progress(args.json)).await,
            Location::Postgres(url) => placet_store::verify_postgres(&url, progress(args.json)).await,
        },
    };
    match checked {
        Ok(verified) => {
            say_verified(&verified, args.json)?;
            Ok(ExitCode::SUCCESS)
        }
        Err(VerifyError::Store(error)) => Err(error.into()),
        Err(error) => {
            if args.json {
                let seq = match &error {
                    VerifyError::Bad(bad) => Some(bad.seq),
                    _ => None,
                };
                output::line(&json_line(
                    &json!({"ok": false, "bad_entry": seq, "error": error.to_string()}),
                ))?;
            } else {
                output::to_stderr(&format!(
                    "{}BAD{}: {}",
                    output::BAD,
                    output::BAD.render_reset(),
                    safe(&error.to_string())
                ));
            }
            Ok(ExitCode::from(1))
        }
    }
}

fn say_verified(verified: &Verified, json: bool) -> anyhow::Result<()> {
    if json {
        return Ok(output::line(&json_line(&json!({
            "ok": true, "entries": verified.entries, "requests": verified.requests, "payloads": verified.payloads,
            "erased": verified.erased, "epoch": verified.epoch, "head": verified.head, "older": verified.older,
        })))?);
    }
    for seq in &verified.older {
        output::line(&format!(
            "entry {seq} is older than the one before it: the clock was set back, and that was not accepted"
        ))?;
    }
    output::line(&format!(
        "{}good{}: {}, {} their rebuilt state, {}, {} erased; epoch {}, head {}",
        output::GOOD,
        output::GOOD.render_reset(),
        counted(verified.entries, "entry", "entries"),
        counted(verified.requests, "request equals", "requests equal"),
        counted(verified.payloads, "payload matches", "payloads match"),
        verified.erased,
        verified.epoch,
        verified.head,
    ))?;
    Ok(())
}

/// Whether a file is a database: a backup, or the database of a folder.
fn is_database(file: &Path) -> anyhow::Result<bool> {
    if file.is_dir() {
        return Ok(true);
    }
    let mut start = [0_u8; 16];
    let mut opened = std::fs::File::open(file)
        .map_err(|error| usage(format!("cannot open {}: {error}", file.display())))?;
    let read = std::io::Read::read(&mut opened, &mut start)?;
    Ok(start.get(..read) == Some(b"SQLite format 3\0"))
}

/// One line of an export, as `GET /v1/ledger` gives its items.
#[derive(serde::Deserialize)]
struct ExportLine {
    seq: u64,
    hash: placet_core::Digest,
    entry: Box<RawValue>,
}

/// Checks an export of the ledger alone: one item of `GET /v1/ledger` per line.
fn verify_export(file: &PathBuf, json: bool) -> anyhow::Result<ExitCode> {
    let opened = std::fs::File::open(file)
        .map_err(|error| usage(format!("cannot open {}: {error}", file.display())))?;
    let mut chain = Chain::default();
    for (number, line) in std::io::BufReader::new(opened).lines().enumerate() {
        let line = line.with_context(|| format!("line {} cannot be read", number + 1))?;
        let item: ExportLine = serde_json::from_str(&line).map_err(|error| {
            usage(format!("{} line {} is not an item of GET /v1/ledger: {error}", file.display(), number + 1))
        })?;
        if let Err(bad) = chain.check(item.seq, item.entry.get(), &item.hash) {
            if json {
                output::line(&json_line(
                    &json!({"ok": false, "bad_entry": bad.seq, "error": bad.to_string()}),
                ))?;
            } else {
                output::to_stderr(&format!(
                    "{}BAD{}: {}",
                    output::BAD,
                    output::BAD.render_reset(),
                    safe(&bad.to_string())
                ));
            }
            return Ok(ExitCode::from(1));
        }
    }
    let head = chain.head();
    if json {
        output::line(&json_line(
            &json!({"ok": true, "entries": head.seq, "epoch": head.epoch, "head": head.hash}),
        ))?;
    } else {
        output::line(&format!(
            "{}good{}: {} in the export; head {}",
            output::GOOD,
            output::GOOD.render_reset(),
            counted(head.seq, "entry", "entries"),
            head.hash
        ))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// `placet backup`.
pub(crate) async fn backup(args: BackupArgs) -> anyhow::Result<ExitCode> {
    let location = location(args.place)?;
    placet_store::backup(&location, &args.file).await?;
    let verified = placet_store::verify_file(&args.file, |_| {})
        .await
        .context("the backup was written but does not verify")?;
    if args.json {
        output::line(&json_line(
            &json!({"file": args.file, "entries": verified.entries, "requests": verified.requests, "head": verified.head}),
        ))?;
    } else {
        output::line(&format!(
            "{} holds {} and {}, and verifies",
            args.file.display(),
            counted(verified.entries, "entry", "entries"),
            counted(verified.requests, "request", "requests")
        ))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// `placet restore`.
pub(crate) async fn restore(args: RestoreArgs) -> anyhow::Result<ExitCode> {
    if !args.file.is_file() {
        return Err(usage(format!("there is no backup at {}", args.file.display())));
    }
    let (location, state) = (location(args.place)?, state(args.state)?);
    let report =
        placet_store::restore(&args.file, &location, Arc::new(SystemClock::new()), progress(args.json))
            .await?;
    let access = RestoredAccess::after(&report, location.clone(), args.revoke_keys).await?;
    if let Some(state) = &state {
        placet_store::begin_memory(&location, state).await?;
    }
    if args.json {
        let mut said = json!({
            "epoch": report.epoch, "closed": report.closed, "entries": report.verified.entries, "requests": report.verified.requests,
        });
        access.add_to(&mut said);
        output::line(&json_line(&said))?;
    } else {
        output::line(&format!(
            "restored {} into the new epoch {}; {} still open, now cancelled, revoked or unknown",
            counted(report.verified.requests, "request", "requests"),
            report.epoch,
            counted(u64::try_from(report.closed).unwrap_or(u64::MAX), "was", "were"),
        ))?;
        access.say()?;
    }
    Ok(ExitCode::SUCCESS)
}

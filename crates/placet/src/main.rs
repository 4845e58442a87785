//! `placet`: the server, and the command line for agents, reviewers and operators.

use std::process::ExitCode;

use clap::{CommandFactory, Parser};

mod cli;
mod config;
mod demo;
mod doctor;
mod exit;
mod hook;
mod offline;
mod output;
mod policy;
mod recover;
mod run;
mod secret;
mod serve;
mod socket;
mod telemetry;
mod up;
mod verbs;
mod watch;

use cli::{
    AgentCommand, Cli, Colour, Command, Global, GrantCommand, KeyCommand, LedgerCommand, PersonCommand,
    SessionCommand,
};
use verbs::Context;

// A command is allocated on a runtime thread and freed on the writer's. Without this allocator that took a quarter of
// the time.
#[global_allocator]
static MEMORY: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    // A hidden stage of `placet run`: it enters namespaces, which works before any thread exists.
    #[cfg(target_os = "linux")]
    if std::env::args_os().nth(1).is_some_and(|word| word == placet_confine::STAGE) {
        return placet_confine::stage(&std::env::args_os().skip(2).collect::<Vec<_>>());
    }
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            let arguments: Vec<String> = std::env::args().collect();
            // To the agent, a hook that was called wrongly must not look like a hook without objections.
            let misused = error.use_stderr().then(|| hook::misused(&arguments, &error.to_string())).flatten();
            return misused.unwrap_or_else(|| error.exit());
        }
    };
    match cli.global.color {
        Colour::Auto => {}
        Colour::Always => anstream::ColorChoice::Always.write_global(),
        Colour::Never => anstream::ColorChoice::Never.write_global(),
    }
    if let Command::Run(args) = &cli.command {
        return run::run(args);
    }
    let json = cli.global.json;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let result = match runtime {
        Ok(runtime) => runtime.block_on(dispatch(cli)),
        Err(error) => Err(error.into()),
    };
    result.unwrap_or_else(|error| {
        let arguments: Vec<String> = std::env::args().collect();
        hook::misused(&arguments, &format!("{error:#}")).unwrap_or_else(|| exit::failed(&error, json))
    })
}

async fn dispatch(cli: Cli) -> anyhow::Result<ExitCode> {
    let Cli { command, global } = cli;
    let json = global.json;
    // Commands that work on this machine's files or start a server. The others call a server.
    match command {
        Command::Serve(mut args) => {
            args.json = json;
            serve::run(args).await
        }
        Command::Up(mut args) => {
            args.json = json;
            up::run(*args).await
        }
        Command::Demo(args) => demo::run(args, json).await,
        Command::Key(KeyCommand::New(mut args)) => {
            args.json = json;
            offline::key_new(args).await
        }
        // The owner of the data needs no key. Everybody else asks the server.
        Command::Person(PersonCommand::Link(args)) if args.place.is_named() || !verbs::has_token() => {
            offline::person_link(args, &global).await
        }
        Command::Person(PersonCommand::Password(args)) => offline::person_password(args, json).await,
        Command::Agent(AgentCommand::Roots(args)) if args.place.is_named() || !verbs::has_token() => {
            offline::agent_roots(args, json).await
        }
        Command::Agent(AgentCommand::Confine(args)) if args.place.is_named() || !verbs::has_token() => {
            offline::agent_confine(args, json).await
        }
        Command::Ledger(LedgerCommand::Verify(mut args)) => {
            args.json = json;
            offline::ledger_verify(args).await
        }
        Command::Backup(mut args) => {
            args.json = json;
            offline::backup(args).await
        }
        Command::Restore(mut args) => {
            args.json = json;
            offline::restore(args).await
        }
        Command::Recover(mut args) => {
            args.json = json;
            recover::run(args).await
        }
        // Half of these work without a server.
        Command::Policy(command) => Ok(ExitCode::from(policy::run(command, &global).await?)),
        Command::Hook(command) => hook::run(command, &global).await,
        Command::Doctor(args) => doctor::run(&args, &global).await,
        Command::Completions { shell } => {
            clap_complete::generate(shell, &mut Cli::command(), "placet", &mut std::io::stdout());
            Ok(ExitCode::SUCCESS)
        }
        other => remote(other, &global).await,
    }
}

async fn remote(command: Command, global: &Global) -> anyhow::Result<ExitCode> {
    let context = Context::new(global)?;
    let code = match command {
        Command::Request(args) => verbs::request::run(&context, *args).await?,
        Command::Cancel(args) => verbs::later::cancel(&context, args).await?,
        Command::Inbox(args) if args.watch => watch::run(&context, &args.filters).await?,
        Command::Inbox(args) => verbs::inbox::run(&context, *args).await?,
        Command::Show(args) => verbs::show::run(&context, args).await?,
        Command::Approve(args) => verbs::decide::approve(&context, args).await?,
        Command::Edit(args) => verbs::decide::edit(&context, args).await?,
        Command::Deny(args) => verbs::decide::deny(&context, args).await?,
        Command::Answer(args) => verbs::decide::answer(&context, args).await?,
        Command::Revoke(args) => verbs::later::revoke(&context, args).await?,
        Command::Reassign(args) => verbs::later::reassign(&context, args).await?,
        Command::Resolve(args) => verbs::later::resolve(&context, args).await?,
        Command::Stats(args) => verbs::attention::stats(&context, &args).await?,
        Command::Session(SessionCommand::Summary(args)) => verbs::attention::summary(&context, &args).await?,
        Command::Freeze(args) => verbs::freeze::run(&context, &args).await?,
        Command::Unfreeze { id } => verbs::freeze::lift(&context, id.as_deref()).await?,
        Command::Key(KeyCommand::List) => verbs::keys::list(&context).await?,
        Command::Key(KeyCommand::Revoke { id, keep_votes }) => {
            verbs::keys::revoke(&context, &id, keep_votes).await?
        }
        Command::Person(PersonCommand::List) => verbs::people::list(&context).await?,
        Command::Person(PersonCommand::Set { name, roles, teams }) => {
            verbs::people::set(&context, &name, &roles, &teams).await?
        }
        Command::Person(PersonCommand::Link(args)) => verbs::people::link(&context, &args.name).await?,
        Command::Person(PersonCommand::Remove { name }) => verbs::people::remove(&context, &name).await?,
        Command::Agent(AgentCommand::List) => verbs::agents::list(&context).await?,
        Command::Agent(AgentCommand::Roots(args)) => verbs::agents::roots(&context, &args).await?,
        Command::Agent(AgentCommand::Confine(args)) => verbs::agents::confine(&context, &args).await?,
        Command::Agent(AgentCommand::Coverage(args)) => verbs::agents::coverage(&context, &args).await?,
        Command::Grant(GrantCommand::List) => verbs::grants::list(&context).await?,
        Command::Grant(GrantCommand::Revoke { id }) => verbs::grants::revoke(&context, &id).await?,
        Command::Serve(_)
        | Command::Up(_)
        | Command::Demo(_)
        | Command::Policy(_)
        | Command::Key(KeyCommand::New(_))
        | Command::Person(PersonCommand::Password(_))
        | Command::Ledger(_)
        | Command::Backup(_)
        | Command::Restore(_)
        | Command::Recover(_)
        | Command::Hook(_)
        | Command::Run(_)
        | Command::Doctor(_)
        | Command::Completions { .. } => anyhow::bail!("this command does not speak to a server"),
    };
    Ok(ExitCode::from(code))
}

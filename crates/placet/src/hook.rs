//! `placet hook`: connects a coding agent and the gate. `placet-hooks` translates; this module waits and asks.

use std::{
    io::{self, Read as _, Write as _},
    process::ExitCode,
    time::Duration,
};

use placet_client::{Client, DEFAULT_URL};
use placet_core::Confine;
use placet_hooks::{
    Agent, Answer, Call, Effect, FinishedCall, HookMessage, LARGEST, Mode, Options, Output, blocked, effect,
    read, render,
};
use serde_json::json;
use tokio::sync::oneshot;

use crate::{
    cli::{Global, HookArgs, HookCommand},
    exit::usage,
    output::safe,
};

mod ask;
pub(crate) mod confine;
mod ended;
mod folder;
mod git;
mod gone;
pub(crate) mod install;
mod memory;
pub(crate) mod place;
mod withdraw;

pub(crate) use ask::DOCTOR;
use ask::{Asker, Timeouts};
use confine::Confiner;
use memory::Memory;
#[cfg(target_os = "linux")]
pub(crate) use memory::records_folder;

/// How long to wait for the end of standard input.
const INPUT: Duration = Duration::from_secs(5);
/// Time for what follows the wait: the claim, or cancelling the request.
const FINISH: Duration = Duration::from_secs(15);

/// A hook as it was called.
struct Hook {
    agent: Agent,
    mode: Mode,
    args: HookArgs,
    url: String,
}

/// Runs one hook command.
pub(crate) async fn run(command: HookCommand, global: &Global) -> anyhow::Result<ExitCode> {
    let (agent, args) = match command {
        HookCommand::ClaudeCode(args) => (Agent::ClaudeCode, args),
        HookCommand::Codex(args) => (Agent::Codex, args),
        HookCommand::Gemini(args) => (Agent::Gemini, args),
        HookCommand::Cursor(args) => (Agent::Cursor, args),
        HookCommand::Copilot(args) => (Agent::Copilot, args),
        HookCommand::OpenCode(args) => (Agent::OpenCode, args),
        HookCommand::Install(args) => return install::run(&args, global).await,
    };
    let mode = Mode::from(args.mode);
    block_on_panic(agent, args.event.clone(), mode);
    let url = global.url.clone().filter(|url| !url.is_empty()).unwrap_or_else(|| DEFAULT_URL.to_owned());
    let hook = Hook { agent, mode, args, url };
    // Nothing may take longer than this, whatever hangs: an agent whose own timeout ends lets the call through.
    let whole = INPUT + hook.wait() + FINISH;
    let output = tokio::time::timeout(whole, hook.answer()).await.unwrap_or_else(|_| {
        blocked(agent, hook.args.event.as_deref(), mode, "Placet: the hook did not come to an end in time")
    });
    Ok(finish(&output))
}

/// A wrong command line also blocks, in the dialect of the agent it was meant for.
pub(crate) fn misused(arguments: &[String], complaint: &str) -> Option<ExitCode> {
    let agent: Agent = arguments.windows(2).find_map(|two| match two {
        [hook, agent] if hook == "hook" => agent.parse().ok(),
        _ => None,
    })?;
    let reason = format!("Placet: the hook was called wrongly, so nothing is let through.\n{complaint}");
    // Not even the mode is known, so it is the strict one.
    Some(finish(&blocked(agent, None, Mode::Gate, &reason)))
}

/// To the agent, a bug of ours must not look like a hook without objections.
fn block_on_panic(agent: Agent, event: Option<String>, mode: Mode) {
    std::panic::set_hook(Box::new(move |panic| {
        let reason = format!("Placet: the hook failed ({panic}), so nothing is let through");
        let output = blocked(agent, event.as_deref(), mode, &reason);
        let _ = write!(io::stdout(), "{}", output.stdout);
        let _ = writeln!(io::stderr(), "{}", safe(&output.stderr));
        std::process::exit(i32::from(output.code));
    }));
}

/// Prints the answer and returns the exit code. An answer that could not be printed is a deny.
fn finish(output: &Output) -> ExitCode {
    if !output.stderr.is_empty() {
        // A missing reader changes nothing.
        let _ = writeln!(io::stderr(), "{}", output.stderr.lines().map(safe).collect::<Vec<_>>().join("\n"));
    }
    let mut stdout = io::stdout().lock();
    let printed = match output.stdout.as_str() {
        "" => Ok(()),
        text => writeln!(stdout, "{text}").and_then(|()| stdout.flush()),
    };
    if printed.is_err() { ExitCode::from(2) } else { ExitCode::from(output.code) }
}

impl Hook {
    /// How long a person may take. The default is less than the agent's own timeout for hooks, because that timeout
    /// would let the call through.
    fn wait(&self) -> Duration {
        self.args.wait.unwrap_or(match self.agent {
            Agent::ClaudeCode | Agent::Codex | Agent::OpenCode => Duration::from_mins(9),
            Agent::Gemini | Agent::Cursor => Duration::from_secs(35),
            Agent::Copilot => Duration::from_secs(8),
        })
    }

    async fn answer(&self) -> Output {
        let event = self.args.event.as_deref();
        let block = |reason: &str| blocked(self.agent, event, self.mode, &format!("Placet: {reason}"));
        let within = self.args.input_within.map_or(INPUT, |sooner| sooner.min(INPUT));
        let bytes = match input(within).await {
            Ok(bytes) => bytes,
            Err(reason) => return block(&reason),
        };
        let incoming = match read(self.agent, event, &bytes) {
            Ok(incoming) => incoming,
            Err(fault) => return block(&fault.to_string()),
        };
        match incoming {
            HookMessage::Asks(call) => match confine::asked_free(&call) {
                // The request is about the command that will run, and the agent gets that command.
                Some(free) => self.asks(&free, true).await,
                None => self.asks(&call, false).await,
            },
            HookMessage::Ran(ran) => self.ran(&ran).await,
            HookMessage::Stopped { session, ended } => self.stopped(&session, ended).await,
        }
    }

    fn client(&self) -> anyhow::Result<Client> {
        let token = match &self.args.token_file {
            None => std::env::var("PLACET_TOKEN").unwrap_or_default(),
            Some(file) => std::fs::read_to_string(file)
                .map_err(|error| usage(format!("`--token-file`: cannot read {}: {error}", file.display())))?,
        };
        Ok(Client::new(&self.url, token.trim())?)
    }

    async fn asks(&self, call: &Call, free: bool) -> Output {
        if self.mode == Mode::Relay && !call.event.is_prompt() {
            let reason = format!(
                "Placet: `--mode relay` is for PermissionRequest of claude-code and codex, not for `{}` of {}",
                call.event.as_str(),
                self.agent
            );
            return render(call, Mode::Gate, &Answer::Block(reason));
        }
        let client = match self.client() {
            Ok(client) => client,
            Err(error) => return render(call, self.mode, &self.failed(call, &format!("{error:#}"))),
        };
        let defer = self.args.defer && may_defer(call);
        let expires = self.args.expires_in.unwrap_or_else(|| {
            if self.args.defer { Duration::from_hours(24) } else { self.wait().max(Duration::from_secs(1)) }
        });
        let memory = Memory::of(self.agent, &call.session);
        let patience = Timeouts::new(self.wait(), self.args.give_up);
        let confiner = if self.args.confine { Confiner::of(self.agent, call) } else { None };
        let options = Options {
            expires_in: Some(format!("{}s", expires.as_secs().max(1))),
            on_behalf_of: self.args.on_behalf_of.clone(),
            edits: confiner.as_ref().is_some_and(Confiner::takes_edits),
        };
        let mut call = place::placed(call);
        if free {
            call.context.extend(
                memory.attempt(&call).map(|request| ("attempt".to_owned(), json!({ "request": request }))),
            );
        } else if confiner.as_ref().is_some_and(|confiner| confiner.can(&call)) {
            call.context.insert("confines".to_owned(), json!(Confine::Workspace));
        }
        let call = &call;
        let mut asker = Asker {
            client,
            call,
            options: &options,
            mode: self.mode,
            memory: &memory,
            patience,
            defer,
            confiner: confiner.as_ref(),
            free,
        };
        // In relay mode the person at the terminal decides, and a deferred call is asked for again.
        let asks = self.args.ask_folder && self.mode == Mode::Gate && !self.args.defer;
        let folder = asks.then(|| folder::unknown(call, &self.url)).flatten();
        if let Some(folder) = folder
            && let Err(reason) = asker.ask_folder(&folder).await
        {
            return render(call, self.mode, &self.failed(call, &reason));
        }
        let answer = asker.answer().await.unwrap_or_else(|reason| self.failed(call, &reason));
        let output = render(call, self.mode, &answer);
        if matches!(answer, Answer::Allow(_)) && effect(call.event, &output) == Effect::Blocked {
            // An allow that this agent cannot carry out: the permit is used up, and nothing ran.
            asker.not_run().await;
        }
        output
    }

    /// What a failure means: a block, or the decision of the person at the terminal.
    fn failed(&self, call: &Call, reason: &str) -> Answer {
        if self.mode == Mode::Relay && call.event.is_prompt() {
            return Answer::Pass(Some(format!("Placet: answer here: {reason}")));
        }
        // What to do comes last.
        Answer::Block(format!("Placet: nothing was run: {reason}"))
    }

    async fn ran(&self, ran: &FinishedCall) -> Output {
        let memory = Memory::of(self.agent, &ran.session);
        match self.client() {
            Ok(client) => withdraw::ran(&client, &memory, ran).await,
            Err(error) => noted(&format!("Placet: {error:#}")),
        }
    }

    async fn stopped(&self, session: &str, ended: bool) -> Output {
        let memory = Memory::of(self.agent, session);
        if ended {
            memory.forget_kept();
        }
        match self.client() {
            Ok(client) => {
                let output = withdraw::stopped(&client, &memory).await;
                let shows = ended && self.agent == Agent::ClaudeCode;
                if shows { ended::told(&client, session, output).await } else { output }
            }
            Err(error) => noted(&format!("Placet: {error:#}")),
        }
    }
}

/// A message after the run, when there is nothing left to block.
fn noted(text: &str) -> Output {
    Output { stderr: text.to_owned(), ..Output::default() }
}

/// Claude Code honours `defer` only without a terminal, and otherwise goes on as if nothing had been said. In these modes it
/// would then run the call.
fn may_defer(call: &Call) -> bool {
    let headless = std::env::var("CLAUDE_CODE_ENTRYPOINT").is_ok_and(|from| from.starts_with("sdk"));
    let strict = matches!(call.permission_mode.as_deref(), Some("default" | "plan" | "dontAsk" | "manual"));
    headless && strict && call.event == placet_hooks::Event::ClaudePreToolUse
}

/// All of standard input, on a thread of its own: a read that never ends must not keep the process.
async fn input(within: Duration) -> Result<Vec<u8>, String> {
    let (send, received) = oneshot::channel();
    let reading = std::thread::Builder::new().name("standard input".to_owned()).spawn(move || {
        let mut bytes = Vec::new();
        let limit = LARGEST as u64 + 1;
        let read = io::stdin().lock().take(limit).read_to_end(&mut bytes);
        let _ = send.send(read.map(|_| bytes));
    });
    reading.map_err(|error| format!("standard input cannot be read: {error}"))?;
    match tokio::time::timeout(within, received).await {
        Ok(Ok(Ok(bytes))) => Ok(bytes),
        Ok(Ok(Err(error))) => Err(format!("standard input cannot be read: {error}")),
        Ok(Err(_)) => Err("standard input cannot be read".to_owned()),
        Err(_) => Err(format!("standard input was not complete after {} s", within.as_secs_f64())),
    }
}

//! Exit codes, and the one sentence on standard error that explains them.

use std::{io, process::ExitCode};

use placet_client::{Error, PolicyProblem};
use placet_core::{Record, State};
use serde_json::json;

use crate::output::{self, safe};

/// An error such as an unreachable server.
pub(crate) const ERROR: u8 = 1;
/// Bad input.
pub(crate) const USAGE: u8 = 2;
/// A permit was asked for with `--claim`, and this process has none although the request was approved or answered.
pub(crate) const NO_PERMIT: u8 = 7;
/// Interrupted, as shells count it.
pub(crate) const INTERRUPTED: u8 = 130;

/// Bad input: the sentence names the field and the fix.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Usage(pub(crate) String);

/// Bad input, as an error.
pub(crate) fn usage(sentence: impl Into<String>) -> anyhow::Error {
    Usage(sentence.into()).into()
}

/// A policy that cannot be used, with all its errors.
#[derive(Debug, thiserror::Error)]
#[error("{label} cannot be used: it has {}", counted(.problems.len()))]
pub(crate) struct BadPolicy {
    /// What it is called.
    pub(crate) label: String,
    /// The problems, in the order of the file.
    pub(crate) problems: Vec<PolicyProblem>,
}

fn counted(problems: usize) -> String {
    if problems == 1 { "1 problem".to_owned() } else { format!("{problems} problems") }
}

impl BadPolicy {
    /// One line for each problem, as compilers write them.
    pub(crate) fn lines(&self) -> impl Iterator<Item = String> {
        self.problems.iter().map(|problem| {
            let PolicyProblem { line, column, rule, message, fix } = problem;
            let rule = rule.as_deref().map(|rule| format!("rule {rule}: ")).unwrap_or_default();
            safe(&format!("{}:{line}:{column}: {rule}{message}; fix: {fix}", self.label))
        })
    }
}

/// The exit code of a request's state, for scripts. Only an approval or answer is 0.
pub(crate) fn of(record: &Record) -> u8 {
    match record.state {
        State::Approved | State::Answered | State::Claimed | State::Succeeded => 0,
        State::Failed | State::Unknown => ERROR,
        State::Denied => 3,
        State::Expired => 4,
        State::Cancelled | State::Lapsed | State::Revoked => 5,
        State::Pending => 6,
    }
}

/// Prints what went wrong, and returns the exit code.
pub(crate) fn failed(error: &anyhow::Error, json: bool) -> ExitCode {
    // The reader of our output has gone, so there is nothing to print.
    let closed = |cause: &(dyn std::error::Error + 'static)| {
        cause.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
    };
    if error.chain().any(closed) {
        return ExitCode::from(ERROR);
    }
    let (code, name, sentence) = explain(error);
    if let Some(bad) = error.downcast_ref::<BadPolicy>() {
        if json {
            let document = json!({"error": {"code": name, "detail": sentence, "problems": bad.problems}});
            output::to_stderr(&output::json_line(&document));
            return ExitCode::from(code);
        }
        bad.lines().for_each(|line| output::to_stderr(&line));
    }
    if json {
        output::to_stderr(&output::json_line(&json!({"error": {"code": name, "detail": sentence}})));
    } else {
        output::to_stderr(&format!("{}error{}: {sentence}", output::BAD, output::BAD.render_reset()));
    }
    ExitCode::from(code)
}

/// The exit code, a stable name, and a sentence that is safe to print.
fn explain(error: &anyhow::Error) -> (u8, String, String) {
    if let Some(usage) = error.downcast_ref::<Usage>() {
        return (USAGE, "usage".to_owned(), safe(&usage.0));
    }
    if let Some(bad) = error.downcast_ref::<BadPolicy>() {
        return (USAGE, "bad_policy".to_owned(), safe(&bad.to_string()));
    }
    match error.downcast_ref::<Error>() {
        Some(Error::Unreachable { url, reason, .. }) => (
            ERROR,
            "unreachable".to_owned(),
            format!("cannot reach Placet at {}: {}. {}", safe(url), safe(reason), safe(&bring_back(url))),
        ),
        Some(Error::Problem(problem)) => {
            let hint = match problem.status {
                401 => ". Set PLACET_TOKEN to a key that `placet key new` printed",
                403 if problem.code == "forbidden" => ". This needs a key of another role",
                _ => "",
            };
            let code = if matches!(problem.status, 400 | 413 | 422) { USAGE } else { ERROR };
            (code, problem.code.clone(), format!("{}{hint}", safe(&problem.to_string())))
        }
        Some(Error::Config(sentence)) => (USAGE, "usage".to_owned(), safe(sentence)),
        Some(Error::Timeout { .. }) => (ERROR, "timeout".to_owned(), safe(&error.to_string())),
        _ => (ERROR, "error".to_owned(), safe(&format!("{error:#}"))),
    }
}

/// How to start an unreachable server: the command, if it runs on this machine.
pub(crate) fn bring_back(url: &str) -> String {
    let elsewhere = || "Ask its operator, or set PLACET_URL to where it runs".to_owned();
    let Some((host, port)) = url.strip_prefix("http://").and_then(host_and_port) else { return elsewhere() };
    let address: std::net::IpAddr = match host.trim_matches(['[', ']']) {
        "localhost" => std::net::Ipv4Addr::LOCALHOST.into(),
        host => match host.parse() {
            Ok(address) => address,
            Err(_) => return elsewhere(),
        },
    };
    match port {
        _ if !address.is_loopback() => elsewhere(),
        4000 => "Set PLACET_URL if it runs elsewhere; start it with: placet serve".to_owned(),
        port => format!(
            "Set PLACET_URL if it runs elsewhere; start it with: placet serve --listen {}",
            std::net::SocketAddr::new(address, port)
        ),
    }
}

fn host_and_port(rest: &str) -> Option<(&str, u16)> {
    let authority = rest.split('/').next()?;
    match authority.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => Some((host, port.parse().ok()?)),
        _ => Some((authority, 80)),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn an_unreachable_server_is_1_and_says_what_to_try() {
        let error = Error::Unreachable {
            url: "http://127.0.0.1:4000".to_owned(),
            reason: "Connection refused (os error 111)".to_owned(),
            tried: Duration::ZERO,
        };
        insta::assert_debug_snapshot!(explain(&error.into()), @r#"
        (
            1,
            "unreachable",
            "cannot reach Placet at http://127.0.0.1:4000: Connection refused (os error 111). Set PLACET_URL if it runs elsewhere; start it with: placet serve",
        )
        "#);
    }

    #[test]
    fn the_command_that_brings_a_server_back_listens_where_it_was_looked_for() {
        for (url, ends) in [
            ("http://127.0.0.1:4000/", "placet serve"),
            ("http://localhost:4100", "placet serve --listen 127.0.0.1:4100"),
            ("http://[::1]:4100/", "placet serve --listen [::1]:4100"),
            ("http://10.0.0.7:4000", "where it runs"),
            ("https://127.0.0.1:4000", "where it runs"),
            ("https://placet.example.com", "where it runs"),
            ("http://a$(id):4000", "where it runs"),
        ] {
            assert!(bring_back(url).ends_with(ends), "{url}: {}", bring_back(url));
        }
    }

    #[test]
    fn bad_input_is_2_and_its_control_characters_are_drawn() {
        let (code, _, sentence) = explain(&usage("`--args` is \u{1b}[31mnot JSON"));
        assert_eq!((code, sentence.as_str()), (2, "`--args` is \\u{001b}[31mnot JSON"));
    }

    #[test]
    fn only_a_yes_is_zero() {
        let record = crate::output::sample::action();
        let code = |state| of(&Record { state, ..record.clone() });
        let zero: Vec<State> = State::ALL.iter().copied().filter(|state| code(*state) == 0).collect();
        assert_eq!(zero, [State::Approved, State::Answered, State::Claimed, State::Succeeded]);
        assert_eq!((code(State::Denied), code(State::Expired), code(State::Lapsed)), (3, 4, 5));
    }
}

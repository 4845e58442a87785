//! The A2A agents behind Placet, read from the configuration.

use std::{collections::HashSet, time::Duration};

use anyhow::Context as _;
use http::HeaderName;
use placet_a2a::Version;
use placet_egress::{Rules, Target};
use placet_server::{AgentProblem, Generic, Mode, RootCard, Upstream};

use crate::{config, exit::usage};

/// Namespaces that the desk uses.
const RESERVED: [&str; 2] = ["desk", "v1"];

/// Headers that Placet sets on each of its own calls.
const OURS: [&str; 14] = [
    "host",
    "proxy-authorization",
    "connection",
    "keep-alive",
    "content-length",
    "content-type",
    "content-encoding",
    "transfer-encoding",
    "te",
    "trailer",
    "upgrade",
    "expect",
    "accept",
    "x-a2a-extensions",
];

/// All agents, checked before anything is started.
pub(super) fn upstreams(agents: &[config::A2aAgent], longest: Duration) -> anyhow::Result<Vec<Upstream>> {
    let mut names = HashSet::new();
    let mut all = Vec::with_capacity(agents.len());
    for agent in agents {
        let name = format!("{}/{}", agent.namespace, agent.agent);
        let upstream = upstream(agent, longest)
            .map_err(|problem| usage(format!("doors.a2a, the agent {name}: {problem:#}")))?;
        if !names.insert(name.clone()) {
            return Err(usage(format!("doors.a2a: there are two agents called {name}")));
        }
        all.push(upstream);
    }
    Ok(all)
}

/// The card at the root of the host.
pub(super) fn root_card(text: &str, agents: &[config::A2aAgent]) -> anyhow::Result<RootCard> {
    let known = |(namespace, agent): &(&str, &str)| {
        agents.iter().any(|one| one.namespace == *namespace && one.agent == *agent)
    };
    match (text, text.split_once('/').filter(known)) {
        ("desk", _) => Ok(RootCard::Desk),
        ("none", _) => Ok(RootCard::None),
        (_, Some((namespace, agent))) => {
            Ok(RootCard::Agent { namespace: namespace.to_owned(), agent: agent.to_owned() })
        }
        _ => Err(usage(format!(
            "doors.root_card is \"desk\", \"none\" or \"NAMESPACE/AGENT\" of an agent in doors.a2a, not {text:?}"
        ))),
    }
}

/// Reports agents that cannot be used. One that is not available yet is retried; one that never can be stops the
/// start.
pub(super) fn judge(found: Vec<(String, AgentProblem)>) -> anyhow::Result<()> {
    for (name, problem) in found {
        match problem {
            AgentProblem::Away(why) => {
                tracing::warn!(agent = name, why, "an agent behind the proxy is not available yet");
            }
            AgentProblem::Wrong(why) => return Err(usage(format!("doors.a2a, the agent {name}: {why}"))),
        }
    }
    Ok(())
}

fn upstream(agent: &config::A2aAgent, longest: Duration) -> anyhow::Result<Upstream> {
    let word = |text: &str| {
        let fits = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-_.".contains(&byte);
        (1..=63).contains(&text.len()) && text.bytes().all(fits) && !text.starts_with('.')
    };
    for (what, text) in [("namespace", &agent.namespace), ("agent", &agent.agent)] {
        anyhow::ensure!(word(text), "`{what}` is 1 to 63 of a-z, 0-9, `-`, `_` and `.`");
    }
    let reserved = RESERVED.contains(&agent.namespace.as_str());
    anyhow::ensure!(!reserved, "the namespaces `desk` and `v1` are taken by the approval desk");
    let target = Target::parse_web(&agent.url).with_context(|| format!("`url` {}", agent.url))?;
    let host = target.host().to_owned();
    Rules::new([host]).check_host(&target).with_context(|| format!("`url` {}", agent.url))?;
    let mut upstream = Upstream::new(&agent.namespace, &agent.agent, &agent.url);
    if let Some(card) = &agent.card {
        let place = Target::parse_web(card).with_context(|| format!("`card` {card}"))?;
        // Only the host of `url` may be called.
        anyhow::ensure!(
            place.host() == target.host(),
            "`card` {card} is on another host than `url` {}",
            agent.url
        );
        upstream.card = Some(card.clone());
    }
    upstream.mode = match agent.mode {
        config::Mode::Hold => Mode::Hold,
        config::Mode::Mirror => Mode::Mirror,
    };
    upstream.generic = match agent.generic {
        config::Generic::Hold => Generic::Hold,
        config::Generic::Pass => Generic::Pass,
    };
    upstream.token = token(agent)?;
    if let Some(names) = &agent.forward {
        upstream.forward = names.iter().map(|name| header("forward", name)).collect::<Result<_, _>>()?;
    }
    match agent.identify.as_deref() {
        None => {}
        Some("") => upstream.identify = None,
        Some(name) => upstream.identify = Some(header("identify", name)?),
    }
    if let Some(versions) = &agent.versions {
        let read = |text: &String| match Version::named(Some(text)) {
            Ok(version) if !text.trim().is_empty() => Ok(version),
            _ => Err(anyhow::anyhow!("`versions` are \"1.0\" and \"0.3\", not {text:?}")),
        };
        upstream.versions = Some(versions.iter().map(read).collect::<Result<_, _>>()?);
    }
    if let Some(text) = &agent.expires_in {
        let time =
            crate::cli::duration(text).map_err(|problem| anyhow::anyhow!("`expires_in`: {problem}"))?;
        let fits = time >= Duration::from_secs(1) && time <= longest;
        anyhow::ensure!(fits, "`expires_in` must be between 1s and limits.expires_in_max");
        upstream.expires_in = Some(text.clone());
    }
    if let Some(text) = &agent.patience {
        upstream.patience =
            crate::cli::duration(text).map_err(|problem| anyhow::anyhow!("`patience`: {problem}"))?;
    }
    if let Some(text) = &agent.resend_after {
        upstream.resend_after =
            crate::cli::duration(text).map_err(|problem| anyhow::anyhow!("`resend_after`: {problem}"))?;
    }
    let nobody = |callers: &Vec<String>| callers.is_empty() || callers.iter().any(String::is_empty);
    anyhow::ensure!(
        !agent.callers.as_ref().is_some_and(nobody),
        "`callers` names agents; leave it out to let all of them in"
    );
    anyhow::ensure!(
        upstream.versions.as_ref().is_none_or(|versions| !versions.is_empty()),
        "`versions` is empty; leave it out to believe the agent's card"
    );
    anyhow::ensure!(!upstream.patience.is_zero(), "`patience` must be longer than zero");
    upstream.callers.clone_from(&agent.callers);
    Ok(upstream)
}

fn header(what: &str, name: &str) -> anyhow::Result<HeaderName> {
    let header = HeaderName::try_from(name).with_context(|| format!("`{what}` {name:?} is no header"))?;
    // The caller's credential is our key, and must not reach the agent.
    anyhow::ensure!(
        ![http::header::AUTHORIZATION, http::header::COOKIE].contains(&header),
        "`{what}`: {name} is never passed on; give the agent a credential of its own with token_env or token_file"
    );
    anyhow::ensure!(
        !OURS.contains(&header.as_str()) && !header.as_str().starts_with("a2a-"),
        "`{what}`: {name} is about the connection or the protocol, and is ours to say"
    );
    Ok(header)
}

fn token(agent: &config::A2aAgent) -> anyhow::Result<Option<String>> {
    let token = match (&agent.token_env, &agent.token_file) {
        (Some(_), Some(_)) => anyhow::bail!("`token_env` or `token_file`, not both"),
        (None, None) => return Ok(None),
        (Some(name), None) => {
            std::env::var(name).map_err(|_| anyhow::anyhow!("`token_env`: {name} is not set"))?
        }
        (None, Some(path)) => std::fs::read_to_string(path)
            .with_context(|| format!("`token_file`: cannot read {}", path.display()))?,
    };
    let token = token.trim();
    anyhow::ensure!(!token.is_empty(), "the token is empty");
    anyhow::ensure!(
        token.bytes().all(|byte| (0x21..0x7f).contains(&byte)),
        "the token has characters that no header takes"
    );
    Ok(Some(token.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An agent with these fields instead of the defaults.
    fn read(more: &str) -> Result<Vec<Upstream>, String> {
        let usual = "namespace = \"demo\"\nagent = \"ops\"\nurl = \"http://127.0.0.1:1/\"";
        let mut table: toml::Table = usual.parse().unwrap();
        table.extend(more.parse::<toml::Table>().unwrap());
        let agent = table.try_into().map_err(|error: toml::de::Error| error.to_string())?;
        upstreams(&[agent], Duration::from_hours(24)).map_err(|error| error.to_string())
    }

    #[test]
    fn an_agent_is_held_and_sees_no_key_unless_told_otherwise() {
        let agents = read("").unwrap();
        assert_eq!((agents[0].mode, agents[0].generic), (Mode::Hold, Generic::Hold));
        assert!(agents[0].token.is_none() && agents[0].callers.is_none());
        assert!(!agents[0].forward.contains(&http::header::AUTHORIZATION));
    }

    #[test]
    fn every_mistake_is_named_with_the_agent_and_the_field() {
        for (more, said) in [
            ("namespace = \"desk\"", "taken by the approval desk"),
            ("namespace = \"v1\"", "taken by the approval desk"),
            ("namespace = \"a/b\"", "`namespace` is 1 to 63"),
            ("agent = \"\"", "`agent` is 1 to 63"),
            ("agent = \"Ops\"", "`agent` is 1 to 63"),
            ("url = \"ftp://x/\"", "only `http://` and `https://`"),
            ("url = \"http://ann:secret@x/\"", "user name or password"),
            ("forward = [\"authorization\"]", "never passed on"),
            ("forward = [\"Cookie\"]", "never passed on"),
            ("forward = [\"content-length\"]", "ours to say"),
            ("identify = \"Transfer-Encoding\"", "ours to say"),
            ("resend_after = \"soon\"", "`resend_after`"),
            ("url = \"http://169.254.169.254/\"", "are not allowed"),
            ("url = \"http://[fe80::1]/\"", "are not allowed"),
            ("url = \"nowhere\"", "not an address"),
            ("card = \"nowhere\"", "`card` nowhere"),
            ("card = \"http://elsewhere/card.json\"", "on another host than `url`"),
            ("callers = []", "`callers` names agents"),
            ("callers = [\"\"]", "`callers` names agents"),
            ("versions = []", "`versions` is empty"),
            ("patience = \"0s\"", "`patience`"),
            ("forward = [\"proxy-authorization\"]", "ours to say"),
            ("identify = \"a b\"", "is no header"),
            ("versions = [\"2.0\"]", "`versions` are"),
            ("expires_in = \"0s\"", "`expires_in`"),
            ("expires_in = \"soon\"", "`expires_in`"),
            ("expires_in = \"9000h\"", "limits.expires_in_max"),
            ("token_env = \"PLACET_TEST_NOT_SET\"", "PLACET_TEST_NOT_SET is not set"),
            ("token_env = \"A\"\ntoken_file = \"b\"", "not both"),
            ("token_file = \"/nowhere/token\"", "cannot read /nowhere/token"),
            ("mode = \"maybe\"", "unknown variant"),
            ("colour = \"red\"", "unknown field"),
        ] {
            let error = read(more).unwrap_err();
            assert!(error.contains(said), "{more}: {error}");
        }
    }

    #[test]
    fn the_root_card_is_the_desks_nobodys_or_that_of_an_agent_that_is_there() {
        let text = "namespace = \"demo\"\nagent = \"ops\"\nurl = \"http://127.0.0.1:1/\"";
        let agents = [toml::from_str::<config::A2aAgent>(text).unwrap()];
        let agent = RootCard::Agent { namespace: "demo".to_owned(), agent: "ops".to_owned() };
        assert_eq!(root_card("demo/ops", &agents).unwrap(), agent);
        assert_eq!(root_card("desk", &agents).unwrap(), RootCard::Desk);
        assert_eq!(root_card("none", &agents).unwrap(), RootCard::None);
        for wrong in ["demo/other", "demo", "", "ops"] {
            assert!(
                root_card(wrong, &agents).unwrap_err().to_string().contains("doors.root_card is"),
                "{wrong}"
            );
        }
    }

    #[test]
    fn two_agents_of_one_name_are_refused() {
        let text = "namespace = \"demo\"\nagent = \"ops\"\nurl = \"http://127.0.0.1:1/\"";
        let agent: config::A2aAgent = toml::from_str(text).unwrap();
        let error = upstreams(&[agent.clone(), agent], Duration::from_hours(24)).unwrap_err().to_string();
        assert!(error.contains("two agents called demo/ops"), "{error}");
    }
}

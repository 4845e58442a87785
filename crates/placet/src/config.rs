//! Configuration: embedded defaults, then one file, then single keys.

use std::{path::Path, time::Duration};

use anyhow::Context as _;
use placet_core::{AllOf, Limits, Needs, Seat};
use placet_server::{BadProxies, ListenAddress, Proxies};
use serde::{Deserialize, Deserializer};
use toml::{Table, Value};

use crate::exit::usage;

/// The defaults, which document every key.
pub(crate) const DEFAULTS: &str = include_str!("config.default.toml");

/// All settings.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Config {
    pub(crate) server: Server,
    pub(crate) storage: Storage,
    pub(crate) limits: LimitsSection,
    pub(crate) requests: Requests,
    pub(crate) hold: Hold,
    pub(crate) sessions: Sessions,
    pub(crate) doors: Doors,
    pub(crate) insights: Insights,
    pub(crate) log: Log,
    pub(crate) telemetry: Telemetry,
}

/// Where and how to listen.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Server {
    #[serde(deserialize_with = "address")]
    pub(crate) listen: ListenAddress,
    pub(crate) hosts: Vec<String>,
    pub(crate) behind_proxy: bool,
    pub(crate) trusted_proxies: Vec<String>,
    pub(crate) proxy_header: String,
    pub(crate) public_health: bool,
    #[serde(deserialize_with = "duration")]
    pub(crate) grace: Duration,
}

/// Where the data is.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Storage {
    pub(crate) data: std::path::PathBuf,
    pub(crate) database: String,
    pub(crate) checkpoint_pages: u32,
    pub(crate) max_mib: u32,
    pub(crate) state: std::path::PathBuf,
}

impl Storage {
    /// Where acknowledged entries are remembered: as configured, or in the XDG state folder of this user. None where there
    /// is no such folder.
    pub(crate) fn state(&self) -> Option<std::path::PathBuf> {
        if !self.state.as_os_str().is_empty() {
            return Some(self.state.clone());
        }
        let named = |name: &str| std::env::var_os(name).map(std::path::PathBuf::from);
        let absolute = |path: &std::path::PathBuf| path.is_absolute();
        let home = || named("HOME").filter(absolute).map(|home| home.join(".local/state"));
        named("XDG_STATE_HOME").filter(absolute).or_else(home).map(|folder| folder.join("placet"))
    }
}

/// Bounds.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct LimitsSection {
    pub(crate) requests_per_second: u32,
    pub(crate) pending_per_agent: u64,
    pub(crate) connections: usize,
    pub(crate) connections_per_address: usize,
    pub(crate) waits: usize,
    pub(crate) waits_per_principal: usize,
    pub(crate) streams_per_principal: usize,
    #[serde(deserialize_with = "duration")]
    pub(crate) wait_max: Duration,
    #[serde(deserialize_with = "duration")]
    pub(crate) expires_in_max: Duration,
    #[serde(deserialize_with = "duration")]
    pub(crate) header_timeout: Duration,
    #[serde(deserialize_with = "duration")]
    pub(crate) body_timeout: Duration,
    #[serde(deserialize_with = "duration")]
    pub(crate) slow_reader: Duration,
}

/// Deadlines.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Requests {
    #[serde(deserialize_with = "duration")]
    pub(crate) expires_in: Duration,
    #[serde(deserialize_with = "duration")]
    pub(crate) claim_window: Duration,
    #[serde(deserialize_with = "duration")]
    pub(crate) report_window: Duration,
}

/// Whose yes is needed.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Hold {
    pub(crate) people: u32,
    pub(crate) team: String,
    pub(crate) four_eyes: bool,
    pub(crate) step_up: String,
}

/// People who are signed in.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Sessions {
    #[serde(deserialize_with = "duration")]
    pub(crate) idle: Duration,
    #[serde(deserialize_with = "duration")]
    pub(crate) absolute: Duration,
    #[serde(deserialize_with = "unbound")]
    pub(crate) unbound: placet_server::Unbound,
}

/// Doors for the clients of other gateways.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Doors {
    pub(crate) open_decide: bool,
    pub(crate) origins: Vec<String>,
    pub(crate) callback_hosts: Vec<String>,
    pub(crate) root_card: String,
    pub(crate) events: Events,
    pub(crate) desk: Desk,
    /// The agents behind us.
    #[serde(default)]
    pub(crate) a2a: Vec<A2aAgent>,
}

/// One agent behind us.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct A2aAgent {
    pub(crate) namespace: String,
    pub(crate) agent: String,
    pub(crate) url: String,
    pub(crate) card: Option<String>,
    #[serde(default)]
    pub(crate) mode: Mode,
    #[serde(default)]
    pub(crate) generic: Generic,
    pub(crate) token_env: Option<String>,
    pub(crate) token_file: Option<std::path::PathBuf>,
    pub(crate) forward: Option<Vec<String>>,
    pub(crate) identify: Option<String>,
    pub(crate) versions: Option<Vec<String>>,
    pub(crate) expires_in: Option<String>,
    pub(crate) callers: Option<Vec<String>>,
    pub(crate) patience: Option<String>,
    pub(crate) resend_after: Option<String>,
}

/// Who may decide on a pause of an agent.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Mode {
    #[default]
    Hold,
    Mirror,
}

/// What happens to a plain question of an agent.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Generic {
    #[default]
    Hold,
    Pass,
}

/// The approval desk of A2A.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Desk {
    pub(crate) pause: Pause,
    pub(crate) completed_always: bool,
}

/// The state of the desk's tasks while people decide.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Pause {
    InputRequired,
    AuthRequired,
    Working,
}

/// The observability door.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Events {
    pub(crate) keep: u64,
    #[serde(deserialize_with = "duration")]
    pub(crate) keep_for: Duration,
    pub(crate) body_max: usize,
}

/// What figures tell.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Insights {
    pub(crate) people: bool,
}

/// Spans for a collector.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Telemetry {
    pub(crate) traces: String,
    pub(crate) headers_file: std::path::PathBuf,
    pub(crate) service: String,
}

/// Logs.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Log {
    pub(crate) level: String,
}

fn duration<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    let text = String::deserialize(deserializer)?;
    crate::cli::duration(&text).map_err(serde::de::Error::custom)
}

fn unbound<'de, D: Deserializer<'de>>(deserializer: D) -> Result<placet_server::Unbound, D::Error> {
    match String::deserialize(deserializer)?.as_str() {
        "off" => Ok(placet_server::Unbound::Off),
        "password" => Ok(placet_server::Unbound::Password),
        other => {
            let wrong = format!("sessions.unbound must be \"off\" or \"password\", not {other:?}");
            Err(serde::de::Error::custom(wrong))
        }
    }
}

fn address<'de, D: Deserializer<'de>>(deserializer: D) -> Result<ListenAddress, D::Error> {
    String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
}

impl Config {
    /// Reads the defaults, then the file, then single keys.
    pub(crate) fn load(file: Option<&Path>, set: &[String]) -> anyhow::Result<Self> {
        let mut table: Table = DEFAULTS.parse().context("the built-in defaults cannot be read")?;
        if let Some(file) = file {
            let text = std::fs::read_to_string(file)
                .map_err(|error| usage(format!("--config: cannot read {}: {error}", file.display())))?;
            let over: Table = text
                .parse()
                .map_err(|error| usage(format!("--config: {} is not TOML: {error}", file.display())))?;
            merge(&mut table, over, "")
                .map_err(|problem| usage(format!("--config: {}: {problem}", file.display())))?;
        }
        for pair in set {
            let (key, value) = pair.split_once('=').ok_or_else(|| {
                usage(format!("--set {pair}: write KEY=VALUE, such as limits.pending_per_agent=50"))
            })?;
            put(&mut table, key.trim(), value.trim())
                .map_err(|problem| usage(format!("--set {pair}: {problem}")))?;
        }
        let config: Self = Value::Table(table).try_into().map_err(|error: toml::de::Error| {
            usage(format!("the configuration is not valid: {}", error.message()))
        })?;
        config.check()?;
        Ok(config)
    }

    fn check(&self) -> anyhow::Result<()> {
        if self.hold.people == 0 {
            return Err(usage("hold.people must be at least 1: a held request needs a person"));
        }
        if !["", "code"].contains(&self.hold.step_up.as_str()) {
            return Err(usage("hold.step_up must be \"\" or \"code\""));
        }
        if self.requests.expires_in < Duration::from_secs(1)
            || self.requests.expires_in > self.limits.expires_in_max
        {
            return Err(usage("requests.expires_in must be between 1s and limits.expires_in_max"));
        }
        if self.requests.claim_window.is_zero() || self.requests.report_window.is_zero() {
            return Err(usage("requests.claim_window and requests.report_window must be longer than zero"));
        }
        // The last use is stored to the minute, so a shorter time could end a session in use.
        if self.sessions.idle < Duration::from_mins(5) || self.sessions.absolute < self.sessions.idle {
            return Err(usage("sessions.idle must be at least 5m, and sessions.absolute at least as long"));
        }
        if self.doors.events.keep == 0 || !(1024..=64 * 1024 * 1024).contains(&self.doors.events.body_max) {
            return Err(usage(
                "doors.events.keep must be at least 1, and doors.events.body_max between 1024 and 67108864",
            ));
        }
        self.proxies()?;
        if self.limits.connections == 0 || self.limits.pending_per_agent == 0 {
            return Err(usage("limits.connections and limits.pending_per_agent must be at least 1"));
        }
        Ok(())
    }

    /// The clients that are trusted about the client's address.
    pub(crate) fn proxies(&self) -> anyhow::Result<Proxies> {
        let header = self.server.proxy_header.parse();
        let header = header.map_err(|error: BadProxies| usage(format!("server.proxy_header: {error}")))?;
        let networks = self.server.trusted_proxies.iter().map(String::as_str);
        Proxies::new(networks, header).map_err(|error| usage(format!("server.trusted_proxies: {error}")))
    }

    /// The gate's settings.
    pub(crate) fn gate(&self) -> placet_gate::Settings {
        let text = |text: &String| Some(text.clone()).filter(|text| !text.is_empty());
        let seat = Seat { people: self.hold.people, team: text(&self.hold.team) };
        placet_gate::Settings {
            limits: Limits {
                expires_in: self.requests.expires_in,
                expires_in_max: self.limits.expires_in_max,
            },
            pending_per_agent: self.limits.pending_per_agent,
            claim_window: self.requests.claim_window,
            report_window: self.requests.report_window,
            needs: Needs {
                any: vec![AllOf { all: vec![seat] }],
                four_eyes: self.hold.four_eyes,
                step_up: text(&self.hold.step_up),
            },
            events: placet_gate::EventRetention {
                keep: self.doors.events.keep,
                keep_for: self.doors.events.keep_for,
            },
            waits_per_principal: self.limits.waits_per_principal,
            waits: self.limits.waits,
            session_idle: self.sessions.idle,
            session_absolute: self.sessions.absolute,
            people_figures: self.insights.people,
            ..placet_gate::Settings::default()
        }
    }
}

/// Merges one table over another. Every key must be known, so that typing errors are found here.
fn merge(base: &mut Table, over: Table, path: &str) -> Result<(), String> {
    for (key, value) in over {
        let name = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
        match (base.get_mut(&key), value) {
            (None, _) => return Err(unknown(&name)),
            (Some(Value::Table(base)), Value::Table(over)) => merge(base, over, &name)?,
            (Some(Value::Table(_)), _) => return Err(format!("`{name}` is a section, not a value")),
            (Some(slot), value) => *slot = value,
        }
    }
    Ok(())
}

fn unknown(name: &str) -> String {
    format!("there is no key `{name}`; docs/operators.md lists all of them")
}

/// Sets one key. The value is read as the type of its default.
fn put(table: &mut Table, key: &str, text: &str) -> Result<(), String> {
    let mut slot = None;
    let mut current = table;
    let mut parts = key.split('.').peekable();
    while let Some(part) = parts.next() {
        let found = current.get_mut(part).ok_or_else(|| unknown(key))?;
        match (found, parts.peek()) {
            (Value::Table(inner), Some(_)) => current = inner,
            (Value::Table(_), None) => return Err(format!("`{key}` is a section, not a value")),
            (_, Some(_)) => return Err(unknown(key)),
            (value, None) => {
                slot = Some(value);
                break;
            }
        }
    }
    let slot = slot.ok_or_else(|| unknown(key))?;
    *slot = match slot {
        Value::String(_) => Value::String(text.trim_matches('"').to_owned()),
        Value::Integer(_) => Value::Integer(text.parse().map_err(|_| format!("`{key}` is a number"))?),
        Value::Boolean(_) => Value::Boolean(text.parse().map_err(|_| format!("`{key}` is true or false"))?),
        Value::Array(_) => {
            let items = text
                .trim_start_matches('[')
                .trim_end_matches(']')
                .split(',')
                .map(|item| item.trim().trim_matches('"'));
            Value::Array(
                items.filter(|item| !item.is_empty()).map(|item| Value::String(item.to_owned())).collect(),
            )
        }
        _ => return Err(unknown(key)),
    };
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(pairs: &[&str]) -> Result<Config, String> {
        let pairs: Vec<String> = pairs.iter().map(|pair| (*pair).to_owned()).collect();
        Config::load(None, &pairs).map_err(|error| error.to_string())
    }

    #[test]
    fn the_embedded_defaults_are_the_design_defaults() {
        let config = set(&[]).unwrap();
        assert_eq!(config.limits.pending_per_agent, 500);
        assert_eq!(config.limits.requests_per_second, 200);
        assert_eq!(config.requests.expires_in, Duration::from_mins(5));
        assert_eq!(config.gate().needs, Needs::default());
        assert!(!config.doors.open_decide);
        assert_eq!(config.gate().session_idle, Duration::from_hours(12));
        assert_eq!(config.gate().session_absolute, Duration::from_hours(7 * 24));
    }

    #[test]
    fn set_overrides_one_key_with_the_type_of_its_default() {
        let config = set(&[
            "limits.pending_per_agent=7",
            "requests.expires_in=30s",
            "server.hosts=a.example,b.example",
            "hold.four_eyes=true",
        ])
        .unwrap();
        assert_eq!(config.limits.pending_per_agent, 7);
        assert_eq!(config.requests.expires_in, Duration::from_secs(30));
        assert_eq!(config.server.hosts, ["a.example", "b.example"]);
        assert!(config.hold.four_eyes);
    }

    #[test]
    fn mistakes_are_named_and_nothing_is_taken() {
        for (pair, word) in [
            ("limits.pendng=1", "limits.pendng"),
            ("limits.pending_per_agent=many", "number"),
            ("limits=1", "section"),
            ("limits.pending_per_agent", "KEY=VALUE"),
            ("hold.people=0", "hold.people"),
            ("hold.step_up=retina", "hold.step_up"),
            ("sessions.unbound=on", "sessions.unbound"),
            ("requests.expires_in=soon", "duration"),
            ("sessions.idle=1m", "sessions.idle"),
            ("doors.events.keep=0", "doors.events.keep"),
            ("doors.events.body_max=1", "doors.events.body_max"),
            ("doors.events=1", "section"),
            ("sessions.absolute=1h", "sessions.absolute"),
            ("server.trusted_proxies=10.0.0.1/8", "10.0.0.0/8"),
            ("server.trusted_proxies=proxy.example.com", "server.trusted_proxies"),
            ("server.trusted_proxies=0.0.0.0/0", "every caller"),
            ("server.proxy_header=via", "server.proxy_header"),
            ("server.listen=placet.example.com:4000", "placet.example.com:4000"),
        ] {
            let error = set(&[pair]).unwrap_err();
            assert!(error.contains(word), "{pair}: {error}");
        }
    }

    #[test]
    fn a_file_needs_only_what_differs_and_unknown_keys_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("placet.toml");
        std::fs::write(&file, "[limits]\npending_per_agent = 3\n").unwrap();
        assert_eq!(Config::load(Some(&file), &[]).unwrap().limits.pending_per_agent, 3);
        std::fs::write(&file, "[limits]\npending = 3\n").unwrap();
        assert!(Config::load(Some(&file), &[]).unwrap_err().to_string().contains("limits.pending"));
    }
}

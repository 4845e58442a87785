//! What a run may do: the profile that comes with the command. Unknown words and fields are errors.

use std::path::{Component, Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::{names::Pattern, words::Problem};

/// The only version of the profile so far.
pub const VERSION: u32 = 1;
/// Longest profile that is read.
const LONGEST: usize = 256 * 1024;
/// Most entries in one list of a profile.
const MOST: usize = 2048;

/// What one run may read, write and use.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// Version of this form: 1.
    pub version: u32,
    /// Folders that the command may write, by their real absolute paths.
    pub workspace: Vec<PathBuf>,
    /// Where the command starts; below a folder of the workspace.
    pub cwd: PathBuf,
    /// The home folder of the person. The command sees an empty private folder in its place.
    pub home: PathBuf,
    /// More of the machine that the command may read: absolute paths, or `~/` for the home folder.
    #[serde(default)]
    pub show: Vec<String>,
    /// Names that stay as they are although they lie in the workspace, in the form of `[paths]` of a policy.
    #[serde(default)]
    pub read_only: Vec<String>,
    /// Names that cannot be read either.
    #[serde(default)]
    pub hidden: Vec<String>,
    /// Folders of the workspace that are not searched for such names, such as `node_modules`.
    #[serde(default)]
    pub skip: Vec<String>,
    /// Hosts that the command may reach. Only the empty list is supported: no network.
    #[serde(default)]
    pub hosts: Vec<String>,
    /// Environment variables that the command does not get; `*` stands for any characters.
    #[serde(default)]
    pub drop_env: Vec<String>,
    /// What the run may use up.
    #[serde(default)]
    pub limits: Limits,
    /// A folder of Placet's own in which `/tmp` and `~/.cache` are kept for the next run. Without it they are empty, and gone afterwards.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept: Option<PathBuf>,
    /// The request that was claimed for this run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<String>,
    /// One-time mark of that claim.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mark: Option<String>,
}

/// Upper bounds of one run. A bound that is left out has the default; 0 is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Limits {
    /// Wall time in seconds.
    pub seconds: u64,
    /// Processes and threads at the same time.
    pub processes: u64,
    /// Memory of all processes together, in bytes.
    pub memory: u64,
    /// Bytes written to standard output and standard error together, where they are not a terminal.
    pub output: u64,
    /// Bytes in the private temporary folders, each.
    pub temp: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { seconds: 3600, processes: 2048, memory: 8 << 30, output: 64 << 20, temp: 2 << 30 }
    }
}

impl Profile {
    /// Reads a profile: JSON, or the same as base64url for command lines.
    pub fn read(text: &str) -> Result<Self, Problem> {
        if text.len() > LONGEST {
            return Err(Problem::Profile("it is longer than 256 KiB".into()));
        }
        let text = text.trim();
        let profile: Self = if text.starts_with('{') {
            serde_json::from_str(text)
        } else {
            let bytes = data_encoding::BASE64URL_NOPAD
                .decode(text.as_bytes())
                .map_err(|_| Problem::Profile("it is neither JSON nor base64url".into()))?;
            serde_json::from_slice(&bytes)
        }
        .map_err(|error| Problem::Profile(error.to_string()))?;
        profile.check()?;
        Ok(profile)
    }

    /// The form for command lines: base64url, which no shell changes.
    pub fn to_argument(&self) -> Result<String, Problem> {
        let bytes = serde_json::to_vec(self).map_err(|error| Problem::Profile(error.to_string()))?;
        Ok(data_encoding::BASE64URL_NOPAD.encode(&bytes))
    }

    /// Everything that can be said about a profile without looking at the machine.
    pub fn check(&self) -> Result<(), Problem> {
        let refuse = |sentence: String| Err(Problem::Profile(sentence));
        if self.version != VERSION {
            return refuse(format!("version {} is not known", self.version));
        }
        if !self.hosts.is_empty() {
            return refuse("`hosts` must be empty: this version has no network".into());
        }
        let lists = [&self.show, &self.read_only, &self.hidden, &self.skip, &self.drop_env];
        if self.workspace.len() > 64 || lists.iter().any(|list| list.len() > MOST) {
            return refuse("a list has too many entries".into());
        }
        if self.workspace.is_empty() {
            return refuse("`workspace` names no folder".into());
        }
        for path in self.workspace.iter().chain([&self.cwd, &self.home]).chain(&self.kept) {
            if !is_plain(path) {
                return refuse(format!("`{}` is not a plain absolute path", path.display()));
            }
        }
        if let Some(root) = self.workspace.iter().find(|root| is_system(root)) {
            return refuse(format!("`{}` cannot be a workspace", root.display()));
        }
        if is_system(&self.home) {
            return refuse(format!("`{}` cannot be a home folder", self.home.display()));
        }
        if let Some(kept) = &self.kept
            && (is_system(kept) || self.workspace.iter().any(|root| root.starts_with(kept)))
        {
            return refuse(format!("`{}` cannot be kept for temporary files", kept.display()));
        }
        if !self.workspace.iter().any(|root| self.cwd.starts_with(root)) {
            return refuse(format!("`{}` is outside the workspace", self.cwd.display()));
        }
        for name in self.show.iter().chain(&self.read_only).chain(&self.hidden).chain(&self.skip) {
            Pattern::read(name).map_err(|why| Problem::Profile(format!("`{name}`: {why}")))?;
        }
        for name in &self.show {
            let path =
                name.strip_prefix("~/").map_or_else(|| PathBuf::from(name), |rest| self.home.join(rest));
            if !is_plain(&path) || path.as_os_str() == "/" || name.contains(['*', '?']) {
                return refuse(format!("`{name}` in `show` is neither an absolute path nor below `~/`"));
            }
            // Landlock lets everything below the private temporary folders be written.
            if path.starts_with("/tmp") || path.starts_with("/var/tmp") {
                return refuse(format!("`{name}` in `show` lies in a temporary folder"));
            }
        }
        if self.skip.iter().any(|name| name.contains('/')) {
            return refuse("`skip` has names of folders only".into());
        }
        let Limits { seconds, processes, memory, output, temp } = self.limits;
        if [seconds, processes, memory, output, temp].contains(&0) {
            return refuse("a limit is 0".into());
        }
        Ok(())
    }

    /// Whether the command may not have this variable.
    pub fn drops(&self, variable: &str) -> bool {
        // These lead to agents and to Placet itself, whatever the profile says.
        const ALWAYS: [&str; 4] = ["PLACET_*", "SSH_AUTH_SOCK", "SSH_AGENT_PID", "DBUS_SESSION_BUS_ADDRESS"];
        let listed = self.drop_env.iter().map(String::as_str);
        ALWAYS.into_iter().chain(listed).any(|name| crate::names::glob(name.as_bytes(), variable.as_bytes()))
    }
}

/// Absolute, and without `.`, `..` or a trailing slash.
fn is_plain(path: &Path) -> bool {
    let mut parts = path.components();
    parts.next() == Some(Component::RootDir)
        && parts.all(|part| matches!(part, Component::Normal(_)))
        && path.components().collect::<PathBuf>().as_os_str() == path.as_os_str()
}

/// Folders of the machine itself: whoever writes them changes it.
fn is_system(path: &Path) -> bool {
    const SYSTEM: [&str; 12] = [
        "/usr", "/etc", "/bin", "/sbin", "/lib", "/lib64", "/boot", "/dev", "/proc", "/sys", "/run",
        "/var/run",
    ];
    const WHOLE: [&str; 8] = ["/", "/home", "/Users", "/var", "/opt", "/nix", "/tmp", "/var/tmp"];
    let inside = |folder: &str| {
        // Sources are kept below these on some machines.
        path.starts_with(folder) && !path.starts_with("/usr/src") && !path.starts_with("/usr/local/src")
    };
    SYSTEM.iter().any(|folder| inside(folder)) || WHOLE.iter().any(|folder| path == Path::new(folder))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> serde_json::Value {
        serde_json::json!({"version": 1, "workspace": ["/w/p"], "cwd": "/w/p/a", "home": "/home/ada"})
    }

    fn with(key: &str, value: serde_json::Value) -> Result<Profile, Problem> {
        let mut sample = sample();
        sample[key] = value;
        Profile::read(&sample.to_string())
    }

    #[test]
    fn a_profile_survives_the_form_for_command_lines() {
        let profile = Profile::read(&sample().to_string()).unwrap();
        assert_eq!(Profile::read(&profile.to_argument().unwrap()).unwrap(), profile);
    }

    #[test]
    fn unknown_fields_versions_and_hosts_are_refused() {
        assert!(with("colour", "red".into()).is_err());
        assert!(with("version", 2.into()).is_err());
        assert!(with("hosts", serde_json::json!(["example.com"])).is_err());
        assert!(with("limits", serde_json::json!({"seconds": 0})).is_err());
        assert!(with("limits", serde_json::json!({"minutes": 5})).is_err());
        assert!(Profile::read("{}").is_err() && Profile::read("").is_err() && Profile::read("!").is_err());
    }

    #[test]
    fn the_machine_itself_is_no_workspace() {
        for root in ["/", "/usr", "/etc/x", "/home", "w", "/w/../etc", "/w/./x", "/w/", "/proc/1"] {
            assert!(with("workspace", serde_json::json!([root, "/w/p"])).is_err(), "{root}");
        }
        assert!(with("cwd", "/elsewhere".into()).is_err());
        assert!(with("workspace", serde_json::json!([])).is_err());
    }

    #[test]
    fn what_is_kept_is_a_folder_of_its_own() {
        for folder in ["/", "tmp", "/tmp", "/run/x", "/w", "/w/p", "/x/../y"] {
            assert!(with("kept", folder.into()).is_err(), "{folder}");
        }
        assert!(with("kept", "/home/ada/.local/state/placet/tmp/x".into()).is_ok());
    }

    #[test]
    fn what_is_shown_is_a_path_without_patterns() {
        for name in ["/", "relative", "~/../x", "/opt/*", "~/", "/tmp/x"] {
            assert!(with("show", serde_json::json!([name])).is_err(), "{name}");
        }
        assert!(with("show", serde_json::json!(["~/.cargo", "/opt/x"])).is_ok());
    }

    #[test]
    fn variables_are_dropped_by_name_and_by_pattern() {
        let profile = with("drop_env", serde_json::json!(["*_TOKEN", "AWS_*"])).unwrap();
        for name in ["GITHUB_TOKEN", "AWS_X", "PLACET_URL", "SSH_AUTH_SOCK"] {
            assert!(profile.drops(name), "{name}");
        }
        assert!(!profile.drops("PATH") && !profile.drops("TOKENS"));
    }
}

//! Workspace roots: the folders that a person opened to an agent. Rules name them `@workspace`.

use crate::{AdminRefusal, Directory, Door, visible};

/// Most folders of one agent.
const MOST: usize = 32;
/// Longest path, in bytes: what Linux takes.
const LONGEST: usize = 4096;

/// Folders that are too wide for an agent: whole systems, and the folder of all homes.
const TOO_WIDE: [&str; 23] = [
    "bin", "boot", "dev", "etc", "home", "lib", "lib64", "media", "mnt", "opt", "proc", "root", "run",
    "sbin", "sys", "usr", "var", "Users", "System", "Library", "tmp", "private", "export",
];

/// Folders that hold keys, wherever they are.
const KEYS: [&str; 6] = [".ssh", ".gnupg", ".aws", ".kube", ".azure", ".config"];

/// Folders in plain form, sorted, without duplicates. The refusal names the folder that cannot be opened.
pub(crate) fn checked(roots: &[String]) -> Result<Vec<String>, AdminRefusal> {
    if roots.len() > MOST {
        return Err(AdminRefusal::TooManyRoots(MOST));
    }
    let mut plain = roots.iter().map(|root| one(root)).collect::<Result<Vec<_>, _>>()?;
    plain.sort();
    plain.dedup();
    Ok(plain)
}

fn one(root: &str) -> Result<String, AdminRefusal> {
    let refuse = |why| Err(AdminRefusal::BadRoot { root: root.chars().take(200).collect(), why });
    if !root.starts_with('/') || root.starts_with("//") || root.len() > LONGEST {
        return refuse("it is not an absolute path");
    }
    let odd = |letter: char| "\\$`{}%~*?".contains(letter) || (letter != ' ' && !visible(letter));
    if root.chars().any(odd) {
        return refuse("it has a character that programs can read differently");
    }
    let segments: Vec<&str> = root.split('/').filter(|part| !part.is_empty()).collect();
    if segments.iter().any(|part| part.chars().all(|letter| letter == '.' || letter == ' ')) {
        return refuse("it contains `.` or `..`: write the plain path");
    }
    match segments.as_slice() {
        [] => refuse("it is the whole machine"),
        [one] if TOO_WIDE.contains(one) => {
            refuse("it holds a whole system, or all home folders: name one project")
        }
        // Shared memory as files, where tests work.
        ["dev", "shm", _, ..] => Ok(format!("/{}", segments.join("/"))),
        ["etc" | "proc" | "sys" | "dev" | "run" | "boot" | "bin" | "sbin" | "lib" | "lib64", ..]
        | ["var", "lib" | "run" | "log" | "spool" | "cache"]
        | ["private", "etc" | "var" | "tmp"]
        | ["usr", "bin" | "sbin" | "lib" | "share" | "etc" | "local"] => {
            refuse("it is part of the system: name one project")
        }
        segments if segments.iter().any(|part| KEYS.contains(part)) => {
            refuse("keys and passwords are kept there")
        }
        ["home" | "Users", _] | ["var" | "export", "home", _] => {
            refuse("it is a home folder, with keys and passwords in it: name one project")
        }
        segments => Ok(format!("/{}", segments.join("/"))),
    }
}

impl Directory {
    /// The folders that a person opened to this agent.
    pub fn roots(&self, agent: &str) -> &[String] {
        self.agents.get(agent).map_or(&[], |agent| &agent.roots)
    }

    /// Whether this agent's calls through this door may be allowed confined: the agent is marked for it, and the hook
    /// program asks, which can hand the call to `placet run`.
    pub fn confines(&self, agent: &str, source: &str) -> bool {
        Door::named(source).resolves_paths() && self.agents.get(agent).is_some_and(|agent| agent.confine)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn roots(list: &[&str]) -> Result<Vec<String>, AdminRefusal> {
        checked(&list.iter().map(|root| (*root).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn roots_are_kept_in_plain_form_once_each() {
        assert_eq!(roots(&["/srv/b/", "/srv//a", "/srv/b"]).unwrap(), ["/srv/a", "/srv/b"]);
        assert_eq!(roots(&["/workspace", "/home/ann/app", "/root/app"]).unwrap().len(), 3);
        assert_eq!(roots(&[]).unwrap(), [""; 0]);
    }

    #[test]
    fn what_is_no_project_cannot_be_opened() {
        for root in [
            "",
            ".",
            "app",
            "~/app",
            "/",
            "//srv/app",
            "/home",
            "/home/ann",
            "/home/ann/",
            "/root",
            "/Users/ann",
            "/etc",
            "/usr/",
            "/srv/../etc",
            "/srv/./a",
            "/srv/. ./a",
            "/srv/$HOME",
            "/srv/a\nb",
            "/srv/*",
            "/srv/a\u{202e}b",
            "/srv/.. /x",
            "/proc",
            "/tmp",
            "/run/secrets",
            "/root/.ssh",
            "/var/home/ann",
            "/usr/share",
            "/private/etc",
        ] {
            assert!(matches!(roots(&[root]), Err(AdminRefusal::BadRoot { .. })), "{root:?}");
        }
        assert!(roots(&[&format!("/{}", "x".repeat(LONGEST))]).is_err());
        let many: Vec<String> = (0..=MOST).map(|number| format!("/srv/{number}")).collect();
        assert_eq!(checked(&many), Err(AdminRefusal::TooManyRoots(MOST)));
    }
}

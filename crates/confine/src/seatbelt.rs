//! The same policy as a Seatbelt profile for macOS. It is written and compared as text; it was not run here.

use std::fmt::Write as _;

use crate::profile::Profile;

/// The text for `sandbox-exec -p`. Not run here: no macOS machine has tried it yet.
pub fn seatbelt(profile: &Profile) -> String {
    let mut text = String::from(
        "; Placet confinement. Not run here: this text was never tried on a Mac.\n(version 1)\n(deny default)\n\
         (allow process-exec process-fork)\n(allow signal (target same-sandbox))\n(allow sysctl-read)\n\
         (allow file-read* (subpath \"/usr\") (subpath \"/bin\") (subpath \"/sbin\") (subpath \"/System\")\n    \
         (subpath \"/Library\") (subpath \"/opt\") (subpath \"/private/etc\") (literal \"/\"))\n\
         (allow file-read* file-write* (literal \"/dev/null\") (literal \"/dev/zero\") (literal \"/dev/tty\"))\n\
         (allow file-read* (literal \"/dev/random\") (literal \"/dev/urandom\"))\n",
    );
    for name in &profile.show {
        let path = name
            .strip_prefix("~/")
            .map_or_else(|| name.clone(), |rest| profile.home.join(rest).display().to_string());
        let _ = writeln!(text, "(allow file-read* (subpath {}))", quoted(&path));
    }
    for root in &profile.workspace {
        let root = quoted(&root.display().to_string());
        let _ = writeln!(text, "(allow file-read* file-write* (subpath {root}))");
    }
    // Later rules win: first what is fixed, then what is hidden.
    let git = [
        ".git/config",
        ".git/config.worktree",
        ".git/hooks",
        ".git/info",
        ".git/remotes",
        ".git/branches",
        ".git/commondir",
        ".git/modules/*/config",
        ".git/modules/*/hooks",
        ".git/modules/*/info",
        ".git/modules/*/remotes",
        ".git/modules/*/branches",
    ];
    let fixed = profile.read_only.iter().map(String::as_str).filter(|name| *name != ".git");
    for name in git.into_iter().chain(fixed) {
        let _ = writeln!(text, "(deny file-write* (regex {}))", regex(name, profile));
    }
    for name in &profile.hidden {
        let _ = writeln!(text, "(deny file-read* file-write* (regex {}))", regex(name, profile));
    }
    text.push_str("(allow network* (local ip \"localhost:*\") (remote ip \"localhost:*\"))\n");
    text
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

/// A name of the profile as a regular expression over whole paths.
fn regex(name: &str, profile: &Profile) -> String {
    let escape = |text: &str| {
        text.chars().fold(String::new(), |mut out, sign| {
            match sign {
                '*' => out.push_str("[^/]*"),
                '?' => out.push_str("[^/]"),
                sign if sign.is_alphanumeric() || sign == '/' || sign == '_' || sign == '-' => out.push(sign),
                sign => {
                    out.push('\\');
                    out.push(sign);
                }
            }
            out
        })
    };
    let body = if let Some(rest) = name.strip_prefix("~/") {
        format!("^{}/{}", escape(&profile.home.display().to_string()), escape(rest))
    } else if name.starts_with('/') {
        format!("^{}", escape(name))
    } else {
        format!("/{}", escape(name))
    };
    format!("#\"{}(/|$)\"", body.replace('"', "\\\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_become_rules_and_hidden_ones_come_last() {
        let text = serde_json::json!({
            "version": 1, "workspace": ["/Users/ada/p"], "cwd": "/Users/ada/p", "home": "/Users/ada",
            "show": ["~/.cargo"], "read_only": [".git", ".claude"], "hidden": ["~/.ssh", "*.pem", "/etc/x"],
        });
        let rules = seatbelt(&Profile::read(&text.to_string()).unwrap());
        for rule in [
            r#"(allow file-read* (subpath "/Users/ada/.cargo"))"#,
            r#"(allow file-read* file-write* (subpath "/Users/ada/p"))"#,
            r#"(deny file-write* (regex #"/\.claude(/|$)"))"#,
            r#"(deny file-write* (regex #"/\.git/hooks(/|$)"))"#,
            r#"(deny file-write* (regex #"/\.git/remotes(/|$)"))"#,
            r#"(deny file-read* file-write* (regex #"^/Users/ada/\.ssh(/|$)"))"#,
            r#"(deny file-read* file-write* (regex #"/[^/]*\.pem(/|$)"))"#,
            r#"(deny file-read* file-write* (regex #"^/etc/x(/|$)"))"#,
        ] {
            assert!(rules.contains(rule), "{rule}\n{rules}");
        }
        assert!(rules.starts_with("; Placet confinement. Not run here"));
        assert!(rules.contains("(deny default)") && !rules.contains(r#"#"/\.git(/|$)""#));
        assert!(rules.find(".claude").unwrap() < rules.find(".ssh").unwrap());
    }
}

//! `placet up --at-login`: a service of this user, which systemd or launchd starts at login.

use std::{
    path::{Path, PathBuf},
    process::{Command, ExitCode, Stdio},
};

use anyhow::Context as _;

use super::Started;
use crate::{exit::usage, output};

/// The first line of what we write, so that a file of somebody else is left alone.
pub(super) const MARK: &str = "Written by `placet up`";
const UNIT: &str = "placet.service";
const LABEL: &str = "dev.placet.up";

/// The file of the service.
fn file() -> anyhow::Result<PathBuf> {
    let named = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let home = || {
        named("HOME").ok_or_else(|| usage("there is no place for a service: set HOME to an absolute path"))
    };
    if cfg!(target_os = "macos") {
        return Ok(home()?.join("Library/LaunchAgents").join(format!("{LABEL}.plist")));
    }
    let config = match named("XDG_CONFIG_HOME") {
        Some(config) => config,
        None => home()?.join(".config"),
    };
    Ok(config.join("systemd/user").join(UNIT))
}

/// Writes the service and starts it. Returns whether it was started.
pub(super) fn install(started: &Started) -> anyhow::Result<bool> {
    let file = file()?;
    let arguments = started.arguments()?;
    let text = if cfg!(target_os = "macos") { plist(&arguments) } else { unit(&arguments) };
    write(&file, &text)?;
    output::line(&format!("Service  {}", file.display()))?;
    let begun = if cfg!(target_os = "macos") {
        run("launchctl", &["load", "-w", &file.to_string_lossy()])
    } else {
        run("systemctl", &["--user", "daemon-reload"])
            && run("systemctl", &["--user", "enable", UNIT])
            // A service that runs already gets the new settings.
            && run("systemctl", &["--user", "restart", UNIT])
    };
    Ok(begun)
}

/// What to run by hand, if the manager of services could not be reached.
pub(super) const BY_HAND: &str = if cfg!(target_os = "macos") {
    "launchctl load -w ~/Library/LaunchAgents/dev.placet.up.plist"
} else {
    "systemctl --user daemon-reload && systemctl --user enable --now placet.service"
};

/// `placet up --not-at-login`.
pub(super) fn remove() -> anyhow::Result<ExitCode> {
    let file = file()?;
    if !ours(&file)? {
        output::line("There is no service of `placet up` to remove.")?;
        return Ok(ExitCode::SUCCESS);
    }
    let ended = if cfg!(target_os = "macos") {
        run("launchctl", &["unload", "-w", &file.to_string_lossy()])
    } else {
        run("systemctl", &["--user", "disable", "--now", UNIT])
    };
    std::fs::remove_file(&file).with_context(|| format!("cannot remove {}", file.display()))?;
    if !cfg!(target_os = "macos") {
        run("systemctl", &["--user", "daemon-reload"]);
    }
    output::line(&format!("Removed {}. The data stays.", file.display()))?;
    if !ended {
        output::line(
            "The service manager could not be reached: a server that still runs ends with this login.",
        )?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Whether the file is there and is ours. A file of somebody else is an error.
pub(super) fn ours(file: &Path) -> anyhow::Result<bool> {
    match std::fs::read_to_string(file) {
        Ok(text) if text.contains(MARK) => Ok(true),
        Ok(_) => Err(usage(format!(
            "{} was not written by `placet up`, so it is left as it is: remove or rename it first",
            file.display()
        ))),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error).with_context(|| format!("cannot read {}", file.display())),
    }
}

/// Writes the file, unless somebody else wrote the one that is there.
pub(super) fn write(file: &Path, text: &str) -> anyhow::Result<()> {
    ours(file)?;
    let folder = file.parent().context("a service needs a folder")?;
    std::fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let next = file.with_extension("next");
    std::fs::write(&next, text).with_context(|| format!("cannot write {}", next.display()))?;
    std::fs::rename(&next, file).with_context(|| format!("cannot write {}", file.display()))
}

/// Runs a program of the system, and returns whether it worked. What it complains about is shown.
pub(super) fn run(program: &str, args: &[&str]) -> bool {
    Command::new(program)
        .args(args)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// The unit of systemd.
fn unit(arguments: &[String]) -> String {
    let command: Vec<String> = arguments.iter().map(|argument| quoted(argument)).collect();
    format!(
        "# {MARK} --at-login; `placet up --not-at-login` removes it.\n\
         [Unit]\n\
         Description=Placet holds what agents do until a person said yes\n\
         \n\
         [Service]\n\
         ExecStart={}\n\
         Restart=on-failure\n\
         UMask=0077\n\
         NoNewPrivileges=yes\n\
         \n\
         [Install]\n\
         WantedBy=default.target\n",
        command.join(" ")
    )
}

/// An argument in the words of systemd: quoted, and without its specifiers and variables.
pub(super) fn quoted(argument: &str) -> String {
    let mut text = String::from("\"");
    for character in argument.chars() {
        match character {
            '\\' => text.push_str("\\\\"),
            '"' => text.push_str("\\\""),
            '%' => text.push_str("%%"),
            '$' => text.push_str("$$"),
            other => text.push(other),
        }
    }
    text.push('"');
    text
}

/// The property list of launchd. It was not run on a Mac.
fn plist(arguments: &[String]) -> String {
    let escape = |text: &str| text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let words: Vec<String> =
        arguments.iter().map(|word| format!("    <string>{}</string>", escape(word))).collect();
    let words = words.join("\n");
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
         <!DOCTYPE plist PUBLIC \"-//Apple//DTD PLIST 1.0//EN\" \"http://www.apple.com/DTDs/PropertyList-1.0.dtd\">\n\
         <!-- {MARK} at login; the option not-at-login removes it. -->\n\
         <plist version=\"1.0\">\n<dict>\n  <key>Label</key>\n  <string>{LABEL}</string>\n  \
         <key>ProgramArguments</key>\n  <array>\n{words}\n  </array>\n  <key>RunAtLoad</key>\n  <true/>\n  \
         <key>KeepAlive</key>\n  <dict>\n    <key>SuccessfulExit</key>\n    <false/>\n  </dict>\n  \
         <key>Umask</key>\n  <integer>63</integer>\n</dict>\n</plist>\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_stay_words_and_are_not_expanded_by_systemd() {
        assert_eq!(quoted("/home/ann/a b"), "\"/home/ann/a b\"");
        assert_eq!(quoted("100% \"$HOME\" \\"), "\"100%% \\\"$$HOME\\\" \\\\\"");
        let unit = unit(&["/opt/placet".to_owned(), "up".to_owned()]);
        assert!(unit.contains("\nExecStart=\"/opt/placet\" \"up\"\n") && unit.contains(MARK), "{unit}");
    }

    #[test]
    fn the_property_list_has_a_word_for_each_argument_and_no_markup_of_them() {
        let list = plist(&["/a&b".to_owned(), "<up>".to_owned()]);
        assert!(list.contains("<string>/a&amp;b</string>\n    <string>&lt;up&gt;</string>"), "{list}");
        assert!(list.contains(MARK) && !list.contains("--at"), "two hyphens end a comment: {list}");
    }

    #[test]
    fn a_file_of_somebody_else_is_neither_written_nor_removed() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("deep/placet.service");
        assert!(!ours(&file).unwrap());
        write(&file, &unit(&["/a".to_owned()])).unwrap();
        assert!(ours(&file).unwrap());
        write(&file, &unit(&["/b".to_owned()])).unwrap();
        assert!(std::fs::read_to_string(&file).unwrap().contains("\"/b\""));
        std::fs::write(&file, "[Unit]\n").unwrap();
        assert!(write(&file, "x").unwrap_err().to_string().contains("left as it is"));
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "[Unit]\n");
    }
}

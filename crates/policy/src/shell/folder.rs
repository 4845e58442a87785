//! Where the commands of a line run: `cd FOLDER && …` and `git -C FOLDER …`, where there can be no doubt about it.

use std::borrow::Cow;

use super::{Operator, Simple};

/// Programs that open no file which their words name.
pub(crate) const WORDS_ONLY: &[&str] = &[
    "echo", "tr", "date", "seq", "sleep", "basename", "dirname", "id", "which", "whereis", "type", "true",
    "false", "pwd", "uname", "hostname",
];

/// The line sends its commands to more folders than one, or it depends on how they end.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Unclear;

/// A line, and the folder that its commands run in if it says one.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Moved<'a> {
    pub(crate) folder: Option<&'a str>,
    /// The commands without the `cd` that stands before them.
    pub(crate) commands: &'a [Simple],
}

/// Where a line runs.
pub(crate) fn moved(commands: &[Simple]) -> Result<Moved<'_>, Unclear> {
    let is_cd = |command: &Simple| command.argv.first().is_some_and(|program| program == "cd");
    let (folder, rest) = match commands.split_first() {
        Some((first, rest)) if is_cd(first) => (Some(target(first)?), rest),
        _ => (None, commands),
    };
    let by_flag = rest.iter().any(|command| git_folder(command).is_some());
    if rest.iter().any(is_cd) || (folder.is_some() && by_flag) {
        return Err(Unclear);
    }
    if by_flag {
        return Ok(Moved { folder: same_git_folder(rest)?, commands: rest });
    }
    // Without success of the `cd`, what comes after it would run elsewhere.
    let sure = |command: &&Simple| matches!(command.operator, Some(Operator::And | Operator::Pipe));
    let after = rest.iter().skip_while(sure);
    let piped = rest.first().is_some_and(|command| command.operator == Some(Operator::Pipe));
    if folder.is_some() && (piped || !after.clone().all(names_nothing)) {
        return Err(Unclear);
    }
    Ok(Moved { folder, commands: rest })
}

/// The words of a command, without the folder that git is sent to.
pub(crate) fn without_folder(argv: &[String]) -> Cow<'_, [String]> {
    match argv {
        [git, flag, _, rest @ ..] if git == "git" && flag == "-C" => {
            std::iter::once(git).chain(rest).cloned().collect()
        }
        _ => Cow::Borrowed(argv),
    }
}

/// The folder of a plain `cd`. A way up depends on links, and everything else on the shell.
fn target(command: &Simple) -> Result<&str, Unclear> {
    match command.argv.as_slice() {
        [_, folder] if is_plain(folder) && command.redirects.iter().all(super::Redirect::is_free) => {
            Ok(folder)
        }
        _ => Err(Unclear),
    }
}

fn is_plain(folder: &str) -> bool {
    !folder.is_empty() && !folder.starts_with(['-', '~', '+']) && !folder.split('/').any(|part| part == "..")
}

fn git_folder(command: &Simple) -> Option<&str> {
    match command.argv.as_slice() {
        [git, flag, folder, ..] if git == "git" && flag == "-C" => Some(folder),
        _ => None,
    }
}

/// The one folder that every git of the line is sent to, beside commands that name no files.
fn same_git_folder(commands: &[Simple]) -> Result<Option<&str>, Unclear> {
    let folder = commands.iter().find_map(git_folder).filter(|folder| is_plain(folder));
    let same = |command: &Simple| git_folder(command).is_some_and(|other| Some(other) == folder);
    if commands.iter().all(|command| same(command) || names_nothing(command)) {
        Ok(folder)
    } else {
        Err(Unclear)
    }
}

/// Whether a command names no file: whichever folder it runs in is the same to it.
fn names_nothing(command: &Simple) -> bool {
    let Some((program, words)) = command.argv.split_first() else { return false };
    program != "git"
        && command.redirects.iter().all(super::Redirect::is_free)
        && (WORDS_ONLY.contains(&program.as_str())
            || (FILTERS.contains(&program.as_str()) && words.iter().all(|word| word.starts_with('-'))))
}

/// Programs that read their input where no file is named.
const FILTERS: &[&str] = &["head", "tail", "wc", "sort", "uniq", "cat", "nl", "cut", "rev"];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shell::analyse;

    fn folder(text: &str) -> Result<Option<String>, Unclear> {
        let analysis = analyse(text);
        moved(analysis.commands().unwrap()).map(|moved| moved.folder.map(str::to_owned))
    }

    #[test]
    fn one_folder_at_the_beginning_is_where_the_line_runs() {
        for text in
            ["cd a", "cd a && ls", "cd a && ls | wc -l && cat x", "cd a && ls || true", "cd a && x; echo y"]
        {
            assert_eq!(folder(text), Ok(Some("a".to_owned())), "{text}");
        }
        for text in ["git -C a log", "git -C a log | head -5", "git -C a log && git -C a status; echo x"] {
            assert_eq!(folder(text), Ok(Some("a".to_owned())), "{text}");
        }
        assert_eq!(folder("ls && cat x"), Ok(None));
        assert_eq!(folder("cd /srv/app/x && ls"), Ok(Some("/srv/app/x".to_owned())));
    }

    #[test]
    fn a_line_that_may_run_elsewhere_is_unclear() {
        for text in [
            "cd",
            "cd -",
            "cd '~'",
            "cd a b",
            "cd -P a",
            "cd ''",
            "cd ..",
            "cd a/../b && ls",
            "cd a; ls",
            "cd a\nls",
            "cd a && ls || cat x",
            "cd a && ls; cat x",
            "cd a | ls",
            "ls && cd a",
            "cd a && cd b",
            "cd a > x && ls",
            "git -C a log && ls",
            "git -C a log && git log",
            "git -C a log && git -C b log",
            "git -C a log | cat x",
            "git -C a log | head -5 x",
            "cd a && git -C b log",
            "cd a && ls || git status",
            "cd a && ls || true && cat x",
            "cd a && ls; echo y && cat x",
        ] {
            let text = text.replace("\\n", "\n");
            assert_eq!(folder(&text), Err(Unclear), "{text}");
        }
    }
}

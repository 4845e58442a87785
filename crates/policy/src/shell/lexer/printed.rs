//! `"$(cat <<'END' … END)"`: how coding agents write a message of several lines. All that it does is print text that stands
//! in the line, so it is a word like any other, where nobody could read it otherwise.

/// Programs, with their subcommands, to which such a word is a message.
const MESSAGES: &[(&str, &[&str])] = &[
    ("git", &["commit", "tag", "merge", "notes", "stash"]),
    ("gh", &["pr", "issue", "release"]),
    ("glab", &["mr", "issue", "release"]),
];
/// The flags that it may stand after.
const FLAGS: &[&str] =
    &["-m", "--message", "-b", "--body", "-t", "--title", "-n", "--notes", "-d", "--description"];

/// Whether the next word of such a command may be a message that is printed.
pub(super) fn is_expected(argv: &[String]) -> bool {
    let words = |at: usize| argv.get(at).map_or("", String::as_str);
    let folder = words(0) == "git" && words(1) == "-C";
    let subcommand = words(if folder { 3 } else { 1 });
    let listed = MESSAGES.iter().any(|(program, list)| *program == words(0) && list.contains(&subcommand));
    listed && argv.last().is_some_and(|flag| FLAGS.contains(&flag.as_str()))
}

/// The text that is printed, and how long the whole is, if a quoted string begins with it and holds nothing else.
/// `rest`: what comes after the opening quote.
pub(super) fn printed(rest: &str) -> Option<(&str, usize)> {
    const OPENING: &str = "$(cat <<'";
    let (end, body) = rest.strip_prefix(OPENING)?.split_once("'\n")?;
    if end.is_empty() || !end.bytes().all(|byte| byte.is_ascii_alphabetic() || byte == b'_') {
        return None;
    }
    let mut length = 0_usize;
    for line in body.split_inclusive('\n') {
        if line.strip_suffix('\n') == Some(end) {
            let text = body.get(..length)?;
            let closing = body.get(length.checked_add(line.len())?..)?;
            let closed = closing.trim_start_matches([' ', '\t']).strip_prefix(")\"")?;
            let text = text.trim_end_matches('\n');
            return is_plain(text, closed).then_some((text, rest.len().checked_sub(closed.len())?));
        }
        length = length.checked_add(line.len())?;
    }
    None
}

/// Old shells (bash 3.2) look for the closing parenthesis without knowing of here-documents. They find the same one if
/// parentheses come in pairs and no quote stands between; with a quote they find none, if nothing comes after.
fn is_plain(text: &str, after: &str) -> bool {
    let mut open = 0_usize;
    for c in text.chars() {
        match c {
            '(' => open = open.saturating_add(1),
            ')' => match open.checked_sub(1) {
                Some(left) => open = left,
                None => return false,
            },
            '`' | '\\' => return false,
            _ => {}
        }
    }
    let quotes = text.contains(['\'', '"', '#']);
    open == 0
        && (!quotes
            || (after.trim().is_empty() && !text.contains(['(', ')']))
            || is_one_pair_apart(text, after))
}

/// Words such as `don't` beside a link in parentheses: an odd number of quotes of one kind before nothing else is an error to
/// those shells, and nothing runs.
fn is_one_pair_apart(text: &str, after: &str) -> bool {
    after.trim().is_empty() && !text.contains(['"', '#']) && text.matches('\'').count() == 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_the_text_between_its_ends() {
        for (rest, text) in [
            ("$(cat <<'EOF'\nFix it\n\n- a\n- b\nEOF\n)\"", "Fix it\n\n- a\n- b"),
            ("$(cat <<'EOF'\nFix it\n\n\nEOF\n  )\"", "Fix it"),
            ("$(cat <<'E_x'\nsee (this [one](two))\nEOF\nE_x\n)\" && git push", "see (this [one](two))\nEOF"),
            ("$(cat <<'EOF'\ndon't \"do\" #3\nEOF\n)\"  ", "don't \"do\" #3"),
            ("$(cat <<'EOF'\ndon't (really)\nEOF\n)\"", "don't (really)"),
            ("$(cat <<'EOF'\nEOF\n)\"", ""),
            ("$(cat <<'EOF'\n$(rm -rf /) ${x} $y\nEOF\n)\"", "$(rm -rf /) ${x} $y"),
        ] {
            let (found, length) = printed(rest).expect(rest);
            assert_eq!(found, text, "{rest}");
            assert!(rest[..length].ends_with(")\""), "{rest}");
        }
    }

    #[test]
    fn anything_else_is_no_message() {
        for rest in [
            "$(cat <<EOF\na\nEOF\n)\"",
            "$(cat <<\"EOF\"\na\nEOF\n)\"",
            "$(cat <<-'EOF'\na\nEOF\n)\"",
            "$(cat x <<'EOF'\na\nEOF\n)\"",
            "$(cat <<'EOF' x\na\nEOF\n)\"",
            "$(cat <<'EOF' | sh\na\nEOF\n)\"",
            "$(tac <<'EOF'\na\nEOF\n)\"",
            "$(cat <<'EOF'\na\nEOF\nid)\"",
            "$(cat <<'EOF'\na\nEOF\n); id\"",
            "$(cat <<'EOF'\na\n EOF\n)\"",
            "$(cat <<'EOF'\na\nEOF)\"",
            "$(cat <<'EOF'\na\nEOF\n) x\"",
            "$(cat <<'E F'\na\nE F\n)\"",
            "x$(cat <<'EOF'\na\nEOF\n)\"",
            // What an old bash would end at, or read on from.
            "$(cat <<'EOF'\n)\" ; id ; \"(\nEOF\n)\"",
            "$(cat <<'EOF'\n')\" ; id ; echo \"$('\nEOF\n)\"",
            "$(cat <<'EOF'\ndon't\nEOF\n)\" && git push ')\" ; id ; \"'",
            "$(cat <<'EOF'\na' (b) 'c\nEOF\n)\"",
            "$(cat <<'EOF'\n# (\n)\nEOF\n)\"",
            "$(cat <<'EOF'\n`id`\nEOF\n)\"",
            "$(cat <<'EOF'\na\\\nEOF\n)\"",
        ] {
            assert_eq!(printed(rest), None, "{rest}");
        }
    }

    #[test]
    fn only_messages_are_expected() {
        let argv = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        for line in [
            "git commit -m",
            "git -C sub commit --message",
            "git commit -a -m",
            "gh pr create --title x --body",
        ] {
            assert!(is_expected(&argv(line)), "{line}");
        }
        for line in ["git commit", "bash -c", "git config -m", "gh api -b", "rm -m", "git -C commit -m"] {
            assert!(!is_expected(&argv(line)), "{line}");
        }
    }
}

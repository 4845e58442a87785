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
            // The last sign but one is the parenthesis.
            let end = body.len().checked_sub(closed.len())?.checked_sub(2)?;
            return ends_there(body, end).then_some((text, rest.len().checked_sub(closed.len())?));
        }
        length = length.checked_add(line.len())?;
    }
    None
}

/// Old shells (bash 3.2) look for the closing parenthesis without knowing of here-documents. In whatever way one of them skips
/// quotes, comments and escaped signs on its way, it must end at the same place, or find no end, and then nothing runs.
fn ends_there(rest: &str, end: usize) -> bool {
    const WAYS: u8 = 1 << 5;
    (0..WAYS).all(|way| end_by(rest, way).is_none_or(|found| found == end))
}

/// Where the parenthesis is closed, if only those signs mean anything whose bit is set.
fn end_by(text: &str, way: u8) -> Option<usize> {
    let means = |bit: u8| way & (1 << bit) != 0;
    let mut open = 1_usize;
    let mut until = None;
    let mut before = '\n';
    let mut signs = text.char_indices();
    while let Some((at, c)) = signs.next() {
        if c == '\\' && means(0) && !matches!(until, Some('\'' | '\n')) {
            signs.next();
        } else if until.is_some() {
            until = until.filter(|closing| *closing != c);
        } else {
            match c {
                '\'' if means(1) => until = Some(c),
                '"' if means(2) => until = Some(c),
                '`' if means(3) => until = Some(c),
                '#' if means(4) && before.is_whitespace() => until = Some('\n'),
                '(' => open = open.saturating_add(1),
                ')' => open = open.saturating_sub(1),
                _ => {}
            }
        }
        if open == 0 {
            return Some(at);
        }
        before = c;
    }
    None
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
            ("$(cat <<'EOF'\nUse `x` (not \"y\")\nEOF\n)\" && git push", "Use `x` (not \"y\")"),
            ("$(cat <<'EOF'\nit's, isn't (#3)\nEOF\n)\" && git push", "it's, isn't (#3)"),
            ("$(cat <<'EOF'\na\\\nEOF\n)\"", "a\\"),
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
            "$(cat <<'EOF'\na' ( 'c )\" ; id ; \"\nEOF\n)\"",
            "$(cat <<'EOF'\n# (\n)\nEOF\n)\"",
            "$(cat <<'EOF'\n` ( ` )\" ; id ; \"\nEOF\n)\"",
            "$(cat <<'EOF'\n\\( )\" ; id ; \"\nEOF\n)\"",
            "$(cat <<'EOF'\n1) first\nEOF\n)\"",
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

//! Programs that search files: which of their words is what they look for, and not where.

/// Whether a program reads everything below a folder that one of its words names. The patterns of some of git's commands
/// stand for branches and tags.
pub(super) fn reads_below(program: &str, command: Option<&str>) -> bool {
    const REFS: [&str; 5] = ["branch", "tag", "for-each-ref", "show-ref", "ls-remote"];
    match program {
        "git" => command.is_none_or(|command| !REFS.contains(&command)),
        program => matches!(program, "rg" | "grep" | "egrep" | "fgrep"),
    }
}

/// Letters of flags that stand alone, of the programs whose words are known.
const GREP: &str = "nilLcvwxEFPGoqshHabI";
const RG: &str = "nNiSslcvwxFPoqHIUap0";
const GIT: &str = "nilLcvwEFPGohHqWp";
const LONG: &[&str] = &[
    "--line-number",
    "--ignore-case",
    "--files-with-matches",
    "--count",
    "--word-regexp",
    "--fixed-strings",
    "--only-matching",
    "--smart-case",
    "--no-heading",
    "--heading",
    "--multiline",
    "--color=never",
];

/// Where in the words of a search its pattern stands. Nothing where that is not certain.
pub(crate) fn pattern_at<'w>(words: impl Iterator<Item = &'w str>) -> Option<usize> {
    let mut words = words.enumerate();
    let (letters, types) = match words.next()?.1 {
        "grep" | "egrep" | "fgrep" => (GREP, ""),
        "rg" => (RG, "tT"),
        "git" if words.next()?.1 == "grep" => (GIT, ""),
        _ => return None,
    };
    let mut pattern = None;
    while let Some((at, word)) = words.next() {
        let Some(flag) = word.strip_prefix('-') else {
            pattern = pattern.or(Some(at));
            continue;
        };
        let mut flags = flag.trim_start_matches(|letter| letters.contains(letter)).chars();
        match flags.next() {
            None if !flag.is_empty() => {}
            Some('A' | 'B' | 'C' | 'm') if is_number(flags.as_str()) => {}
            Some('A' | 'B' | 'C' | 'm') if flags.as_str().is_empty() => {
                words.next().filter(|(_, value)| is_number(value))?;
            }
            Some(letter) if types.contains(letter) && flags.as_str().is_empty() => {
                words.next().filter(|(_, value)| value.bytes().all(|sign| sign.is_ascii_alphanumeric()))?;
            }
            _ if LONG.contains(&word) => {}
            // It may say what to look for, or take the next word.
            _ => return None,
        }
    }
    pattern
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|sign| sign.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_searched_for_is_found_only_where_it_is_certain() {
        let at = |line: &str| pattern_at(line.split(' '));
        for (line, place) in [
            ("grep -n x a", 2),
            ("grep -A 3 x a", 3),
            ("grep -nA3 x a", 2),
            ("rg x", 1),
            ("rg -t rust -n x src", 4),
            ("rg x src -n --color=never", 1),
            ("git grep -n x", 3),
        ] {
            assert_eq!(at(line), Some(place), "{line}");
        }
        for line in [
            "cat x",
            "rg --files x",
            "rg -e y x",
            "rg x -e y",
            "grep -ney x",
            "grep -f x a",
            "grep -- x a",
            "grep - a",
            "grep -A x a",
            "rg --reg=y x",
            "rg -E x a",
            "git -C a grep x",
            "git log x",
            "grep",
            "git",
        ] {
            assert_eq!(at(line), None, "{line}");
        }
    }
}

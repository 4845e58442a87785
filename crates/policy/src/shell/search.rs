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
const JQ: &str = "rcsSjenMCa";
const GREP: &str = "nilLcvwxEFPGoqshHabIrR";
const RG: &str = "nNiSslcvwxFPoqHIUap0";
const GIT: &str = "nilLcvwEFPGohHqWp";
const LONG: &[&str] = &[
    "--line-number",
    "--ignore-case",
    "--files-with-matches",
    "--count",
    "--word-regexp",
    "--fixed-strings",
    "--extended-regexp",
    "--only-matching",
    "--recursive",
    "--no-messages",
    "--smart-case",
    "--no-heading",
    "--heading",
    "--multiline",
];
/// Long flags with their value in the same word.
const VALUED: &[&str] = &["--include=", "--exclude=", "--exclude-dir=", "--color=", "--glob=", "--type="];

/// Which words of a search say what it looks for, by their place. None where that is not certain.
pub(crate) fn patterns_at<'w>(words: impl Iterator<Item = &'w str>) -> Vec<usize> {
    let mut words = words.enumerate().peekable();
    if words.next_if(|(_, word)| *word == "xargs").is_some() {
        let harmless = |word: &str| matches!(word, "-0" | "-r" | "-0r" | "-r0");
        while words.next_if(|(_, word)| harmless(word)).is_some() {}
    }
    match words.next() {
        Some((_, "jq")) => filter_of_jq(words),
        Some((_, "gh")) => filter_of_gh(words),
        Some((_, "grep" | "egrep" | "fgrep")) => searched(words, GREP, "", ""),
        Some((_, "rg")) => searched(words, RG, "tT", "g"),
        Some((_, "git")) if words.next().is_some_and(|(_, word)| word == "grep") => {
            searched(words, GIT, "", "")
        }
        _ => None,
    }
    .unwrap_or_default()
}

/// The same for the words after the program. `types` and `globs` are letters of flags that take the next word.
fn searched<'w>(
    mut words: impl Iterator<Item = (usize, &'w str)>,
    letters: &str,
    types: &str,
    globs: &str,
) -> Option<Vec<usize>> {
    let (mut first, mut by_flag) = (None, Vec::new());
    while let Some((at, word)) = words.next() {
        let Some(flag) = word.strip_prefix('-') else {
            first = first.or(Some(at));
            continue;
        };
        let mut flags = flag.trim_start_matches(|letter| letters.contains(letter)).chars();
        match flags.next() {
            None if !flag.is_empty() => {}
            Some('A' | 'B' | 'C' | 'm') if is_number(flags.as_str()) => {}
            Some('A' | 'B' | 'C' | 'm') if flags.as_str().is_empty() => {
                words.next().filter(|(_, value)| is_number(value))?;
            }
            // With `POSIXLY_CORRECT` in the environment, `grep` takes no flags behind a file; `rg` always does.
            Some('e') if flags.as_str().is_empty() && (first.is_none() || !types.is_empty()) => {
                by_flag.push(words.next()?.0);
            }
            Some(letter) if types.contains(letter) && flags.as_str().is_empty() => {
                words.next().filter(|(_, value)| value.bytes().all(|sign| sign.is_ascii_alphanumeric()))?;
            }
            Some(letter) if globs.contains(letter) && flags.as_str().is_empty() => {
                words.next()?;
            }
            _ if LONG.contains(&word) || VALUED.iter().any(|flag| word.starts_with(flag)) => {}
            // It may say what to look for, or take the next word.
            _ => return None,
        }
    }
    Some(if by_flag.is_empty() { first.into_iter().collect() } else { by_flag })
}

/// The filter of `jq`: the first word that is no flag. Nothing where any flag may take it, or brings a filter along.
fn filter_of_jq<'w>(words: impl Iterator<Item = (usize, &'w str)>) -> Option<Vec<usize>> {
    let mut filter = None;
    for (at, word) in words {
        match word.strip_prefix('-') {
            Some(flags) if !flags.is_empty() && flags.chars().all(|flag| JQ.contains(flag)) => {}
            Some(_) => return None,
            None => filter = filter.or(Some(at)),
        }
    }
    filter.map(|at| vec![at])
}

/// The filter that `gh` hands to its own `jq`.
fn filter_of_gh<'w>(words: impl Iterator<Item = (usize, &'w str)>) -> Option<Vec<usize>> {
    let mut before = "";
    for (at, word) in words {
        if matches!(before, "-q" | "--jq") || word.starts_with("--jq=") {
            return Some(vec![at]);
        }
        before = word;
    }
    None
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|sign| sign.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_searched_for_is_found_only_where_it_is_certain() {
        let at = |line: &str| patterns_at(line.split(' '));
        for (line, place) in [
            ("grep -n x a", 2),
            ("grep -A 3 x a", 3),
            ("grep -nA3 x a", 2),
            ("rg x", 1),
            ("rg -t rust -n x src", 4),
            ("rg x src -n --color=never", 1),
            ("git grep -n x", 3),
            ("rg x -e y", 3),
            ("rg -g *.rs x", 3),
            ("grep -rne y x", 2),
            ("grep -rn x src --include=*.go", 2),
            ("xargs grep -l x", 3),
            ("xargs -0 grep x", 3),
            ("jq .a x.json", 1),
            ("jq -r -c .a", 3),
            ("gh pr view 1 -q .a", 5),
            ("gh api repos/o/n --jq=.a", 3),
        ] {
            assert_eq!(at(line), [place], "{line}");
        }
        for line in [
            "cat x",
            "rg --files x",
            "grep -ney x",
            "grep -f x a",
            "grep -e",
            "xargs -I{} grep x {}",
            "xargs sh -c grep",
            "grep -- x a",
            "grep - a",
            "grep -A x a",
            "rg --reg=y x",
            "rg -E x a",
            "git -C a grep x",
            "git log x",
            "grep",
            "git",
            "jq",
            "jq -f x",
            "jq --arg a b .a",
            "jq -L x .a",
            "jq .env -f x.jq",
            "grep S -e x",
            "grep S -n -e x",
            "gh pr view 1",
        ] {
            assert!(at(line).is_empty(), "{line}");
        }
    }
}

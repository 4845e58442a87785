//! Filters of `jq`: which of them read their input and nothing else.

/// Names by which a filter reads the environment or other files, or runs without end. `def` is here because a function may call itself.
const FURTHER: [&str; 13] = [
    "env",
    "import",
    "include",
    "modulemeta",
    "input_filename",
    "get_search_list",
    "def",
    "repeat",
    "until",
    "while",
    "infinite",
    "recurse",
    "range",
];

/// Whether no word names anything beyond the input. Every word is looked at, because it depends on the flags which one is the filter.
pub(super) fn only_reads_input(words: &[String]) -> bool {
    words.iter().all(|word| is_plain(word))
}

/// Whether a filter can only pick from its input and build something of it.
pub(super) fn is_plain(filter: &str) -> bool {
    let name = |sign: char| sign.is_ascii_alphanumeric() || sign == '_';
    // `$ENV` is a variable, and the program knows it in this spelling alone. In any case is simpler and stricter.
    !filter
        .split(|sign| !name(sign))
        .any(|part| FURTHER.iter().any(|further| part.eq_ignore_ascii_case(further)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_that_picks_from_its_input_is_plain() {
        for filter in [
            ".",
            ".[] | {id, path: .file.path}",
            ".agent_type // \"NOT SET\"",
            "map(select(.state == \"open\")) | length",
            "group_by(.a) | map({a: .[0].a, n: length})",
            "..|.id?",
            ".environment",
            "\"\\(.owner.login)/\\(.name)\"",
        ] {
            assert!(is_plain(filter), "{filter}");
        }
    }

    #[test]
    fn a_filter_that_reads_more_than_its_input_or_may_not_end_is_not_plain() {
        for filter in [
            "env",
            "$ENV",
            "$ENV.PATH",
            ".a|env.HOME",
            "\"\\(env)\"",
            "import \"a\" as $a; .",
            "include \"a\"; .",
            "\"a\"|modulemeta",
            "def f: f; f",
            "repeat(.)",
            "[range(1e9)]",
            "[.[]|until(false; .)]",
            "recurse(.+1)",
            "input_filename",
        ] {
            assert!(!is_plain(filter), "{filter}");
        }
    }
}

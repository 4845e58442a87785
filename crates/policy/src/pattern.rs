//! Regular expressions as whole automata, built when the policy is read: one step per byte of text and never more,
//! whatever the pattern. A pattern whose automaton would be large is refused instead of being slow later.

use regex_automata::{
    Input, MatchKind,
    dfa::{Automaton as _, StartKind, dense},
    nfa::thompson,
    util::syntax,
};

use crate::work::{Trouble, WorkBudget};

/// Largest automaton, in bytes.
pub(crate) const SIZE: usize = 256 * 1024;
/// Longest pattern, in bytes.
pub(crate) const LENGTH: usize = 1024;

/// A compiled pattern.
pub(crate) struct Pattern {
    text: Box<str>,
    automaton: dense::DFA<Vec<u32>>,
    anchored: bool,
}

impl std::fmt::Debug for Pattern {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Pattern").field(&self.text).finish()
    }
}

impl Pattern {
    /// Compiles a pattern; the error says what is wrong and what to do.
    pub(crate) fn new(text: &str) -> Result<Self, (String, String)> {
        if text.len() > LENGTH {
            return Err((
                format!("the pattern is longer than {LENGTH} bytes"),
                "split it into several rules".to_owned(),
            ));
        }
        let hir = syntax::parse(text).map_err(|error| {
            // The library draws a picture over several lines; its last line says it in words.
            let error = error.to_string();
            let words = error.lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned();
            (
                format!("the pattern `{}` is not a regular expression: {words}", text.escape_debug()),
                "write it in the syntax of Rust's regex crate; there are no look-arounds and no back-references"
                    .to_owned(),
            )
        })?;
        let looks = hir.properties();
        // By their letters: A and z are the start and the end of the text, as opposed to those of a line.
        let anchored = looks.look_set_prefix().iter().any(|look| look.as_char() == 'A')
            && looks.look_set_suffix().iter().any(|look| look.as_char() == 'z');
        let too_large = || {
            (
                format!(
                    "the pattern `{}` needs more than {} KiB when compiled",
                    text.escape_debug(),
                    SIZE / 1024
                ),
                "make counted repetitions smaller and `\\w`, `\\d`, `\\s` plain ASCII with `(?-u)`"
                    .to_owned(),
            )
        };
        let nfa = thompson::Compiler::new()
            .configure(thompson::Config::new().nfa_size_limit(Some(SIZE)))
            .build_from_hir(&hir)
            .map_err(|_| too_large())?;
        let config = dense::Config::new()
            .start_kind(StartKind::Unanchored)
            .match_kind(MatchKind::LeftmostFirst)
            .unicode_word_boundary(true)
            .dfa_size_limit(Some(SIZE))
            .determinize_size_limit(Some(4 * SIZE));
        let automaton =
            dense::Builder::new().configure(config).build_from_nfa(&nfa).map_err(|_| too_large())?;
        Ok(Self { text: text.into(), automaton, anchored })
    }

    /// Whether every match begins and ends with the text itself.
    pub(crate) const fn anchored(&self) -> bool {
        self.anchored
    }

    /// Size in memory, in bytes.
    pub(crate) fn size(&self) -> usize {
        self.automaton.memory_usage()
    }

    pub(crate) fn matches(&self, text: &str, work: &WorkBudget<'_>) -> Result<bool, Trouble> {
        work.spend(text.len().saturating_add(40))?;
        // The only failure is a Unicode word boundary beside a letter outside ASCII.
        self.automaton
            .try_search_fwd(&Input::new(text).earliest(true))
            .map(|found| found.is_some())
            .map_err(|_| Trouble::Doubtful("`\\b` cannot be told beside letters outside ASCII"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(pattern: &str, text: &str) -> bool {
        Pattern::new(pattern).unwrap().matches(text, &WorkBudget::new()).unwrap()
    }

    #[test]
    fn patterns_match_as_regular_expressions_do() {
        assert!(matches("^[a-z]+$", "abc"));
        assert!(!matches("^[a-z]+$", "abc1"));
        assert!(!matches("^git .*$", "git log\nrm -rf /"), "a dot is no line break");
        assert!(matches("rm|sudo", "use sudo now"));
        assert!(matches(r"\brm\b", "a rm b"));
        assert!(!matches("^abc$", "abc\n"), "the end is the end of the text");
    }

    #[test]
    fn only_patterns_that_cover_the_whole_text_count_as_anchored() {
        let anchored = |pattern: &str| Pattern::new(pattern).unwrap().anchored();
        for whole in ["^a$", r"\Aa\z", "^(a|b)$", "^a$|^b$", "(?i)^a$"] {
            assert!(anchored(whole), "{whole}");
        }
        for part in ["a", "^a", "a$", "^a|b$", "^a$|b", "(?m)^a$", "^a*|b$"] {
            assert!(!anchored(part), "{part}");
        }
    }

    #[test]
    fn a_word_boundary_beside_other_letters_is_an_error_and_not_a_guess() {
        let pattern = Pattern::new(r"\brm\b").unwrap();
        assert!(pattern.matches("größe rm", &WorkBudget::new()).is_err());
    }

    #[test]
    fn hostile_patterns_are_refused_or_fast() {
        let text = "a".repeat(200_000);
        for pattern in [
            "(a*)*b",
            "(a|aa)+$",
            "(a+)+$",
            "^(a?){30}a{30}$",
            "(x+x+)+y",
            "(.*)*=.*",
            "^(([a-z])+.)+[A-Z]([a-z])+$",
        ] {
            if let Ok(pattern) = Pattern::new(pattern) {
                assert!(pattern.size() <= SIZE);
                let _ = pattern.matches(&text, &WorkBudget::new());
            }
        }
        for pattern in [
            r"\w{1000}",
            "(a{100}){100}",
            "((((a{30}){30}){30}){30})",
            "[01]*1[01]{24}$",
            "(?:a?){5000}",
            "(",
            "a{2,1}",
            r"(a)\1",
            "(?=a)",
            &"a".repeat(1025),
            &"(".repeat(1000),
        ] {
            assert!(Pattern::new(pattern).is_err(), "{pattern}");
        }
    }

    #[test]
    fn the_size_of_a_pattern_is_that_of_its_automaton() {
        let (short, long) = (Pattern::new("^a$").unwrap(), Pattern::new("^[a-z]{30}$").unwrap());
        assert!(short.size() > 100 && long.size() > short.size() && long.size() <= SIZE);
    }

    #[test]
    fn a_pattern_shows_its_text_and_costs_a_step_for_each_byte() {
        let pattern = Pattern::new("^ab$").unwrap();
        assert_eq!(format!("{pattern:?}"), "Pattern(\"^ab$\")");
        let work = WorkBudget::new();
        assert_eq!(pattern.matches(&"x".repeat(1000), &work), Ok(false));
        assert_eq!(work.spent(), 1040);
        assert!(Pattern::new(&"a".repeat(LENGTH)).is_ok());
    }
}

//! Names and globs: `*` stands for any run of characters, `?` for one, everything else for itself.

/// Longest pattern, in bytes.
pub(crate) const LENGTH: usize = 256;
/// Most stars in one pattern.
pub(crate) const STARS: usize = 8;

/// One name, or a glob over names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Name {
    Exact(Box<str>),
    Glob(Glob),
}

/// A glob, with what every match begins and ends with taken out: most texts fail on that already.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Glob {
    text: Box<str>,
    prefix: Box<str>,
    suffix: Box<str>,
    shape: Shape,
}

/// How much there is to look at between the beginning and the end.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Shape {
    /// `begin*end`: nothing.
    Ends,
    /// `*middle*`: one text, anywhere.
    Contains(Box<str>),
    /// Anything else.
    General,
}

impl Glob {
    fn new(text: &str) -> Self {
        let wild = ['*', '?'];
        let prefix = text.split(wild).next().unwrap_or_default();
        let suffix = text.rsplit(wild).next().unwrap_or_default();
        let inside = text.strip_prefix('*').and_then(|rest| rest.strip_suffix('*'));
        let shape = match inside {
            Some(inside) if !inside.is_empty() && !inside.contains(wild) => Shape::Contains(inside.into()),
            _ if text.bytes().filter(|byte| b"*?".contains(byte)).count() == 1 && text.contains('*') => {
                Shape::Ends
            }
            _ => Shape::General,
        };
        Self { text: text.into(), prefix: prefix.into(), suffix: suffix.into(), shape }
    }

    fn matches(&self, text: &str) -> bool {
        let ends = || {
            text.len() >= self.prefix.len().saturating_add(self.suffix.len())
                && text.as_bytes().ends_with(self.suffix.as_bytes())
                && text.as_bytes().starts_with(self.prefix.as_bytes())
        };
        match &self.shape {
            Shape::Ends => ends(),
            Shape::Contains(inside) => text.contains(&**inside),
            Shape::General => ends() && glob_matches(&self.text, text),
        }
    }
}

impl Name {
    /// Reads a pattern; the error says what is wrong with it.
    pub(crate) fn read(text: &str) -> Result<Self, &'static str> {
        if text.is_empty() {
            return Err("it is empty");
        }
        if text.len() > LENGTH {
            return Err("it is longer than 256 bytes");
        }
        if text.contains("**") {
            return Err("`**` says no more than `*`");
        }
        if text.contains(['[', ']', '{', '}', '\\']) {
            return Err("brackets, braces and backslashes have no meaning in a glob");
        }
        if text.chars().any(char::is_control) {
            return Err("it holds a control character");
        }
        if text.bytes().filter(|byte| *byte == b'*').count() > STARS {
            return Err("it has more than 8 stars");
        }
        let glob = text.contains(['*', '?']);
        Ok(if glob { Self::Glob(Glob::new(text)) } else { Self::Exact(text.into()) })
    }

    pub(crate) fn matches(&self, text: &str) -> bool {
        match self {
            Self::Exact(name) => &**name == text,
            Self::Glob(glob) => glob.matches(text),
        }
    }

    /// The same in lower case.
    pub(crate) fn to_lower(&self) -> Self {
        match self {
            Self::Exact(text) => Self::Exact(text.to_ascii_lowercase().into()),
            Self::Glob(glob) => Self::Glob(Glob::new(&glob.text.to_ascii_lowercase())),
        }
    }

    pub(crate) fn text(&self) -> &str {
        match self {
            Self::Exact(text) => text,
            Self::Glob(glob) => &glob.text,
        }
    }

    /// The letters every match begins with.
    pub(crate) fn prefix(&self) -> &str {
        match self {
            Self::Exact(text) => text,
            Self::Glob(glob) => &glob.prefix,
        }
    }
}

/// Greedy with one step back to the last star: linear but for the length of the pattern.
fn glob_matches(glob: &str, text: &str) -> bool {
    let (mut glob, mut text) = (glob.chars(), text.chars());
    let mut star: Option<(std::str::Chars<'_>, std::str::Chars<'_>)> = None;
    loop {
        let (mut next_glob, mut next_text) = (glob.clone(), text.clone());
        match (next_glob.next(), next_text.next()) {
            (Some('*'), _) => {
                star = Some((next_glob.clone(), text.clone()));
                glob = next_glob;
            }
            (Some('?'), Some(_)) => (glob, text) = (next_glob, next_text),
            (Some(want), Some(is)) if want == is => (glob, text) = (next_glob, next_text),
            (None, None) => return true,
            _ => {
                let Some((after, from)) = &mut star else { return false };
                if from.next().is_none() {
                    return false;
                }
                (glob, text) = (after.clone(), from.clone());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn matches(glob: &str, text: &str) -> bool {
        Name::read(glob).unwrap().matches(text)
    }

    #[test]
    fn a_star_is_any_run_and_a_question_mark_one_character() {
        assert!(matches("github/*", "github/"));
        assert!(matches("github/*", "github/a/b"));
        assert!(!matches("github/*", "github"));
        assert!(matches("*_read", "db_read"));
        assert!(matches("a*b*c", "aXbYbZc"));
        assert!(!matches("a*b*c", "aXbYbZ"));
        assert!(matches("r?", "rö"));
        assert!(!matches("r?", "r"));
        assert!(!matches("Read", "read"));
        assert!(!matches("ab*ba", "aba"), "beginning and end do not share letters");
        assert!(matches("ab*ba", "abba"));
        assert!(matches("*ab*", "xabx") && matches("*ab*", "ab") && !matches("*ab*", "axb"));
        assert!(Name::read("Read*").unwrap().to_lower().matches("read_file"));
    }

    #[test]
    fn globs_that_promise_what_they_do_not_hold_are_refused() {
        for bad in ["", "a**", "[ab]", "{a,b}", "a\\*", "a\nb", &"x".repeat(257), "*a*a*a*a*a*a*a*a*"] {
            assert!(Name::read(bad).is_err(), "{bad}");
        }
    }

    /// Slow and obvious.
    fn slow(glob: &[char], text: &[char]) -> bool {
        match glob.split_first() {
            None => text.is_empty(),
            Some(('*', rest)) => (0..=text.len()).any(|at| slow(rest, &text[at..])),
            Some(('?', rest)) => !text.is_empty() && slow(rest, &text[1..]),
            Some((want, rest)) => text.first() == Some(want) && slow(rest, &text[1..]),
        }
    }

    proptest! {
        #[test]
        fn a_glob_matches_what_the_slow_model_matches(glob in "[ab?*]{1,8}", text in "[ab]{0,10}") {
            prop_assume!(!glob.contains("**"));
            let (g, t): (Vec<char>, Vec<char>) = (glob.chars().collect(), text.chars().collect());
            prop_assert_eq!(matches(&glob, &text), slow(&g, &t));
        }
    }

    #[test]
    fn a_glob_may_have_256_bytes_and_8_stars() {
        assert!(Name::read(&"x".repeat(LENGTH)).is_ok());
        assert!(Name::read(&"x".repeat(LENGTH + 1)).is_err());
        assert!(Name::read(&"*a".repeat(STARS)).is_ok());
        assert!(Name::read(&"*a".repeat(STARS + 1)).is_err());
        assert_eq!((LENGTH, STARS), (256, 8));
    }
}

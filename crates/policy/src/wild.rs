//! Patterns for names of files, as agents and git read them: which names one may stand for. In doubt it may.

/// Longest text whose braces are written out, most braces in it, and most texts that come of it.
const LONGEST: usize = 1024;
const BRACES: usize = 12;
const MOST: usize = 64;

/// Whether some program may read the text as a pattern.
pub(crate) fn is_wild(text: &str) -> bool {
    text.contains(['*', '?', '[', '{', '('])
}

/// Every text that `{a,b}` stands for, the text itself if there is none. Nothing where that would be too many.
pub(crate) fn alternatives(text: &str) -> Option<Vec<String>> {
    if !text.contains('{') {
        return Some(vec![text.to_owned()]);
    }
    let many = text.len() > LONGEST || text.matches('{').count() > BRACES;
    if many { None } else { written_out(text) }
}

fn written_out(text: &str) -> Option<Vec<String>> {
    let Some((before, inside, after)) = first_braces(text) else { return Some(vec![text.to_owned()]) };
    let parts = split_outside(inside);
    let mut middles = Vec::new();
    for part in &parts {
        middles.extend(written_out(part)?);
    }
    if parts.len() == 1 {
        // A range to some, the text without its braces to others, and the text as it is to the rest.
        middles.push(if inside.contains("..") { "*".to_owned() } else { format!("{{{inside}}}") });
    }
    let ends = written_out(after)?;
    if middles.len().saturating_mul(ends.len()) > MOST {
        return None;
    }
    let whole = |middle: &String| ends.iter().map(|end| format!("{before}{middle}{end}")).collect::<Vec<_>>();
    Some(middles.iter().flat_map(whole).collect())
}

/// What stands before, in and after the first pair of braces.
fn first_braces(text: &str) -> Option<(&str, &str, &str)> {
    text.match_indices('{').find_map(|(start, _)| {
        let (before, rest) = text.split_at_checked(start)?;
        let rest = rest.strip_prefix('{')?;
        let mut depth = 1_usize;
        let end = rest.find(|sign| {
            match sign {
                '{' => depth = depth.saturating_add(1),
                '}' => depth = depth.saturating_sub(1),
                _ => {}
            }
            depth == 0
        })?;
        let (inside, after) = rest.split_at_checked(end)?;
        Some((before, inside, after.strip_prefix('}')?))
    })
}

/// The parts between commas that stand in no inner braces.
fn split_outside(text: &str) -> Vec<&str> {
    let mut depth = 0_usize;
    text.split(|sign| {
        match sign {
            '{' => depth = depth.saturating_add(1),
            '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        sign == ',' && depth == 0
    })
    .collect()
}

/// One sign of a pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Token {
    One(char),
    /// `?`
    Any,
    /// `[a-z]`, with its signs and whether it is about all others.
    Class(Vec<(char, char)>, bool),
    /// `*`, and every group of which only a program knows what it stands for.
    Run,
}

impl Token {
    fn meets(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::One(left), Self::One(right)) => left == right,
            (Self::Class(ranges, others), Self::One(sign))
            | (Self::One(sign), Self::Class(ranges, others)) => {
                let upper = sign.to_ascii_uppercase();
                let has = |sign: char| ranges.iter().any(|(from, to)| (*from..=*to).contains(&sign));
                // Case does not count, so one of both is enough.
                has(*sign) != *others || has(upper) != *others
            }
            _ => true,
        }
    }
}

fn tokens(pattern: &str) -> Vec<Token> {
    let mut out = Vec::new();
    let mut rest = pattern;
    while let Some(sign) = rest.chars().next() {
        let after = rest.strip_prefix(sign).unwrap_or_default();
        let (token, left) = match sign {
            '[' => class(after).unwrap_or((Token::One('['), after)),
            '@' | '!' | '+' | '?' | '*' if after.starts_with('(') && after.contains(')') => {
                (Token::Run, after.split_once(')').map_or("", |(_, left)| left))
            }
            '(' => match after.split_once(')') {
                Some((inside, left)) if inside.contains('|') => (Token::Run, left),
                _ => (Token::One('('), after),
            },
            '*' => (Token::Run, after),
            '?' => (Token::Any, after),
            sign => (Token::One(sign), after),
        };
        out.push(token);
        rest = left;
    }
    out
}

/// A class, of which the first bracket is read, and what follows it.
fn class(text: &str) -> Option<(Token, &str)> {
    let others = text.starts_with(['!', '^']);
    let inside = text.strip_prefix(['!', '^']).unwrap_or(text);
    let end = class_end(inside)?;
    let (signs, left) = inside.split_at_checked(end)?;
    let left = left.strip_prefix(']')?;
    if signs.contains("[:") || signs.contains("[=") || signs.contains("[.") {
        return Some((Token::Any, left));
    }
    let signs: Vec<char> = signs.chars().collect();
    let mut ranges: Vec<(char, char)> = signs.iter().map(|sign| (*sign, *sign)).collect();
    ranges.extend(signs.windows(3).filter_map(|window| match window {
        [from, '-', to] => Some((*from, *to)),
        _ => None,
    }));
    // Of a class that is about all others, a sign too many would leave out a name.
    if others && ranges.len() > signs.len() {
        return Some((Token::Any, left));
    }
    Some((Token::Class(ranges, others), left))
}

/// Where a class ends. A bracket that comes first is one of its signs, and `[:alpha:]` has one of its own.
fn class_end(inside: &str) -> Option<usize> {
    let mut skip = 0;
    inside.char_indices().find_map(|(at, sign)| {
        if at < skip {
            return None;
        }
        let rest = inside.get(at..)?;
        let named = [("[:", ":]"), ("[=", "=]"), ("[.", ".]")].iter().find_map(|(open, close)| {
            let length = rest.strip_prefix(open)?.find(close)?;
            Some(length.saturating_add(4))
        });
        skip = at.saturating_add(named.unwrap_or(0));
        (sign == ']' && at > 0).then_some(at)
    })
}

/// A pattern, taken apart once. What every name of it begins and ends with tells most others apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Pattern {
    tokens: Vec<Token>,
    start: String,
    end: String,
}

impl Pattern {
    pub(crate) fn new(text: &str) -> Self {
        let tokens = tokens(text);
        let sign = |token: &Token| match token {
            Token::One(sign) => Some(*sign),
            _ => None,
        };
        let start = tokens.iter().map_while(sign).collect();
        let end: Vec<char> = tokens.iter().rev().map_while(sign).collect();
        Self { start, end: end.into_iter().rev().collect(), tokens }
    }

    /// Whether it stands for this name.
    pub(crate) fn fits(&self, name: &str) -> bool {
        name.starts_with(&self.start) && name.ends_with(&self.end) && meet(&self.tokens, &tokens(name))
    }

    /// Whether one name fits both.
    pub(crate) fn overlaps(&self, other: &Self) -> bool {
        let starts = self.start.starts_with(&other.start) || other.start.starts_with(&self.start);
        let ends = self.end.ends_with(&other.end) || other.end.ends_with(&self.end);
        starts && ends && meet(&self.tokens, &other.tokens)
    }

    /// Whether it says how its names begin. One that begins with a star may stand for anything.
    pub(crate) fn begins(&self) -> bool {
        let first = self.tokens.iter().find(|token| **token != Token::One('.'));
        first.is_some_and(|token| *token != Token::Run)
    }
}

fn meet(left: &[Token], right: &[Token]) -> bool {
    let mut row = vec![true];
    row.extend(right.iter().scan(true, |reached, token| {
        *reached = *reached && *token == Token::Run;
        Some(*reached)
    }));
    for token in left {
        let mut next: Vec<bool> = Vec::with_capacity(row.len());
        for at in 0..row.len() {
            let here = row.get(at).is_some_and(|reached| *reached);
            let step = at.checked_sub(1).and_then(|before| {
                let sign = right.get(before)?;
                let run = *sign == Token::Run;
                let taken = *row.get(before)? && !run && token.meets(sign);
                Some((*next.get(before)? && (run || *token == Token::Run)) || taken)
            });
            let stays = here && (*token == Token::Run || right.get(at) == Some(&Token::Run));
            next.push(stays || step == Some(true));
        }
        row = next;
    }
    row.last() == Some(&true)
}

/// Whether a part of a path may be the way up: `.[.]`, `[!a].`. Stars stand for what lies in a folder, and that never does.
pub(crate) fn could_climb(part: &str) -> bool {
    let group = part.contains('(');
    let picked = part.contains('[') && !tokens(part).contains(&Token::Run);
    part == ".." || ((group || picked) && Pattern::new(part).fits(".."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn braces_are_written_out() {
        let all = |text: &str| alternatives(text).unwrap();
        assert_eq!(all("a"), ["a"]);
        assert_eq!(all("{a,b}c{d,}"), ["acd", "ac", "bcd", "bc"]);
        assert_eq!(all("{a,{b,c}d}"), ["a", "bd", "cd"]);
        assert_eq!(all("x{y}"), ["xy", "x{y}"]);
        assert_eq!(all("{a..c}"), ["a..c", "*"]);
        assert_eq!(all("{a"), ["{a"]);
        assert_eq!(all("{{a,b}"), ["{a", "{b"]);
        assert_eq!(alternatives(&"{a,b}".repeat(7)), None);
        assert_eq!(alternatives(&"{".repeat(20)), None);
    }

    fn overlap(left: &str, right: &str) -> bool {
        Pattern::new(left).overlaps(&Pattern::new(right))
    }

    #[test]
    fn two_patterns_overlap_where_one_name_fits_both() {
        for (left, right) in [
            ("*", ".env"),
            ("*.env", ".env"),
            (".[e]nv", ".env"),
            (".[!x]nv", ".env"),
            (".[E]nv", ".env"),
            ("[[:punct:]]env", ".env"),
            ("?env", ".env"),
            ("te*", "*.pem"),
            ("a*b*c", "*bxc"),
            ("@(a|b)", "x"),
            (".e(n|m)v", ".env"),
            ("", ""),
            ("", "*"),
            ("**", ""),
        ] {
            assert!(overlap(left, right) && overlap(right, left), "{left} {right}");
        }
        for (left, right) in [
            ("*.rs", ".env"),
            (".[x]nv", ".env"),
            (".[!eE]nv", ".env"),
            ("?", ".env"),
            ("a*", "b*"),
            ("*a", "*b"),
            ("", "a"),
            ("(x)env", ".env"),
        ] {
            assert!(!overlap(left, right) && !overlap(right, left), "{left} {right}");
        }
    }

    #[test]
    fn a_part_that_may_be_the_way_up_is_noticed() {
        for up in ["..", ".[.]", "[.]./".trim_end_matches('/'), "[!a][!b]", "@(..|x)", ".(.|x)"] {
            assert!(could_climb(up), "{up}");
        }
        for down in ["*", "**", ".*", "?", "??", "[id]", "[a-z]*", ".git", "(app)", "...", "[...slug]"] {
            assert!(!could_climb(down), "{down}");
        }
    }
}

//! Which rows a DELETE or an UPDATE is about: all of them, or those of a condition that may be no condition at all.

use super::tokens::Token;

/// What can be said of the condition of a statement. That there is one is no reassurance, so nothing is said of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rows {
    /// There is no WHERE.
    Every,
    /// It holds for every row.
    True,
    /// It names no column, so it holds for every row or for none.
    Constant,
    /// It depends on the row, as far as one can tell.
    Some,
}

/// Words that end a condition.
const ENDS: &[&str] = &["RETURNING", "ORDER", "LIMIT", "GROUP", "UNION", "OPTION"];
/// Words in a condition that name no column.
const SIGNS: &[&str] =
    &["AND", "OR", "NOT", "IS", "NULL", "TRUE", "FALSE", "LIKE", "IN", "BETWEEN", "ANY", "ALL"];

/// The rows of the statement that begins with its verb here.
pub(super) fn of(tokens: &[Token<'_>]) -> Rows {
    let mut depth = 0_i32;
    let mut start = None;
    let mut end = tokens.len();
    for (at, token) in tokens.iter().enumerate() {
        let before = at.checked_sub(1).and_then(|at| tokens.get(at));
        match token {
            Token::Sign('(') => depth = depth.saturating_add(1),
            Token::Sign(')') if depth == 0 => {
                end = at;
                break;
            }
            Token::Sign(')') => depth = depth.saturating_sub(1),
            _ if depth > 0 => {}
            token if token.among(ENDS).is_some() => {
                end = at;
                break;
            }
            token if token.is("WHERE") && start.is_none() => {
                let name = before.is_some_and(|before| before.is("AS") || *before == Token::Sign('.'));
                start = (!name).then(|| at.saturating_add(1));
            }
            _ => {}
        }
    }
    match start.and_then(|start| tokens.get(start..end)) {
        None => Rows::Every,
        Some(condition) => truth(condition),
    }
}

fn truth(condition: &[Token<'_>]) -> Rows {
    let condition = bare(condition);
    let parts = split(condition, "OR");
    if parts.len() > 1 {
        let each: Vec<Rows> = parts.into_iter().map(truth).collect();
        return match () {
            () if each.contains(&Rows::True) => Rows::True,
            () if each.iter().all(|rows| *rows == Rows::Constant) => Rows::Constant,
            () => Rows::Some,
        };
    }
    let parts = split(condition, "AND");
    if parts.len() > 1 {
        let each: Vec<Rows> = parts.into_iter().map(truth).collect();
        return match () {
            () if each.iter().all(|rows| *rows == Rows::True) => Rows::True,
            () if each.iter().all(|rows| *rows != Rows::Some) => Rows::Constant,
            () => Rows::Some,
        };
    }
    if holds(condition) {
        return Rows::True;
    }
    let column = |token: &Token<'_>| match token {
        Token::Word(word) => !word.starts_with(|c: char| c.is_ascii_digit()) && token.among(SIGNS).is_none(),
        Token::Name(_) => true,
        _ => false,
    };
    if condition.iter().any(column) { Rows::Some } else { Rows::Constant }
}

/// Whether one comparison always holds.
fn holds(condition: &[Token<'_>]) -> bool {
    let literal = |side: &[Token<'_>]| {
        matches!(side, [Token::Text(_)])
            || matches!(side, [Token::Word(word)] if word.starts_with(|c: char| c.is_ascii_digit()))
    };
    match condition {
        [one] if one.is("TRUE") => return true,
        [Token::Word(number)] => return number.parse::<u64>().is_ok_and(|number| number != 0),
        [not, rest @ ..] if not.is("NOT") => {
            return matches!(rest, [one] if one.is("FALSE") || one.is("0"));
        }
        _ => {}
    }
    for at in 1..condition.len() {
        let (left, right) = condition.split_at(at);
        match right {
            // `<=`, `>=` and `==` hold of the same on both sides; `<>` and `!=` of two different literals.
            [Token::Sign('<' | '>' | '='), Token::Sign('='), right @ ..] | [Token::Sign('='), right @ ..] => {
                return bare(left) == bare(right) && !right.is_empty();
            }
            [Token::Sign('<'), Token::Sign('>'), right @ ..]
            | [Token::Sign('!'), Token::Sign('='), right @ ..] => {
                return literal(left) && literal(right) && left != right;
            }
            [like, right @ ..] if like.is("LIKE") => {
                return bare(left) == bare(right) || matches!(right, [Token::Text("%")]);
            }
            [is, not, null] if is.is("IS") && not.is("NOT") && null.is("NULL") => return literal(left),
            _ => {}
        }
    }
    false
}

/// Without brackets around all of it.
fn bare<'a, 't>(mut tokens: &'a [Token<'t>]) -> &'a [Token<'t>] {
    while let [Token::Sign('('), inside @ .., Token::Sign(')')] = tokens {
        let mut depth = 0_i32;
        for token in inside {
            match token {
                Token::Sign('(') => depth = depth.saturating_add(1),
                Token::Sign(')') if depth == 0 => return tokens,
                Token::Sign(')') => depth = depth.saturating_sub(1),
                _ => {}
            }
        }
        tokens = inside;
    }
    tokens
}

/// The parts between a word, outside of brackets.
fn split<'a, 't>(tokens: &'a [Token<'t>], word: &str) -> Vec<&'a [Token<'t>]> {
    let mut depth = 0_i32;
    tokens
        .split(|token| {
            match token {
                Token::Sign('(') => depth = depth.saturating_add(1),
                Token::Sign(')') => depth = depth.saturating_sub(1),
                _ => {}
            }
            depth == 0 && token.is(word)
        })
        .collect()
}

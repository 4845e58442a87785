//! Facts about the two tolerant scans, told word by word.

use super::*;

fn budget() -> Budget {
    Budget { chars: 10_000, words: 1_000, statement: 0, pipes: 0 }
}

fn token(token: &Token) -> String {
    let mut text = token.text.clone();
    for (is, mark) in [(token.dynamic, "…"), (token.open, "+"), (token.glob, "~")] {
        if is {
            text.push_str(mark);
        }
    }
    format!("[{text}]")
}

/// `operator depth.statement.pipes words >redirects =assigned @restarts`.
fn told(raw: &Raw) -> String {
    let operator = match raw.operator {
        None => "",
        Some(Operator::Semicolon) => "; ",
        Some(Operator::Newline) => "nl ",
        Some(Operator::And) => "&& ",
        Some(Operator::Or) => "|| ",
        Some(Operator::Pipe) => "| ",
    };
    let mut text = format!("{operator}{}.{}.{} ", raw.depth, raw.statement, raw.pipes);
    text.extend(raw.words.iter().map(token));
    for (mode, target) in &raw.redirects {
        let sign = match mode {
            Mode::Read => " <",
            Mode::Write => " >",
            Mode::Append => " >>",
            Mode::Document => " <<",
        };
        text.push_str(sign);
        text.push_str(&token(target));
    }
    text.extend(raw.assigned.iter().map(|value| format!(" ={}", token(value))));
    text.extend(raw.restarts.iter().map(|at| format!(" @{at}")));
    text
}

fn all(list: &[Raw]) -> Vec<String> {
    list.iter().map(told).collect()
}

/// A text, the commands that are found in it, and its comments.
type LineCase = (&'static str, &'static [&'static str], &'static [&'static str]);

fn owned(list: &[&str]) -> Vec<String> {
    list.iter().map(|text| (*text).to_owned()).collect()
}

#[test]
fn the_scan_that_understands_quotes_finds_these_commands() {
    let table: &[LineCase] = &[
        (
            "a b; c && d || e | f |& g & h\ni",
            &[
                "0.1.0 [a][b]",
                "; 0.2.0 [c]",
                "&& 0.3.0 [d]",
                "|| 0.4.0 [e]",
                "| 0.4.1 [f]",
                "| 0.4.2 [g]",
                "; 0.5.2 [h]",
                "nl 0.6.2 [i]",
            ],
            &[],
        ),
        ("a;;b", &["0.1.0 [a]", "; 0.2.0 [b]"], &[]),
        (";a", &["0.1.0 [a]"], &[]),
        ("a &> f b", &["0.1.0 [a][b] >[f]"], &[]),
        ("a &>> f", &["0.1.0 [a] >>[f]"], &[]),
        ("a > f >> g < h <<< i 2> j b2> k", &["0.1.0 [a][b2] >[f] >>[g] <[h] <[i] >[j] >[k]"], &[]),
        ("a <> f", &["0.1.0 [a] >>[f]"], &[]),
        ("a >| f >& g", &["0.1.0 [a] >[f] >[g]"], &[]),
        ("(a) b", &["1.1.0 [a]", "0.1.0 [b] @0"], &[]),
        ("a ) b", &["0.1.0 [a]", "0.1.0 [b]"], &[]),
        ("$(a )b) c", &["1.1.0 [a]", "0.1.0 [b…+] @1", "0.1.0 [c]"], &[]),
        ("`a ) b` c", &["1.1.0 [a]", "1.1.0 [b]", "0.1.0 […][c] @1"], &[]),
        ("(a `b) c` d", &["2.1.0 [b]", "2.1.0 [c]", "1.1.0 [a][…][d] @2"], &[]),
        ("a `b \\`c\\` d` e", &["1.1.0 [b]", "1.1.0 [c]", "1.1.0 [d]", "0.1.0 [a][…][e] @2"], &[]),
        ("a \\` b", &["0.1.0 [a][`][b]"], &[]),
        ("\"`a`\" b", &["1.1.0 [a]", "0.1.0 […][b] @1"], &[]),
        ("a `b $(c` d", &["2.1.0 [c]", "1.1.0 [b][…+] @2", "0.1.0 [a][…][d] @2"], &[]),
        ("a { b; } c", &["0.1.0 [a]", "0.1.0 [b]", "; 0.2.0 [c]"], &[]),
        ("a {} b", &["0.1.0 [a][{}][b]"], &[]),
        ("a {b,c} d,e", &["0.1.0 [a]", "0.1.0 [b][c]", "0.1.0 [d,e]"], &[]),
        ("{a,b},c", &["0.1.0 [a][b]", "0.1.0 [,c]"], &[]),
        ("{\na}", &["0.1.0 [a]"], &[]),
        ("a }", &["0.1.0 [a]"], &[]),
        ("a,b", &["0.1.0 [a,b]"], &[]),
        ("a 'b c' d'e'f", &["0.1.0 [a][b c][def]"], &[]),
        ("a 'b", &["0.1.0 [a][b]"], &[]),
        ("a \"b\\$\\c\\\"\" d", &["0.1.0 [a][b$\\c\"][d]"], &[]),
        ("\"\" a", &["0.1.0 [][a]"], &[]),
        ("'' a", &["0.1.0 [][a]"], &[]),
        ("a \\  b", &["0.1.0 [a][ ][b]"], &[]),
        ("a \\\nb", &["0.1.0 [a][b]"], &[]),
        ("a # b\nc # d", &["0.1.0 [a]", "nl 0.2.0 [c]"], &[" b", " d"]),
        ("a#b", &["0.1.0 [a#b]"], &[]),
        ("${#a} b", &["0.1.0 […+][b]"], &[]),
        ("a ${b # c} d", &["0.1.0 [a][…+][#][c][d]"], &[]),
        ("a ${b:-c} d} e", &["0.1.0 [a][c…+][d]", "0.1.0 [e]"], &[]),
        ("a ${b}c", &["0.1.0 [a][c…+]"], &[]),
        ("a \"# b\"", &["0.1.0 [a][# b]"], &[]),
        ("a*b [c] ?", &["0.1.0 [a*b~][[c]~][?~]"], &[]),
        ("a \\* '*'", &["0.1.0 [a][*][*]"], &[]),
        ("a\u{a0}b", &["0.1.0 [a][b] @1"], &[]),
        ("a\u{1}b c", &["0.1.0 [a][b][c] @1"], &[]),
        ("$x y", &["0.1.0 […+][y]"], &[]),
        ("a$x", &["0.1.0 [a…]"], &[]),
        ("\"$x\" y", &["0.1.0 […][y]"], &[]),
        ("$1 $@ $_ $- $a1", &["0.1.0 […+][…+][…+][…+][…+]"], &[]),
        ("a $ b $% c", &["0.1.0 [a][$][b][$%][c]"], &[]),
        ("$[1+2] a", &["0.1.0 [[1+2]…+~][a]"], &[]),
        ("$'a\\tb' c", &["0.1.0 [a\tb][c]"], &[]),
        ("\"$'a'\"", &["0.1.0 [$'a']"], &[]),
        ("$\"a b\" c", &["0.1.0 [a b][c]"], &[]),
        ("\"$\"a", &["0.1.0 [$a]"], &[]),
        ("\"a$\" b", &["0.1.0 [a$][b]"], &[]),
        ("x=a $x", &["0.1.0 [a] =[a]"], &[]),
        ("x='a b'; $x c", &["0.1.0  =[a b]", "; 0.2.0 [a][b][c]"], &[]),
        ("x='a b'; \"$x\" c", &["0.1.0  =[a b]", "; 0.2.0 [a b][c]"], &[]),
        ("x=$y z; $x", &["0.1.0 [z] =[…]", "; 0.2.0 […+]"], &[]),
        ("x+=a b", &["0.1.0 [b] =[a]"], &[]),
        ("_x=a $_x", &["0.1.0 [a] =[a]"], &[]),
        ("1x=a", &["0.1.0 [1x=a]"], &[]),
        ("x-y=a", &["0.1.0 [x-y=a]"], &[]),
        ("a x=b", &["0.1.0 [a][x=b]"], &[]),
        ("=a", &["0.1.0 [=a]"], &[]),
        ("x9=a $x9", &["0.1.0 [a] =[a]"], &[]),
        (
            "for x in a b; do $x; done",
            &["0.1.0 [for][x][in][a][b]", "; 0.2.0 [do][a]", "; 0.3.0 [done]"],
            &[],
        ),
        ("for x of a b; $x", &["0.1.0 [for][x][of][a][b]", "; 0.2.0 […+]"], &[]),
        ("far x in a; $x", &["0.1.0 [far][x][in][a]", "; 0.2.0 […+]"], &[]),
        ("$IFS a", &["0.1.0 [a]"], &[]),
        ("a${IFS}b", &["0.1.0 [a][b]"], &[]),
        (
            "a$(b | c; d) e; f",
            &["1.1.0 [b]", "| 1.1.1 [c]", "; 1.1.1 [d]", "0.1.0 [a…][e] @1", "; 0.2.1 [f]"],
            &[],
        ),
        ("(a; b); c", &["1.1.0 [a]", "; 1.1.0 [b]", "0.1.0 [c]"], &[]),
        ("a <(b) c", &["1.1.0 [b]", "0.1.0 [a][…][c] @2"], &[]),
        ("a > >(b)", &["1.1.0 [b]", "0.1.0 [a] >[…] @2"], &[]),
        ("2>f", &["0.1.0  >[f]"], &[]),
        ("a > f; b", &["0.1.0 [a] >[f]", "; 0.2.0 [b]"], &[]),
        ("> f", &["0.1.0  >[f]"], &[]),
        ("x=1", &["0.1.0  =[1]"], &[]),
        ("x=1; a", &["0.1.0  =[1]", "; 0.2.0 [a]"], &[]),
        ("$(", &["0.1.0 […+] @1"], &[]),
        ("`", &["0.1.0 […] @1"], &[]),
        ("\"", &["0.1.0 []"], &[]),
        ("a |", &["0.1.0 [a]"], &[]),
        ("| a", &["0.1.1 [a]"], &[]),
        ("&& a", &["0.1.0 [a]"], &[]),
        ("a | | b", &["0.1.0 [a]", "| 0.1.2 [b]"], &[]),
        ("a || || b", &["0.1.0 [a]", "|| 0.2.0 [b]"], &[]),
        ("$'\\x41\\u0042\\103\\'' a", &["0.1.0 [ABC'][a]"], &[]),
        ("$'\\x414\\10345' a", &["0.1.0 [A4C45][a]"], &[]),
    ];
    for (text, commands, comments) in table {
        let (found, said) = scan(text, &mut budget()).unwrap();
        assert_eq!(
            (all(&found).as_slice(), said.as_slice()),
            (owned(commands).as_slice(), owned(comments).as_slice()),
            "{text}"
        );
    }
}

#[test]
fn the_scan_that_trusts_no_quotes_finds_these_commands() {
    let table: &[(&str, &[&str])] = &[
        ("a b; c", &["0.1.0 [a][b]", "0.2.0 [c] @1"]),
        ("a 'b c' d", &["0.1.0 [a][b][c][d] @1 @4"]),
        ("it's a", &["0.1.0 [its][a] @2"]),
        ("a \"b\" 'c'", &["0.1.0 [a][b][c] @1 @2 @3"]),
        ("a-'b'", &["0.1.0 [a-b] @1"]),
        ("a \\'b", &["0.1.0 [a][b] @2"]),
        ("a | b & c", &["0.1.0 [a]", "0.1.1 [b]", "0.1.1 [c] @1"]),
        ("a |b|c; d", &["0.1.0 [a]", "0.1.1 [b]", "0.1.2 [c]", "0.2.2 [d] @1"]),
        ("a\nb\n\nc;;d", &["0.1.0 [a] @1", "0.2.0 [b] @1", "0.3.0 [c]", "0.4.0 [d] @1"]),
        ("a\tb\u{1}c", &["0.1.0 [a][b][c] @2 @3"]),
        ("a,b", &["0.1.0 [a][b] @2"]),
        ("$a \\b", &["0.1.0 [a][b] @2"]),
        (
            "(a) [b] {c} !d <e >f `g`",
            &["0.1.0 [a]", "0.1.0 [b]", "0.1.0 [c]", "0.1.0 [d]", "0.1.0 [e]", "0.1.0 [f]", "0.1.0 [g]"],
        ),
        ("a''b", &["0.1.0 [ab] @1"]),
        (";;", &[]),
        ("a\u{a0}b", &["0.1.0 [a][b] @2"]),
    ];
    for (text, commands) in table {
        assert_eq!(all(&scan_blind(text, &mut budget()).unwrap()), owned(commands), "{text}");
    }
}

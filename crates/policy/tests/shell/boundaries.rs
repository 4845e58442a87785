//! Shell patterns at their edges: what is refused, what is just not, and what a flag or a path still is.

use placet_policy::shell::analyse;

use crate::support::{mention, patterns, preset, refusal};

fn allow(pattern: &str) -> placet_policy::shell::Patterns {
    patterns(&format!("allow = [{pattern}]"))
}

fn refused(pattern: &str, why: &str) {
    let said = refusal(pattern);
    assert!(said.contains(why), "{pattern}: {said}");
}

#[test]
fn exact_is_the_whole_list_and_begins_with_a_program() {
    for more in [
        "program = 'x'",
        "subcommand = 'x'",
        "flags = ['-x']",
        "values = ['-x']",
        "optional = ['-x']",
        "operands = 'any'",
        "max_operands = 1",
    ] {
        refused(&format!("allow = [{{ exact = ['ls'], {more} }}]"), "leave the other keys out");
    }
    for words in ["[]", "['']", "['', 'x']"] {
        refused(&format!("allow = [{{ exact = {words} }}]"), "needs the program as its first word");
    }
    assert!(allow("{ exact = ['ls', ''] }").allows(&analyse("ls ''")));
}

#[test]
fn a_flag_is_a_dash_and_a_name() {
    for flag in ["", "-", "--", "x", "-a=b", "-a b", "--a=b"] {
        refused(&format!("allow = [{{ program = 'x', flags = ['{flag}'] }}]"), "is not a flag");
    }
    for flag in ["", "-", "x", "-a=b", "-f|x", "-f|-"] {
        refused(&format!("mention = [{{ program = 'x', flags = ['{flag}'] }}]"), "is not a flag");
    }
    refused("allow = [{ program = 'x', flags = ['-a'], values = ['-a'] }]", "is listed twice");
}

#[test]
fn short_flags_stand_together_unless_a_long_one_has_a_single_dash() {
    let short = allow("{ program = 'x', flags = ['-a', '-b', '--long', '-#'] }");
    assert!(short.allows(&analyse("x -ab")) && short.allows(&analyse("x -20")));
    let long = allow("{ program = 'x', flags = ['-a', '-b', '-long'] }");
    assert!(long.allows(&analyse("x -a -b -long")) && !long.allows(&analyse("x -ab")));
}

#[test]
fn two_dashes_abbreviate_no_flag() {
    let force = mention("{ program = 'rm', flags = ['--force'] }");
    for text in ["rm --f x", "rm --force x", "rm --force=1 x"] {
        assert!(force.mentions(&analyse(text)), "{text}");
    }
    for text in ["rm -- x", "rm --x", "rm --forced", "rm force"] {
        assert!(!force.mentions(&analyse(text)), "{text}");
    }
}

#[test]
fn texts_and_lists_of_patterns_have_limits() {
    let word = |length: usize| format!("mention = [{{ words = ['{}'] }}]", "x".repeat(length));
    patterns(&word(256));
    for length in [0, 257, 300] {
        refused(&word(length), "is empty or over 256 bytes");
    }
    let glob = |length: usize| {
        format!("allow = [{{ program = 'x' }}]\nwrites = {{ like = ['{}'] }}", "x".repeat(length))
    };
    patterns(&glob(256));
    for length in [0, 257, 300] {
        refused(&glob(length), "empty or over 256 bytes");
    }
}

#[test]
fn a_rule_may_have_a_thousand_patterns() {
    let many =
        |list: &str, count: usize| format!("{list} = [{}]", vec!["{ program = 'x' }"; count].join(", "));
    for list in ["allow", "mention"] {
        patterns(&many(list, 1_000));
        for count in [1_001, 1_002] {
            refused(&many(list, count), "more than 1000 shell patterns");
        }
    }
}

#[test]
fn the_reason_names_what_cannot_be_read() {
    for (text, reason) in [
        ("a |& b", "`|&` joins outputs"),
        ("a & b", "`&` runs it in the background or joins outputs"),
        ("a\u{a0}b", "there is an invisible character outside quotes"),
        ("a\u{200b}b", "there is an invisible character outside quotes"),
        ("a\u{f6}b", "there is a character outside ASCII and outside quotes"),
    ] {
        assert_eq!(analyse(text).commands().map_err(|opaque| opaque.reason).unwrap_err(), reason, "{text}");
    }
}

#[test]
fn a_number_behind_a_name_makes_it_a_version_of_that_program() {
    for program in ["python3", "python3.11", "perl5", "bash-5"] {
        refused(&format!("allow = [{{ program = '{program}' }}]"), "runs what its arguments say");
    }
    for program in ["tool2", "x-3.1", "7"] {
        assert!(allow(&format!("{{ program = '{program}' }}")).allows(&analyse(program)), "{program}");
    }
}

#[test]
fn sed_passes_only_where_it_prints_lines_by_number() {
    for text in ["sed -n 1p x", "sed -n '10,20p' x", "sed -n '1,$p;5p' x"] {
        assert!(preset().allows(text), "{text}");
    }
    for text in [
        "sed 1p x",
        "sed -e 1p x",
        "sed -n 1p -i x",
        "sed -n '1w y' x",
        "sed -n p x",
        "sed -n '1,xp' x",
        "sed -i 1p x",
    ] {
        assert!(!preset().allows(text), "{text}");
    }
}

#[test]
fn a_path_that_a_program_could_read_otherwise_is_below_nothing() {
    let here = allow("{ program = 'cat', operands = { under = ['.'] } }");
    for text in ["cat x", "cat ./x/y", "cat 'x y'"] {
        assert!(here.allows(&analyse(text)), "{text}");
    }
    for text in
        ["cat '~x'", "cat '~/x'", "cat ''", "cat 'a$b'", "cat 'a%b'", "cat ../x", "cat x/../y", "cat /x"]
    {
        assert!(!here.allows(&analyse(text)), "{text}");
    }
}

#[test]
fn an_outline_marks_what_is_only_known_when_it_runs() {
    let words = |text: &str| {
        analyse(text).outline(9).0.into_iter().map(|command| command.argv.join(" ")).collect::<Vec<_>>()
    };
    assert_eq!(words("echo a$x \"$y\" $z b"), ["echo a… … … b"]);
}

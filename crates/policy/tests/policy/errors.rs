//! Bad files: every problem is reported, with its line, its rule and what to write instead.

use placet_policy::{Policy, Problem};

use crate::support::rules_text;

fn problems(text: &str) -> Vec<Problem> {
    match Policy::parse(text) {
        Ok(_) => panic!("parsed:\n{text}"),
        Err(errors) => errors.problems,
    }
}

/// The one problem of a file, as `line:column rule message | fix`.
#[track_caller]
fn one(text: &str) -> String {
    let problems = problems(text);
    assert_eq!(problems.len(), 1, "{problems:#?}");
    let problem = &problems[0];
    let rule = problem.rule.as_deref().unwrap_or("-");
    format!("{}:{} {rule}: {} | {}", problem.line, problem.column, problem.message, problem.fix)
}

#[track_caller]
fn in_rule(rest: &str) -> String {
    one(&format!("version = 1\n[[rule]]\nname = \"r\"\n{rest}\n"))
}

#[test]
fn unknown_keys_are_named_with_their_place_and_the_nearest_known_one() {
    assert_eq!(
        one("version = 1\nnaem = \"x\"\n"),
        "2:1 -: unknown key `naem` in the file | did you mean `name`?"
    );
    assert_eq!(
        one("version = 1\n[defaults]\n  efect = \"hold\"\n"),
        "3:3 -: unknown key `efect` in `[defaults]` | did you mean `effect`?"
    );
    assert_eq!(
        in_rule("effect = \"hold\"\ntools = \"x\""),
        "5:1 r: unknown key `tools` in a rule | did you mean `tool`?"
    );
    assert_eq!(
        in_rule("effect = \"hold\"\n[rule.args]\na = { equal = 1 }"),
        "6:7 r: unknown key `equal` in a matcher | did you mean `equals`?"
    );
    assert!(
        in_rule("effect = \"hold\"\nneeds = { persons = 2 }")
            .starts_with("5:11 r: unknown key `persons` in `needs` | ")
    );
    assert!(
        one("version = 1\n[escalation.x]\nneeds = { people = 1 }\nexpires_in = \"1h\"\nnext = \"y\"\n")
            .starts_with("5:1 -: unknown key `next` in `[escalation.x]`")
    );
}

#[test]
fn all_problems_are_reported_in_the_order_of_the_file() {
    let found = problems(
        "version = 2\n[defaults]\neffect = \"allow\"\nrisk = \"huge\"\n[[rule]]\nname = \"a b\"\neffect = \"maybe\"\n[[rule]]\neffect = \"hold\"\nexpires_in = 5\n",
    );
    let lines: Vec<_> = found.iter().map(|problem| (problem.line, problem.message.as_str())).collect();
    assert_eq!(
        lines,
        [
            (1, "version `2` is not known"),
            (3, "the default effect cannot be `allow`: calls that no rule speaks of would pass"),
            (4, "`huge` is not a value of `risk`"),
            (6, "`a b` cannot name a rule"),
            (7, "`maybe` is not a value of `effect`"),
            (8, "the rule has no name"),
            (10, "`expires_in` is a whole number"),
        ]
    );
    assert!(found.iter().all(|problem| !problem.fix.is_empty()));
}

#[test]
fn broken_toml_is_reported_with_its_line() {
    assert!(one("version = 1\n[[rule]\nname = \"x\"\n").starts_with("2:"));
    assert!(
        problems("version = 1\nname = \"half-writ")
            .iter()
            .all(|problem| problem.message.starts_with("this is not TOML"))
    );
    assert!(one("version = 1\nversion = 1\n").contains("duplicate key"));
    assert!(one("").contains("`version` is missing"));
    assert!(problems("\u{0}")[0].message.starts_with("this is not TOML"));
}

#[test]
fn names_are_required_unique_and_plain() {
    assert!(one("version = 1\n[[rule]]\neffect = \"hold\"\n").starts_with("2:1 -: the rule has no name"));
    let twice = format!("version = 1\n{}", rules_text(&[("x", "hold", ""), ("x", "hold", "")]));
    assert!(one(&twice).contains("7:8 -: the name `x` is taken by the rule on line 3"), "{}", one(&twice));
    for bad in ["", "a/b", "ä", "a b", "default"] {
        problems(&format!("version = 1\n[[rule]]\nname = \"{bad}\"\neffect = \"hold\"\n"));
    }
}

#[test]
fn effects_that_would_let_silence_or_strangers_pass_do_not_exist() {
    assert!(one("version = 1\n[defaults]\neffect = \"allow\"\n").starts_with("3:10"));
    assert!(in_rule("effect = \"hold\"\non_expiry = \"allow\"").contains("expiry never allows"));
    assert!(in_rule("effect = \"hold\"\non_expiry = \"approve\"").contains("expiry never allows"));
    assert!(in_rule("effect = \"hold\"\non_expiry = \"ask\"").contains("neither `deny` nor an escalation"));
    assert!(in_rule("effect = \"allow\"\nkind = \"input\"").contains("never allowed without a person"));
}

#[test]
fn bad_globs_are_explained() {
    for (glob, why) in [
        ("a**", "says no more than `*`"),
        ("[ab]", "brackets"),
        ("{a,b}", "brackets"),
        ("", "empty"),
        ("a b", "no tool can be named"),
        ("tööl", "no tool can be named"),
        ("a\\\\*", "backslashes"),
    ] {
        let said = in_rule(&format!("effect = \"hold\"\ntool = \"{glob}\""));
        assert!(said.contains(why) && said.starts_with("5:8 r: "), "{said}");
    }
    assert!(in_rule("effect = \"hold\"\ntool = []").contains("empty list"));
    assert!(in_rule("effect = \"hold\"\ntool = 5").contains("`tool` is a whole number"));
    assert!(in_rule("effect = \"hold\"\ntool = [\"a\", 5]").starts_with("5:14 r: "));
}

#[test]
fn bad_conditions_point_to_the_place_inside_them() {
    assert_eq!(
        in_rule("effect = \"hold\"\nwhen = 'args.x == 1 && envv == 2'"),
        "5:24 r: the condition cannot be used: `envv` is not known in a condition | begin with one of `args`, `tool`, `agent`, `source`, `time`, `session`, `lineage`"
    );
    for bad in ["args.x ==", "exec(args.x)", "args.l.all(a, args.m.all(b, true))", "args.x.matches(args.y)"] {
        assert!(
            in_rule(&format!("effect = \"hold\"\nwhen = '{bad}'")).contains("the condition cannot be used"),
            "{bad}"
        );
    }
    assert!(
        in_rule(&format!("effect = \"hold\"\nwhen = '{}'", "1 + ".repeat(300)))
            .contains("longer than 1024 bytes")
    );
}

#[test]
fn catastrophic_and_unanchored_patterns_are_refused() {
    assert!(
        in_rule("effect = \"hold\"\n[rule.args]\na = { matches = '[01]*1[01]{24}$' }")
            .contains("needs more than 256 KiB")
    );
    assert!(
        in_rule("effect = \"hold\"\n[rule.args]\na = { matches = '(((a{30}){30}){30})' }")
            .contains("needs more than 256 KiB")
    );
    assert!(
        in_rule("effect = \"hold\"\n[rule.args]\na = { matches = '(' }")
            .contains("not a regular expression: unclosed group")
    );
    assert!(in_rule("effect = \"hold\"\n[rule.args]\na = { matches = '(a)\\1' }").contains("backreference"));
    let loose = in_rule("effect = \"allow\"\n[rule.args]\na = { matches = 'git.*' }");
    assert!(loose.contains("in the middle of a text") && loose.ends_with("write `^(?:git.*)$`"), "{loose}");
    assert!(in_rule("effect = \"allow\"\n[rule.args]\na = { matches = '^a|b$' }").contains("in the middle"));
    assert!(
        in_rule("effect = \"hold\"\n[rule.args]\na = { not = { matches = 'x' } }").contains("in the middle")
    );
}

#[test]
fn circles_and_gaps_in_escalations_are_named() {
    let circle = "version = 1\n[escalation.a]\nneeds = { people = 1 }\nexpires_in = \"1h\"\nthen = \"b\"\n[escalation.b]\nneeds = { people = 1 }\nexpires_in = \"1h\"\nthen = \"c\"\n[escalation.c]\nneeds = { people = 1 }\nexpires_in = \"1h\"\nthen = \"a\"\n";
    assert!(
        one(circle).contains("the escalations go in a circle: `a` -> `b` -> `c` -> `a`"),
        "{}",
        one(circle)
    );
    let itself = "version = 1\n[escalation.a]\nneeds = { people = 1 }\nexpires_in = \"1h\"\nthen = \"a\"\n";
    assert!(one(itself).contains("circle: `a` -> `a`"));
    let gap = "version = 1\n[escalation.a]\nneeds = { people = 1 }\nexpires_in = \"1h\"\nthen = \"nobody\"\n";
    assert!(one(gap).starts_with("5:8 -: there is no escalation named `nobody`"));
    assert!(one("version = 1\n[escalation.a]\nneeds = { people = 1 }\n").contains("has no `expires_in`"));
    assert!(
        in_rule("effect = \"hold\"\non_expiry = { escalate = \"x\" }")
            .contains("no usable escalation named `x`")
    );
}

#[test]
fn needs_must_ask_for_somebody_and_exist() {
    assert!(in_rule("effect = \"hold\"\nneeds = \"finance\"").contains("there are no needs named `finance`"));
    assert!(one("version = 1\n[needs.two]\npeople = 2\n[[rule]]\nname = \"r\"\neffect = \"hold\"\nneeds = \"tow\"\n").contains("did you mean `two`?"));
    for bad in [
        "{ people = 0 }",
        "{ people = 99 }",
        "{ people = -1 }",
        "{ any = [] }",
        "{ any = [ { all = [] } ] }",
        "{ people = 1, any = [ { people = 1 } ] }",
        "{ step_up = \"sms\" }",
        "{ team = \"a b\" }",
        "{ people = \"2\" }",
        "{ any = [ 1 ] }",
    ] {
        assert!(in_rule(&format!("effect = \"hold\"\nneeds = {bad}")).starts_with("5:"), "{bad}");
    }
}

#[test]
fn an_allow_rule_cannot_rest_on_claims() {
    let fix = "use it in a hold or deny rule, or name the sub-agent as an agent of its own";
    for claim in [
        "session = \"x\"",
        "lineage = \"coder\"",
        "coverage = \"complete\"",
        "when = \"session == 'x'\"",
        "when = \"'x' in lineage\"",
    ] {
        let said = in_rule(&format!("effect = \"allow\"\n{claim}"));
        assert!(said.contains("merely claims") && said.ends_with(fix), "{said}");
    }
}

#[test]
fn trust_is_refused_where_it_would_be_farmed() {
    assert!(
        in_rule("effect = \"hold\"\ntool = \"t\"\nrisk = \"high\"\ntrust_after = 3")
            .contains("always need a person")
    );
    assert!(
        in_rule("effect = \"hold\"\ntool = \"t\"\nrisk = \"critical\"\ntrust_after = 3")
            .contains("always need a person")
    );
    assert!(
        in_rule("effect = \"hold\"\ntool = \"Bash\"\ntrust_after = 3\ntemplate = [\"/cwd\"]")
            .contains("free-form command")
    );
    assert!(in_rule("effect = \"hold\"\ntool = \"odd\"\ntrust_after = 3\ntemplate = [\"/cwd\"]\n[rule.args]\ncommand = { shell = { mention = [ { program = \"rm\" } ] } }").contains("free-form command"));
    assert!(in_rule("effect = \"hold\"\ntrust_after = 0").contains("from 1 to 1000"));
    assert!(in_rule("effect = \"hold\"\ntemplate = [\"/a\"]").contains("without `trust_after`"));
    assert!(in_rule("effect = \"hold\"\ntrust_after = 1\ntemplate = [\"a\"]").contains("not a JSON pointer"));
    assert!(
        Policy::parse(
            "version = 1\n[[rule]]\nname = \"r\"\neffect = \"hold\"\ntool = \"Bash\"\ntrust_after = 3\n"
        )
        .is_ok(),
        "the whole command may be trusted"
    );
}

#[test]
fn keys_that_say_nothing_of_an_effect_are_refused() {
    for key in [
        "needs = { people = 2 }",
        "expires_in = \"5m\"",
        "on_expiry = \"deny\"",
        "decisions = [\"deny\"]",
        "pending_cap = 1",
        "trust_after = 1",
    ] {
        for effect in ["allow", "deny"] {
            assert!(
                in_rule(&format!("effect = \"{effect}\"\ntool = \"t\"\n{key}")).contains("nobody is asked"),
                "{effect} {key}"
            );
        }
    }
    assert!(in_rule("effect = \"deny\"\nclaim_within = \"5m\"").contains("nobody is asked"));
    assert!(
        Policy::parse(
            "version = 1\n[[rule]]\nname = \"r\"\neffect = \"allow\"\ntool = \"t\"\nclaim_within = \"5m\"\n"
        )
        .is_ok()
    );
}

#[test]
fn matchers_are_checked_when_they_are_read() {
    let cases = [
        ("a = 5", "the matcher of `a` is a whole number"),
        ("a = {}", "asks nothing"),
        ("a = { in = [] }", "empty list"),
        ("a = { in = \"x\" }", "`in` is a text"),
        ("a = { min = \"5\" }", "`min` is a text"),
        ("a = { max = nan }", "`max` is a number with a fraction"),
        ("a = { above = 99999999999999999 }", "`above`"),
        ("a = { equals = 1979-05-27 }", "JSON has no dates"),
        ("a = { equals = inf }", "does not fit"),
        ("a = { prefix = \"\" }", "every text begins with nothing"),
        ("a = { under = \"srv\" }", "not absolute"),
        ("a = { under = \"/srv/..\" }", "`..`"),
        ("a = { host_in = \"https://x.com\" }", "`host_in` cannot be used"),
        ("a = { host_in = [\"*.com\"] }", "two labels"),
        ("a = { exists = 1 }", "`exists` is a whole number"),
        ("a = { exists = false, prefix = \"x\" }", "never hold"),
        ("a = { not = 5 }", "`not` is a whole number"),
        ("\"a..b\" = { equals = 1 }", "not a path"),
        ("a.b = { equals = 1 }", "write the path in quotes: `\"a.b\" = { … }`"),
        ("a = { shell = { } }", "the shell pattern"),
        ("a = { shell = { permit = [] } }", "unknown field `permit`"),
        ("a = { shell = { allow = [ { exact = [\"ls\"] } ] } }", "lists what to look for in `mention`"),
    ];
    for (matcher, expected) in cases {
        let said = in_rule(&format!("effect = \"hold\"\n[rule.args]\n{matcher}"));
        assert!(said.contains(expected), "{matcher}: {said}");
    }
    assert!(
        in_rule("effect = \"allow\"\n[rule.args]\na = { shell = { mention = [ { program = \"rm\" } ] } }")
            .contains("lists them in `allow`")
    );
    assert!(in_rule("effect = \"allow\"\n[rule.args]\na = { not = { shell = { mention = [ { program = \"rm\" } ] } } }").contains("lets everything pass that is not listed"));
    assert!(in_rule("effect = \"hold\"\n[rule.args]").contains("`args` has 0 entries"));
}

#[test]
fn durations_and_words_are_checked() {
    for bad in ["\"5\"", "\"0s\"", "\"31d\"", "\"-5m\"", "\"soon\"", "5", "\"\""] {
        assert!(in_rule(&format!("effect = \"hold\"\nexpires_in = {bad}")).starts_with("5:14 r: "), "{bad}");
    }
    assert!(
        in_rule("effect = \"hold\"\nrisk = \"High\"").contains("write one of: low, medium, high, critical")
    );
    assert!(
        in_rule("effect = \"hold\"\ndecisions = [\"yes\"]").contains("`yes` is not a value of `decisions`")
    );
    assert!(in_rule("effect = \"hold\"\npending_cap = 0").contains("from 1 to 10000"));
    assert!(in_rule("effect = \"hold\"\nreason = \"a\\u0007\"").contains("control character"));
}

#[test]
fn presets_that_do_not_exist_are_met_with_those_that_do() {
    let said = one("version = 1\nextends = [\"preset:codingagent\"]\n");
    assert!(said.starts_with("2:12 -: `preset:codingagent` is not a preset | use one of `preset:default`, `preset:coding-agent`"), "{said}");
    assert!(one("version = 1\nextends = [\"./other.toml\"]\n").contains("is not a preset"));
    assert!(one("version = 1\nextends = [\"preset:default\", \"preset:default\"]\n").contains("twice"));
}

#[test]
fn user_input_is_shown_escaped_and_cut() {
    let said = one(&format!("version = 1\n\"\\u202e{}\" = 1\n", "x".repeat(300)));
    assert!(said.contains("`\\u{202e}xxx") && said.contains("…`") && said.len() < 400, "{said}");
}

#[test]
fn the_text_of_all_problems_reads_line_by_line() {
    let errors = Policy::parse(
        "version = 1\n[[rule]]\nname = \"r\"\neffect = \"hold\"\ntool = \"a**\"\nrisk = \"x\"\n",
    )
    .unwrap_err();
    assert_eq!(
        errors.to_string(),
        "line 5, column 8: rule `r`: `a**` is not a glob: `**` says no more than `*`; use `*` for any run of characters and `?` for one; list several names in `[…]`\n\
         line 6, column 8: rule `r`: `x` is not a value of `risk`; write one of: low, medium, high, critical"
    );
}

#[test]
fn what_is_allowed_but_hardly_meant_is_a_warning() {
    let warnings = |text: &str| Policy::parse(&format!("version = 1\n{text}")).unwrap().warnings().to_vec();
    let only = |text: &str| {
        let warnings = warnings(text);
        assert_eq!(warnings.len(), 1, "{warnings:?}");
        warnings[0].to_string()
    };
    assert!(
        only(&rules_text(&[("a", "allow", "tool = 't'\nrisk = 'high'")]))
            .contains("can never allow anything")
    );
    assert!(only(&rules_text(&[("a", "allow", "")])).contains("allows every call of every tool"));
    assert!(only(&rules_text(&[("a", "allow", "tool = '*'")])).contains("allows every call of every tool"));
    assert!(
        only(&rules_text(&[("a", "allow", "tool = 't'\n[rule.args]\np = { prefix = '/srv' }")]))
            .contains("use `under`")
    );
    assert!(
        only(&rules_text(&[("a", "allow", "tool = 't'\n[rule.args]\np = { prefix = 'https://x' }")]))
            .contains("use `host_in`")
    );
    assert!(
        only(&rules_text(&[("a", "allow", "tool = 'x/y'"), ("h", "hold", "tool = 'x/*'")]))
            .contains("rule `a`: the rule can never decide: `h` is stricter")
    );
    assert!(
        only(&rules_text(&[("h", "hold", "tool = 'x'"), ("d", "deny", "tool = 'x'")]))
            .contains("`d` is stricter")
    );
    assert!(
        only(&rules_text(&[("a", "allow", "tool = 't'\nwhen = \"args.x.matches('a')\"")]))
            .contains("middle of a text")
    );
    assert!(only("[needs.two]\npeople = 2\n").contains("nothing uses `[needs.two]`"));
    assert_eq!(
        warnings(&rules_text(&[
            ("a", "allow", "tool = 'x/*'"),
            ("h", "hold", "tool = 'x/y'"),
            ("i", "hold", "tool = 'x/*'\nagent = 'b'")
        ])),
        []
    );
}

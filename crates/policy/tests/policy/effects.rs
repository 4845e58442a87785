//! Which effect wins, and what the rules that carry it ask for together.

use std::time::Duration;

use placet_core::{AllOf, DecisionWord, Kind, Needs, Risk, Seat};
use placet_policy::{MatchResult, Policy, Trust};
use serde_json::json;

use crate::support::{ALLOW, DENY, HOLD, ask, of_kind, plan, policy, rules};

fn seats(list: &[(u32, Option<&str>)]) -> Vec<AllOf> {
    vec![AllOf {
        all: list
            .iter()
            .map(|(people, team)| Seat { people: *people, team: team.map(str::to_owned) })
            .collect(),
    }]
}

#[test]
fn deny_beats_hold_beats_allow_whatever_the_order() {
    let all = [("a", "allow", "tool = 't'"), ("h", "hold", "tool = 't'"), ("d", "deny", "tool = 't'")];
    for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
        let list: Vec<_> = order.iter().map(|index| all[*index]).collect();
        assert_eq!(ask("t", json!({})).under(&rules(&list)).effect, DENY);
        let two: Vec<_> = list.into_iter().filter(|(name, ..)| *name != "d").collect();
        assert_eq!(ask("t", json!({})).under(&rules(&two)).effect, HOLD);
    }
    assert_eq!(ask("t", json!({})).under(&rules(&all[..1])).effect, ALLOW);
}

#[test]
fn a_tool_no_rule_speaks_of_waits_or_is_refused() {
    let outcome = ask("u", json!({})).under(&rules(&[("a", "allow", "tool = 't'")]));
    assert_eq!((outcome.effect, outcome.rule.as_str(), outcome.risk), (HOLD, "default", Risk::Medium));
    assert_eq!(outcome.reasons, ["no rule allows `u`, so it waits for a person"]);
    let strict = policy("[defaults]\neffect = 'deny'\nrisk = 'low'\n");
    let outcome = ask("u", json!({})).under(&strict);
    assert_eq!((outcome.effect, outcome.risk), (DENY, Risk::Low));
}

#[test]
fn the_empty_policy_holds_everything() {
    let empty = Policy::parse("version = 1").unwrap();
    for kind in Kind::ALL {
        assert_eq!(of_kind(*kind).under(&empty).effect, HOLD);
    }
}

#[test]
fn every_matcher_of_names_must_agree() {
    let policy = rules(&[(
        "r",
        "deny",
        "tool = ['a/*', 'b']\nserver = 'a'\nagent = ['bot', 'x*']\nsource = 'rest'\nkind = 'action'",
    )]);
    assert_eq!(ask("a/x", json!({})).under(&policy).effect, DENY);
    assert_eq!(ask("b", json!({})).under(&policy).effect, HOLD, "b has no server");
    let mut other = ask("a/x", json!({}));
    other.agent = "else".to_owned();
    assert_eq!(other.under(&policy).effect, HOLD);
    other.agent = "x-1".to_owned();
    assert_eq!(other.under(&policy).effect, DENY);
    other.source = "mcp".to_owned();
    assert_eq!(other.under(&policy).effect, HOLD);
}

#[test]
fn a_server_is_matched_however_the_tool_spells_it() {
    let policy = rules(&[("r", "allow", "server = 'git*'")]);
    for tool in ["mcp__github__x", "github/x", "gitlab:x"] {
        assert_eq!(ask(tool, json!({})).under(&policy).effect, ALLOW, "{tool}");
    }
    for tool in ["github", "x/github", "mcp__x__github"] {
        assert_eq!(ask(tool, json!({})).under(&policy).effect, HOLD, "{tool}");
    }
}

#[test]
fn an_error_stops_an_allow_rule_and_sets_off_the_others() {
    for (effect, expected) in [("allow", HOLD), ("deny", DENY)] {
        for matcher in [
            "[rule.args]\namount = { max = 10 }",
            "[rule.args]\n'a.b' = { equals = 1 }",
            "[rule.args]\n'l[*]' = { equals = 1 }",
            "when = 'args.amount < 10'",
            "[rule.args]\npath = { under = '/srv' }",
            "[rule.args]\nurl = { host_in = 'a.com' }",
            "[rule.args]\nname = { in = ['a'] }",
        ] {
            let policy = rules(&[("r", effect, &format!("tool = 't'\n{matcher}"))]);
            for arguments in [
                json!({}),
                json!({"amount": "9", "a": 1, "l": [], "path": "../x", "url": "https://a@b.com", "name": 1}),
                json!({"amount": null, "a": {"b": "x"}, "l": {}, "path": 1, "url": 1, "name": []}),
            ] {
                let outcome = ask("t", arguments.clone()).under(&policy);
                assert_eq!(outcome.effect, expected, "{effect} {matcher} {arguments}: {:?}", outcome.reasons);
                if effect == "deny" {
                    assert!(outcome.reasons[0].contains("could not be evaluated"), "{:?}", outcome.reasons);
                }
            }
        }
    }
}

#[test]
fn a_no_elsewhere_is_stronger_than_an_error() {
    let policy = rules(&[(
        "r",
        "deny",
        "tool = 't'\nwhen = 'args.sure == true'\n[rule.args]\namount = { above = 10 }",
    )]);
    assert_eq!(ask("t", json!({"sure": false})).under(&policy).effect, HOLD);
    assert_eq!(ask("t", json!({"sure": true})).under(&policy).effect, DENY);
}

#[test]
fn stars_mean_every_element_to_an_allow_rule_and_any_to_the_others() {
    let allow = rules(&[("r", "allow", "tool = 't'\n[rule.args]\n'to[*]' = { in = ['a', 'b'] }")]);
    assert_eq!(ask("t", json!({"to": ["a", "b"]})).under(&allow).effect, ALLOW);
    assert_eq!(ask("t", json!({"to": ["a", "evil"]})).under(&allow).effect, HOLD);
    assert_eq!(ask("t", json!({"to": []})).under(&allow).effect, HOLD);
    let deny = rules(&[("r", "deny", "tool = 't'\n[rule.args]\n'to[*]' = { equals = 'evil' }")]);
    assert_eq!(ask("t", json!({"to": ["good", "evil"]})).under(&deny).effect, DENY);
    assert_eq!(ask("t", json!({"to": ["good"]})).under(&deny).effect, HOLD);
    assert_eq!(ask("t", json!({"to": []})).under(&deny).effect, DENY);
}

#[test]
fn everything_the_matching_rules_ask_for_is_put_together() {
    let policy = policy(
        "[needs.fin]\npeople = 1\nteam = 'finance'\n[needs.two]\npeople = 2\nfour_eyes = true\n[escalation.up]\nneeds = 'two'\nexpires_in = '1h'\n\
         [[rule]]\nname = 'one'\neffect = 'hold'\ntool = 't'\nrisk = 'medium'\nneeds = 'fin'\nexpires_in = '10m'\nclaim_within = '2m'\ndecisions = ['approve', 'edit']\npending_cap = 9\ntrust_after = 2\nreason = 'because'\n\
         [[rule]]\nname = 'two'\neffect = 'hold'\ntool = 't*'\nrisk = 'low'\nneeds = 'two'\nexpires_in = '5m'\nclaim_within = '3m'\ndecisions = ['edit', 'respond']\npending_cap = 4\ntrust_after = 5\non_expiry = { escalate = 'up' }\n\
         [[rule]]\nname = 'irrelevant'\neffect = 'allow'\ntool = 't'\nrisk = 'critical'\n",
    );
    let outcome = ask("t", json!({})).under(&policy);
    assert_eq!((outcome.effect, outcome.rule.as_str(), outcome.risk), (HOLD, "one", Risk::Medium));
    assert_eq!(outcome.reasons, ["rule `one`: because", "rule `two`: holds it"]);
    assert_eq!(
        outcome.needs,
        Needs { any: seats(&[(1, Some("finance")), (1, None)]), four_eyes: true, step_up: None }
    );
    assert_eq!(outcome.expires_in, Some(Duration::from_mins(5)));
    assert_eq!(outcome.claim_window, Some(Duration::from_mins(2)));
    assert_eq!(outcome.decisions, Some(vec![DecisionWord::Edit, DecisionWord::Deny]));
    assert_eq!(outcome.pending_cap, Some(4));
    assert_eq!(outcome.trust, Some(Trust { after: 5, template: None }));
    // What the other rule needs still counts after the escalation.
    assert_eq!(outcome.escalation.len(), 1);
    assert_eq!(outcome.escalation[0].needs, outcome.needs);
}

#[test]
fn trust_is_offered_only_if_every_rule_offers_the_same() {
    let with = |other: &str| {
        let policy = rules(&[
            ("a", "hold", "tool = 't'\ntrust_after = 2\ntemplate = ['/x']"),
            ("b", "hold", &format!("tool = 't'\n{other}")),
        ]);
        ask("t", json!({})).under(&policy).trust
    };
    assert_eq!(with(""), None);
    assert_eq!(with("trust_after = 2"), None);
    assert_eq!(
        with("trust_after = 3\ntemplate = ['/x']"),
        Some(Trust { after: 3, template: Some(vec!["/x".to_owned()]) })
    );
    let mut risky = ask("t", json!({}));
    risky.risk = Some(Risk::High);
    assert_eq!(risky.under(&rules(&[("a", "hold", "tool = 't'\ntrust_after = 2")])).trust, None);
}

#[test]
fn critical_calls_always_need_a_code() {
    let policy = policy(
        "[escalation.up]\nneeds = { people = 1 }\nexpires_in = '1h'\n[[rule]]\nname = 'r'\neffect = 'hold'\ntool = 't'\nrisk = 'critical'\non_expiry = { escalate = 'up' }\n",
    );
    let outcome = ask("t", json!({})).under(&policy);
    assert_eq!(outcome.needs.step_up.as_deref(), Some("code"));
    assert_eq!(outcome.escalation[0].needs.step_up.as_deref(), Some("code"));
}

#[test]
fn from_a_certain_risk_on_nothing_is_allowed() {
    let with = |hold_at: &str, risk: &str| {
        let policy = policy(&format!(
            "[defaults]\nhold_at_risk = '{hold_at}'\n[[rule]]\nname = 'r'\neffect = 'allow'\ntool = 't'\nrisk = '{risk}'\n"
        ));
        ask("t", json!({})).under(&policy).effect
    };
    assert_eq!(with("high", "medium"), ALLOW);
    assert_eq!(with("high", "high"), HOLD);
    assert_eq!(with("medium", "medium"), HOLD);
    assert_eq!(with("critical", "high"), ALLOW);
    assert_eq!(with("low", "low"), HOLD);
}

#[test]
fn questions_confirmations_and_plans_are_never_allowed() {
    let policy = rules(&[("all", "allow", "agent = '*'")]);
    assert_eq!(ask("t", json!({})).under(&policy).effect, ALLOW);
    for kind in [Kind::Input, Kind::Confirmation, Kind::Plan] {
        assert_eq!(of_kind(kind).under(&policy).effect, HOLD, "{kind}");
    }
    assert_eq!(plan(&[("t", json!({}))]).under(&policy).effect, HOLD);
}

#[test]
fn a_rule_about_arguments_says_nothing_of_questions() {
    let policy = rules(&[
        ("r", "deny", "[rule.args]\namount = { above = 10 }"),
        ("s", "deny", "when = 'args.x == 1'"),
        ("k", "deny", "kind = 'confirmation'"),
    ]);
    assert_eq!(of_kind(Kind::Input).under(&policy).effect, HOLD);
    assert_eq!(of_kind(Kind::Confirmation).under(&policy).effect, DENY);
}

#[test]
fn a_plan_is_as_strict_as_its_strictest_step() {
    let policy = rules(&[
        ("read", "allow", "tool = 'read'"),
        ("pay", "hold", "tool = 'pay'\nrisk = 'critical'\nneeds = { people = 2 }"),
        ("drop", "deny", "tool = 'drop'"),
    ]);
    let outcome = plan(&[("read", json!({})), ("pay", json!({}))]).under(&policy);
    assert_eq!((outcome.effect, outcome.rule.as_str(), outcome.risk), (HOLD, "pay", Risk::Critical));
    assert_eq!(outcome.needs.any, seats(&[(2, None)]));
    assert_eq!(plan(&[("read", json!({})), ("drop", json!({}))]).under(&policy).effect, DENY);
    let unknown = plan(&[("some free text", json!({}))]).under(&policy);
    assert_eq!((unknown.effect, unknown.risk), (HOLD, Risk::Medium));
}

#[test]
fn shell_patterns_allow_whole_commands_and_find_mentioned_ones() {
    let policy = rules(&[
        (
            "known",
            "allow",
            "tool = 'Bash'\n[rule.args]\ncommand = { shell = { allow = [ { exact = ['git', 'status'] }, { exact = ['ls'] } ] } }",
        ),
        (
            "rm",
            "deny",
            "tool = 'Bash'\n[rule.args]\ncommand = { shell = { mention = [ { program = 'rm' } ] } }",
        ),
        (
            "other",
            "hold",
            "tool = 'Bash'\nrisk = 'high'\n[rule.args]\ncommand = { not = { shell = { allow = [ { exact = ['git', 'status'] }, { exact = ['ls'] } ] } } }",
        ),
    ]);
    let said = |command: &str| {
        let outcome = ask("Bash", json!({"command": command})).under(&policy);
        (outcome.effect, outcome.rule)
    };
    assert_eq!(said("git status && ls"), (ALLOW, "known".to_owned()));
    assert_eq!(said("git status && pwd"), (HOLD, "other".to_owned()));
    assert_eq!(said("ls; $(rm -rf /)"), (DENY, "rm".to_owned()));
    assert_eq!(said("ls $HOME"), (HOLD, "other".to_owned()));
}

#[test]
fn presets_come_along_under_their_names() {
    let policy =
        policy("extends = ['preset:default']\n[[rule]]\nname = 'mine'\neffect = 'allow'\ntool = 'deploy'\n");
    let outcome = ask("delete_files", json!({})).under(&policy);
    assert_eq!((outcome.effect, outcome.rule.as_str()), (HOLD, "default/destructive"));
    assert_eq!(ask("deploy", json!({})).under(&policy).effect, ALLOW);
    assert_eq!(policy.rule_names().next(), Some("mine"));
}

#[test]
fn an_explanation_says_for_every_rule_which_matcher_spoke() {
    let policy = rules(&[
        ("other", "deny", "tool = 'x'"),
        ("amount", "hold", "tool = 't'\n[rule.args]\namount = { above = 10 }"),
        ("broken", "hold", "tool = 't'\n[rule.args]\n'to.iban' = { prefix = 'DE' }"),
        ("yes", "allow", "tool = 't'"),
    ]);
    let explanation = ask("t", json!({"amount": 5})).explained(&policy);
    let said: Vec<_> =
        explanation.rules.iter().map(|rule| (rule.rule.as_str(), rule.said, rule.by.as_str())).collect();
    assert_eq!(
        said,
        [
            ("other", MatchResult::NotMatched, "tool"),
            ("amount", MatchResult::NotMatched, "argument `amount`"),
            ("broken", MatchResult::Error, "argument `to.iban`"),
            ("yes", MatchResult::Matched, "all")
        ]
    );
    assert_eq!(explanation.outcome.rule, "broken");
    let text = serde_json::to_string(&explanation).unwrap();
    assert!(text.contains("\"said\":\"not_matched\"") && text.contains("\"effect\":\"hold\""), "{text}");
    let steps = plan(&[("t", json!({"amount": 50}))]).explained(&policy).steps;
    assert_eq!(
        steps[0].rules.iter().map(|rule| rule.rule.as_str()).collect::<Vec<_>>(),
        ["amount", "broken", "yes"]
    );
}

#[test]
fn the_hash_covers_every_byte_of_the_text() {
    let one = Policy::parse("version = 1").unwrap();
    let two = Policy::parse("version = 1\n").unwrap();
    assert_ne!(one.hash(), two.hash());
    assert_eq!(one.hash().len(), "sha256:".len() + 64);
    assert_eq!(one.hash(), Policy::parse("version = 1").unwrap().hash());
    assert_eq!(two.text(), "version = 1\n");
    // SHA-256 of "placet/policy/v1\nversion = 1", by another program.
    assert_eq!(one.hash(), "sha256:ffd220fdac446581683c4dfde81061071a2fea5526fd5069f2cc9457d914bb01");
}

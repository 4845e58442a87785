//! What an agent merely claims makes an outcome stricter or leaves it alone.

use placet_core::{Covered, Effect, Risk};
use serde_json::json;

use crate::support::{ALLOW, Ask, DENY, HOLD, ask, rules};

#[test]
fn a_claimed_risk_raises_the_risk_and_never_lowers_it() {
    let policy = rules(&[("a", "allow", "tool = 'a'"), ("h", "hold", "tool = 'h'\nrisk = 'high'")]);
    let with = |tool: &str, risk| {
        let mut call = ask(tool, json!({}));
        call.risk = risk;
        let outcome = call.under(&policy);
        (outcome.effect, outcome.risk)
    };
    assert_eq!(with("a", None), (ALLOW, Risk::Low));
    assert_eq!(with("a", Some(Risk::Medium)), (ALLOW, Risk::Medium));
    assert_eq!(with("a", Some(Risk::High)), (HOLD, Risk::High));
    assert_eq!(with("h", Some(Risk::Low)), (HOLD, Risk::High));
    let mut critical = ask("a", json!({}));
    critical.risk = Some(Risk::Critical);
    assert_eq!(critical.under(&policy).needs.step_up.as_deref(), Some("code"));
}

#[test]
fn sub_agents_have_rules_of_their_own() {
    let policy = rules(&[
        ("main", "allow", "tool = 'write'"),
        ("coder", "hold", "tool = 'write'\nlineage = ['coder', 'x-*']\nneeds = { people = 2 }"),
    ]);
    let with = |context| {
        let mut call = ask("write", json!({}));
        call.context = context;
        call.under(&policy)
    };
    assert_eq!(with(json!({})).effect, ALLOW);
    assert_eq!(with(json!({"lineage": ["planner"]})).effect, ALLOW);
    assert_eq!(with(json!({"lineage": ["planner", "coder"]})).effect, HOLD);
    assert_eq!(with(json!({"lineage": ["x-1"]})).rule, "coder");
    for odd in [
        json!({"lineage": "coder"}),
        json!({"lineage": [1]}),
        json!({"lineage": {"0": "a"}}),
        json!({"lineage": vec!["a"; 65]}),
    ] {
        assert_eq!(with(odd.clone()).effect, HOLD, "{odd}");
    }
}

#[test]
fn a_session_can_be_held_or_denied_but_not_allowed() {
    let policy = rules(&[
        ("a", "allow", "tool = 't'"),
        ("s", "deny", "session = 'bad-*'"),
        ("w", "hold", "when = \"session == 'odd'\""),
    ]);
    let with = |session: &str| {
        let mut call = ask("t", json!({}));
        call.session = session.to_owned();
        call.under(&policy).effect
    };
    assert_eq!((with("good"), with("bad-1"), with("odd")), (ALLOW, DENY, HOLD));
}

#[test]
fn a_claim_that_denies_does_not_hide_the_risk_of_what_was_held() {
    let policy = rules(&[
        ("h", "hold", "tool = 't'\nrisk = 'critical'"),
        ("d", "deny", "session = 's'\nrisk = 'low'"),
    ]);
    let outcome = ask("t", json!({})).under(&policy);
    assert_eq!((outcome.effect, outcome.risk, outcome.rule.as_str()), (DENY, Risk::Critical, "d"));
}

#[test]
fn a_claim_does_not_bring_an_escalation_with_it() {
    let policy = crate::support::policy(
        "[escalation.up]\nneeds = { people = 1 }\nexpires_in = '1h'\n[[rule]]\nname = 'h'\neffect = 'hold'\ntool = 't'\nneeds = { people = 2 }\n\
         [[rule]]\nname = 'c'\neffect = 'hold'\nsession = 's'\non_expiry = { escalate = 'up' }\n",
    );
    assert_eq!(ask("t", json!({})).under(&policy).escalation, []);
}

#[test]
fn other_claims_are_not_looked_at() {
    let policy = rules(&[("a", "allow", "tool = 't'")]);
    let mut call = ask("t", json!({}));
    let before = call.under(&policy);
    call.on_behalf_of = Some("ceo".to_owned());
    call.group = Some("g".to_owned());
    call.context = json!({"cwd": "/", "policy": "allow", "effect": "allow"});
    assert_eq!(call.under(&policy), before);
    assert_eq!(before.effect, Effect::Allow);
}

#[test]
fn what_an_agent_reports_of_itself_can_be_a_reason_to_refuse() {
    let policy = rules(&[
        ("a", "allow", "tool = 't'"),
        ("h", "hold", "coverage = 'unknown'"),
        ("d", "deny", "coverage = ['partial']"),
    ]);
    let effect = |covered| Ask { covered, ..ask("t", json!({})) }.under(&policy).effect;
    assert_eq!(Covered::ALL.iter().map(|one| effect(*one)).collect::<Vec<_>>(), [ALLOW, DENY, HOLD]);
    let said = placet_policy::Policy::parse(
        "version = 1\n[[rule]]\nname = 'a'\neffect = 'hold'\ncoverage = 'whole'\n",
    );
    assert!(said.unwrap_err().to_string().contains("complete, partial, unknown"));
}

//! What holds for every policy and every call.

use std::{collections::BTreeSet, sync::LazyLock};

use placet_core::{Directory, Effect, Needs, Person, Risk, Role};
use placet_policy::{Comparison, Outcome, Policy, Recorded};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::support::{Ask, ask, policy};

/// One rule's text without its name.
fn rule() -> impl Strategy<Value = String> {
    let effect = prop_oneof![Just("allow"), Just("hold"), Just("deny")];
    let tool = prop::option::of(prop_oneof![
        Just("'a'"),
        Just("'b'"),
        Just("'a*'"),
        Just("['b', 'x/*']"),
        Just("'*'")
    ]);
    let agent = prop::option::of(prop_oneof![Just("'bot'"), Just("'b*'"), Just("'other'")]);
    let when = prop::option::of(prop_oneof![
        Just("args.n > 1"),
        Just("args.s == 'x'"),
        Just("has(args.l) && args.l.all(e, e == 1)"),
        Just("time.getHours() > 25")
    ]);
    let args = prop::option::of(prop_oneof![
        Just("n = { above = 1 }"),
        Just("n = { exists = false }"),
        Just("s = { in = ['x', 'y'] }"),
        Just("'l[*]' = { equals = 1 }"),
        Just("s = { matches = '^x+$' }"),
        Just("s = { not = { prefix = 'y' } }"),
        Just("s = { under = '/srv' }"),
    ]);
    let claims = prop::option::of(prop_oneof![
        Just("session = 's*'"),
        Just("lineage = ['coder', 'p*']"),
        Just("session = 'other'")
    ]);
    let risk = prop::option::of(prop_oneof![Just("low"), Just("medium"), Just("high"), Just("critical")]);
    let needs = prop::option::of(prop_oneof![
        Just("{ people = 2 }"),
        Just("{ team = 'x' }"),
        Just("{ any = [ { team = 'x' }, { all = [ { team = 'y' }, { people = 2 } ] } ], four_eyes = true }")
    ]);
    let more = (
        prop::option::of(prop_oneof![Just("5m"), Just("10m")]),
        prop::option::of(prop_oneof![Just("['approve', 'deny']"), Just("['edit']")]),
        prop::option::of(1_u32..4),
        any::<bool>(),
    );
    (effect, any::<bool>(), tool, agent, when, args, claims, risk, needs, more).prop_map(
        |(
            effect,
            confined,
            tool,
            agent,
            when,
            args,
            claims,
            risk,
            needs,
            (expires, decisions, trust, escalate),
        )| {
            let mut text = format!("effect = '{effect}'\n");
            if effect == "allow" && confined {
                text.push_str("confine = 'workspace'\n");
            }
            let mut add = |key: &str, value: Option<String>| {
                if let Some(value) = value {
                    text.push_str(&format!("{key} = {value}\n"));
                }
            };
            add("tool", tool.map(str::to_owned));
            add("agent", agent.map(str::to_owned));
            add("when", when.map(|when| format!("\"{when}\"")));
            add("risk", risk.map(|risk| format!("'{risk}'")));
            if effect == "hold" {
                add("needs", needs.map(str::to_owned));
                add("expires_in", expires.map(|long| format!("'{long}'")));
                add("decisions", decisions.map(str::to_owned));
                add(
                    "trust_after",
                    trust
                        .filter(|_| !matches!(risk, Some("high" | "critical")))
                        .map(|count| count.to_string()),
                );
                add("on_expiry", escalate.then(|| "{ escalate = 'up' }".to_owned()));
            }
            if effect != "allow"
                && let Some(claims) = claims
            {
                text.push_str(claims);
                text.push('\n');
            }
            if let Some(args) = args {
                text.push_str(&format!("[rule.args]\n{args}\n"));
            }
            text
        },
    )
}

const HEAD: &str = "[escalation.up]\nneeds = { people = 2 }\nexpires_in = '1h'\n";

fn text(rules: &[(usize, String)]) -> String {
    let rules: String =
        rules.iter().map(|(name, rule)| format!("[[rule]]\nname = 'r{name}'\n{rule}")).collect();
    format!("{HEAD}{rules}")
}

fn value() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(json!(null)),
        Just(json!(1)),
        Just(json!(5)),
        Just(json!(1.5)),
        Just(json!("x")),
        Just(json!("y")),
        Just(json!("/srv/a")),
        Just(json!("/srv/../a")),
        Just(json!([1, 1])),
        Just(json!([1, 2])),
        Just(json!([])),
        Just(json!({"a": 1})),
        Just(json!(true)),
    ]
}

fn call() -> impl Strategy<Value = Ask> {
    let tool =
        prop_oneof![Just("a"), Just("b"), Just("ab"), Just("A"), Just("x/y"), Just("c d"), Just("other")];
    (tool, prop::collection::btree_map("[nsl]", value(), 0..4))
        .prop_map(|(tool, arguments)| ask(tool, Value::Object(arguments.into_iter().collect())))
}

/// Everything an agent may set beyond tool and arguments.
fn claims() -> impl Strategy<Value = (String, Value, Option<Risk>, Option<String>, Option<String>)> {
    let lineage = prop_oneof![
        Just(json!({})),
        Just(json!({"lineage": ["coder"]})),
        Just(json!({"lineage": ["x", "planner"]})),
        Just(json!({"lineage": 5})),
        Just(json!({"lineage": [null]})),
        Just(json!({"cwd": "/srv", "effect": "allow"}))
    ];
    let risk = prop::option::of(prop_oneof![
        Just(Risk::Low),
        Just(Risk::Medium),
        Just(Risk::High),
        Just(Risk::Critical)
    ]);
    (
        prop_oneof![Just("s"), Just("other"), Just("")].prop_map(str::to_owned),
        lineage,
        risk,
        prop::option::of(Just("ceo".to_owned())),
        prop::option::of(Just("g".to_owned())),
    )
}

/// Every way of giving two teams to up to three people: as many as any needs here ask for.
static PEOPLE: LazyLock<Vec<(BTreeSet<&str>, Directory)>> = LazyLock::new(|| {
    const NAMES: [&str; 3] = ["a", "b", "c"];
    let mut all = Vec::new();
    for teams in 0..64_u32 {
        let person = |index: u32| Person {
            roles: [Role::Reviewer].into(),
            teams: [("x", 1), ("y", 2)]
                .into_iter()
                .filter(|(_, bit)| (teams >> (2 * index)) & bit != 0)
                .map(|(team, _)| team.to_owned())
                .collect(),
        };
        let people = NAMES.iter().zip(0..).map(|(name, index)| ((*name).to_owned(), person(index))).collect();
        let directory = Directory { people, ..Directory::default() };
        for size in 1..=3 {
            all.push((NAMES[..size].iter().copied().collect(), directory.clone()));
        }
    }
    all
});

/// Whoever can meet `strict` can meet `loose`.
fn meets_more(strict: &Needs, loose: &Needs) -> bool {
    (!loose.four_eyes || strict.four_eyes)
        && (loose.step_up.is_none() || strict.step_up.is_some())
        && PEOPLE
            .iter()
            .all(|(who, directory)| !strict.met(who, 0, directory) || loose.met(who, 0, directory))
}

/// Whether `strict` is at least as strict as `loose` in every field.
fn at_least(strict: &Outcome, loose: &Outcome) -> Result<(), String> {
    let shorter = |strict: Option<std::time::Duration>, loose: Option<std::time::Duration>| {
        loose.is_none_or(|loose| strict.is_some_and(|strict| strict <= loose))
    };
    let check =
        |good: bool, what: &str| if good { Ok(()) } else { Err(format!("{what}:\n{strict:#?}\n{loose:#?}")) };
    check(strict.effect >= loose.effect, "effect")?;
    check(strict.effect != Effect::Allow || strict.confine >= loose.confine, "confine")?;
    check(
        [strict, loose].iter().all(|outcome| outcome.effect == Effect::Allow || outcome.confine.is_none()),
        "confine of what does not pass",
    )?;
    check(strict.risk >= loose.risk, "risk")?;
    check(shorter(strict.claim_window, loose.claim_window), "claim window")?;
    if strict.effect == Effect::Hold && loose.effect == Effect::Hold {
        check(meets_more(&strict.needs, &loose.needs), "needs")?;
        check(shorter(strict.expires_in, loose.expires_in), "expires_in")?;
        check(strict.escalation.len() <= loose.escalation.len(), "escalation")?;
        check(
            strict.trust.is_none()
                || loose.trust.as_ref().is_some_and(|loose| {
                    strict.trust.as_ref().is_some_and(|strict| strict.after >= loose.after)
                }),
            "trust",
        )?;
        check(
            loose.decisions.as_ref().is_none_or(|loose| {
                strict.decisions.as_ref().is_some_and(|strict| strict.iter().all(|word| loose.contains(word)))
            }),
            "decisions",
        )?;
        for (strict, loose) in strict.escalation.iter().zip(&loose.escalation) {
            check(meets_more(&strict.needs, &loose.needs), "escalated needs")?;
        }
    }
    Ok(())
}

fn bare(outcome: Outcome) -> Outcome {
    Outcome { rule: String::new(), reasons: Vec::new(), ..outcome }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn the_order_of_rules_never_matters_for_the_effect(
        (rules, shuffled) in prop::collection::vec(rule(), 0..6).prop_flat_map(|rules| {
            let named: Vec<(usize, String)> = rules.into_iter().enumerate().collect();
            (Just(named.clone()), Just(named).prop_shuffle())
        }),
        calls in prop::collection::vec(call(), 1..6),
    ) {
        let (one, two) = (policy(&text(&rules)), policy(&text(&shuffled)));
        for call in calls {
            let (left, right) = (call.under(&one), call.under(&two));
            prop_assert_eq!(left.effect, right.effect);
            prop_assert_eq!((left.risk, left.needs, left.expires_in, left.decisions, left.trust), (right.risk, right.needs, right.expires_in, right.decisions, right.trust));
        }
    }

    #[test]
    fn nothing_an_agent_claims_makes_an_outcome_looser(
        rules in prop::collection::vec(rule(), 0..6),
        calls in prop::collection::vec((call(), claims()), 1..6),
    ) {
        let policy = policy(&text(&rules.into_iter().enumerate().collect::<Vec<_>>()));
        for (call, (session, context, risk, on_behalf_of, group)) in calls {
            // A session no rule speaks of, and nothing else: as few claims as a call can make.
            let mut silent = call.clone();
            silent.session = "unheard-of".to_owned();
            let without = silent.under(&policy);
            let mut claiming = call;
            (claiming.session, claiming.context, claiming.risk, claiming.on_behalf_of, claiming.group) = (session, context, risk, on_behalf_of, group);
            let with = claiming.under(&policy);
            if let Err(message) = at_least(&with, &without) {
                return Err(TestCaseError::fail(message));
            }
        }
    }

    #[test]
    fn one_claim_more_never_makes_an_outcome_looser(rules in prop::collection::vec(rule(), 0..6), call in call(), risks in (0..4_usize, 0..4_usize)) {
        let policy = policy(&text(&rules.into_iter().enumerate().collect::<Vec<_>>()));
        let (low, high) = (risks.0.min(risks.1), risks.0.max(risks.1));
        let with = |index: usize| {
            let mut call = call.clone();
            call.risk = Some(Risk::ALL[index]);
            call.under(&policy)
        };
        if let Err(message) = at_least(&with(high), &with(low)) {
            return Err(TestCaseError::fail(message));
        }
    }

    #[test]
    fn what_cannot_be_evaluated_is_never_allowed(rules in prop::collection::vec(rule(), 1..6), call in call()) {
        let rules: Vec<(usize, String)> = rules.into_iter().enumerate().collect();
        let policy = policy(&text(&rules));
        let explanation = call.explained(&policy);
        let allows = explanation.rules.iter().any(|rule| rule.effect == Effect::Allow && rule.said == placet_policy::MatchResult::Matched);
        let restricts = explanation.rules.iter().any(|rule| rule.effect != Effect::Allow && rule.said != placet_policy::MatchResult::NotMatched);
        if explanation.outcome.effect == Effect::Allow {
            prop_assert!(allows && !restricts, "{:#?}", explanation);
        }
        let denies = explanation.rules.iter().any(|rule| rule.effect == Effect::Deny && rule.said != placet_policy::MatchResult::NotMatched);
        prop_assert_eq!(explanation.outcome.effect == Effect::Deny, denies);
        prop_assert_eq!(&explanation.outcome, &call.under(&policy), "an explanation explains what is said");
    }

    #[test]
    fn joining_is_commutative_idempotent_and_never_looser(
        rules in prop::collection::vec(rule(), 1..6),
        calls in (call(), call(), call()),
        risks in (0..4_usize, 0..4_usize),
    ) {
        let policy = policy(&text(&rules.into_iter().enumerate().collect::<Vec<_>>()));
        let (mut one, mut two) = (calls.0, calls.1);
        one.risk = Some(Risk::ALL[risks.0]);
        two.risk = Some(Risk::ALL[risks.1]);
        let (left, right, third) = (one.under(&policy), two.under(&policy), calls.2.under(&policy));
        let joined = left.clone().join(right.clone());
        prop_assert_eq!(bare(joined.clone()), bare(right.clone().join(left.clone())));
        prop_assert_eq!(joined.effect, left.effect.max(right.effect));
        prop_assert_eq!(bare(left.clone().join(left.clone())), bare(left.clone()));
        prop_assert_eq!(bare(joined.clone().join(joined.clone())), bare(joined.clone()));
        prop_assert!(!left.stricter_than(&joined) && !right.stricter_than(&joined));
        prop_assert!(!left.stricter_than(&left));
        for side in [&left, &right] {
            if let Err(message) = at_least(&joined, side) {
                return Err(TestCaseError::fail(message));
            }
        }
        // Monotone: what is stricter stays stricter beside a third.
        if let Err(message) = at_least(&joined.clone().join(third.clone()), &left.join(third)) {
            return Err(TestCaseError::fail(message));
        }
    }

    #[test]
    fn replaying_the_same_policy_changes_nothing(rules in prop::collection::vec(rule(), 0..6), calls in prop::collection::vec(call(), 1..10)) {
        let text = text(&rules.into_iter().enumerate().collect::<Vec<_>>());
        let (then, now) = (policy(&text), policy(&text));
        let mut comparison = Comparison::new();
        for call in &calls {
            let before = call.under(&then);
            let recorded = Recorded { id: "x", agent: &call.agent, tool: Some(&call.tool), effect: before.effect, confine: before.confine, rule: &before.rule, risk: before.risk, decision: None, seconds: None };
            comparison.add(&recorded, &call.under(&now));
        }
        let report = comparison.report();
        prop_assert_eq!((report.total, report.unchanged), (calls.len() as u64, calls.len() as u64));
        prop_assert_eq!((report.changes.len(), report.risk_changed, report.rule_changed, report.prompts_added, report.prompts_saved), (0, 0, 0, 0, 0));
    }

    #[test]
    fn no_text_breaks_the_reader(text in "\\PC{0,300}") {
        let _ = Policy::parse(&text);
        let _ = Policy::parse(&format!("version = 1\n[[rule]]\nname = 'x'\neffect = 'hold'\n{text}"));
    }

    #[test]
    fn a_file_cut_anywhere_is_refused_or_whole_in_itself(at in 0_usize..10_000) {
        let text = placet_policy::preset("payments").unwrap();
        let at = at % text.len();
        if let Some(half) = text.get(..at) && let Ok(half) = Policy::parse(half) {
            // Between two rules a cut leaves a smaller policy, which still allows nothing that the whole would not.
            prop_assert!(half.rule_names().count() <= Policy::parse(text).unwrap().rule_names().count());
        }
    }
}

//! Policy: one evaluation compared with a hash-map lookup, replay on one core, the cost of hostile rules and
//! arguments, and a simulation over all requests of a server.

use std::{collections::HashMap, hint::black_box, time::Duration};

use anyhow::{Context as _, Result, anyhow, ensure};
use placet_core::{DecisionWord, Effect, Kind, Risk, Time};
use placet_policy::{Call, Claims, Comparison, Policy, Recorded};
use serde_json::{Map, Value, json};
use tokio::time::Instant;

use super::Bench;
use crate::load::conn::Conn;
use crate::load::figures::Latencies;
use crate::load::fill;
use crate::load::wire;
use crate::report::{Goal, Report, Row};

pub(super) async fn policy(bench: &Bench, report: &mut Report) {
    report.take("policy", "policy evaluation", evaluation(bench));
    report.take("policy", "policy replay", replay(bench));
    report.take("policy", "hostile rules and arguments", hostile(bench));
    report.take("policy", "simulation over the wire", simulation(bench).await);
}

fn call<'a>(tool: &'a str, arguments: &'a Map<String, Value>, context: &'a Map<String, Value>) -> Call<'a> {
    Call {
        kind: Kind::Action,
        tool: Some(tool),
        arguments: Some(arguments),
        steps: &[],
        agent: "bot-7",
        source: "rest",
        time: Time::from_micros(1_794_700_000_000_000),
        claims: Claims { session: "s", context, risk: None, on_behalf_of: None, group: None },
        place: None,
        covered: placet_core::Covered::Unknown,
    }
}

fn map(value: Value) -> Map<String, Value> {
    if let Value::Object(map) = value { map } else { Map::new() }
}

fn parse(text: &str) -> Result<Policy> {
    Policy::parse(text).map_err(|errors| anyhow!("the policy of this row does not parse: {errors}"))
}

/// This many rules: a fifth each of exact tools, globs, shell patterns, conditions, and rules that any call may
/// match.
fn rules(count: usize) -> Result<Policy> {
    let mut text = String::from("version = 1\n");
    for n in 0..count {
        let rest = match n % 5 {
            0 => format!(
                "effect = 'allow'\ntool = ['server{n}/read', 'server{n}/list']\n[rule.args]\nbody = {{ matches = '^[a-z0-9 .,]*$' }}\n'to.account' = {{ in = ['a', 'b', 'acc-{n}'] }}"
            ),
            1 => format!(
                "effect = 'hold'\ntool = 'server{}/*'\nrisk = 'medium'\n[rule.args]\namount = {{ exists = true, above = {n} }}",
                n - 1
            ),
            2 => format!(
                "effect = 'hold'\ntool = 'shell{n}'\n[rule.args]\ncommand = {{ shell = {{ mention = [ {{ program = 'rm' }} ] }} }}"
            ),
            3 => format!(
                "effect = 'hold'\ntool = 'server{}/*'\nwhen = 'has(args.amount) && args.amount > {n}.0 && args.to.account.startsWith(\"evil\")'",
                n - 3
            ),
            // No index can help with these.
            _ => format!("effect = 'deny'\ntool = '*_forbidden_{n}'"),
        };
        text += &["[[rule]]\nname = 'r", &n.to_string(), "'\n", &rest, "\n"].concat();
    }
    parse(&text)
}

/// Arguments of about 4 KB, which an allow rule reads whole.
fn arguments(n: usize) -> Map<String, Value> {
    map(json!({
        "body": "lorem ipsum dolor sit amet, ".repeat(130),
        "amount": 0,
        "to": {"account": format!("acc-{n}"), "name": "somebody"},
        "tags": ["a", "b", "c"],
        "options": {"dry_run": false, "retries": 3},
    }))
}

fn time_each(count: usize, mut work: impl FnMut(usize)) -> Latencies {
    let each = (0..count).map(|n| {
        let start = Instant::now();
        work(n);
        start.elapsed()
    });
    Latencies::new(each.collect())
}

/// 1,000 rules and 4 KB of arguments. Every call passes all rules that could hold it and reaches one that allows it.
fn evaluation(bench: &Bench) -> Result<Vec<Row>> {
    let policy = rules(1_000)?;
    let context = Map::new();
    let tools: Vec<String> = (0..200).map(|n| format!("server{}/read", n * 5)).collect();
    let inputs: Vec<(&String, Map<String, Value>)> =
        tools.iter().enumerate().map(|(n, tool)| (tool, arguments(n * 5))).collect();
    let table: HashMap<&str, Effect> = tools.iter().map(|tool| (tool.as_str(), Effect::Allow)).collect();
    let input = |n: usize| inputs.get(n % inputs.len()).context("there are inputs");
    for (tool, arguments) in &inputs {
        let effect = policy.evaluate(&call(tool, arguments, &context)).effect;
        ensure!(effect == Effect::Allow, "{tool} did not go the long way to a rule that allows it");
    }
    input(0)?;
    let calls = bench.sizes.evaluations;
    let (mut p50, mut p99, mut lookup) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..bench.rounds {
        bench.round(round, "policy evaluation");
        let looked_up = time_each(calls, |n| {
            if let Ok((tool, _)) = input(n) {
                black_box(table.get(tool.as_str()));
            }
        });
        let evaluated = time_each(calls, |n| {
            if let Ok((tool, arguments)) = input(n) {
                black_box(policy.evaluate(&call(tool, arguments, &context)));
            }
        });
        p50.push(evaluated.p50() * 1e3);
        p99.push(evaluated.p99() * 1e3);
        lookup.push(looked_up.p99() * 1e3);
    }
    Ok(vec![
        Row::new("policy", "policy evaluation, 1,000 rules, 4 KB of arguments, p99", "us", &p99)
            .against("us hash-map lookup", &lookup)
            .goal(Goal::AtMost(50.0))
            .note(format!("{calls} evaluations a round, the clock included in both figures")),
        Row::new("policy", "policy evaluation, 1,000 rules, 4 KB of arguments, p50", "us", &p50),
    ])
}

/// The policy in force over requests in memory: nothing may change.
fn replay(bench: &Bench) -> Result<Vec<Row>> {
    let policy = rules(50)?;
    let context = Map::new();
    let inputs: Vec<(String, Map<String, Value>)> = (0..100)
        .map(|n| {
            let tool =
                if n % 3 == 0 { format!("unknown{n}") } else { format!("server{}/read", (n % 10) * 5) };
            let to = format!("acc-{}", (n % 10) * 5);
            (tool, map(json!({"body": "hello", "amount": n, "to": {"account": to}})))
        })
        .collect();
    let recorded: Vec<Effect> = inputs
        .iter()
        .map(|(tool, arguments)| policy.evaluate(&call(tool, arguments, &context)).effect)
        .collect();
    let mut rates = Vec::new();
    for round in 0..bench.rounds {
        bench.round(round, "policy replay");
        let start = Instant::now();
        let mut comparison = Comparison::new();
        for _ in 0..bench.sizes.evaluations / inputs.len() {
            for ((tool, arguments), effect) in inputs.iter().zip(&recorded) {
                let outcome = policy.evaluate(&call(tool, arguments, &context));
                let before = Recorded {
                    id: "req",
                    agent: "bot-7",
                    tool: Some(tool),
                    effect: *effect,
                    confine: None,
                    rule: &outcome.rule,
                    risk: Risk::Medium,
                    decision: Some(DecisionWord::Approve),
                    seconds: Some(30.0),
                };
                comparison.add(&before, &outcome);
            }
        }
        let took = start.elapsed();
        let report = comparison.report();
        ensure!(
            report.total > 0 && report.unchanged == report.total,
            "replaying the policy in force changed something"
        );
        rates.push(report.total as f64 / took.as_secs_f64());
    }
    Ok(vec![
        Row::new("policy", "policy replay, 50 rules, one core, requests in memory", "/s", &rates)
            .goal(Goal::AtLeast(200_000.0)),
    ])
}

/// The worst combination of a rule and its arguments.
fn hostile(bench: &Bench) -> Result<Vec<Row>> {
    let context = Map::new();
    let cases = hostile_cases();
    let mut worst = Vec::new();
    let mut which = "";
    for round in 0..bench.rounds {
        bench.round(round, "hostile rules and arguments");
        let mut slowest = 0.0_f64;
        for (name, effect, rest, arguments) in &cases {
            let policy =
                parse(&format!("version = 1\n[[rule]]\nname = 'r'\neffect = '{effect}'\ntool = 't'\n{rest}"))
                    .with_context(|| (*name).to_owned())?;
            let each = time_each(200, |_| {
                black_box(policy.evaluate(&call("t", arguments, &context)));
            });
            // On a shared machine the slowest case is the scheduler's.
            if each.p99() > slowest {
                slowest = each.p99();
                which = name;
            }
        }
        worst.push(slowest);
    }
    Ok(vec![
        Row::new("policy", "hostile rule with hostile arguments, the slowest case, p99", "ms", &worst)
            .goal(Goal::AtMost(1.0))
            .note(format!("the slowest was: {which}")),
    ])
}

fn hostile_cases() -> Vec<(&'static str, &'static str, String, Map<String, Value>)> {
    let numbers: Vec<Value> = (0..250).map(|n| json!(n)).collect();
    let large = map(json!({
        "s": "ab".repeat(120_000), "l": numbers, "t": vec!["abcdefgh".repeat(100); 250],
        "many": vec!["x"; 9_000], "p": "/srv/".to_owned() + &"a/".repeat(100_000),
    }));
    let nested = map(json!({"l": vec![vec!["xxxxxxxxxx"; 90]; 90], "m": vec![vec!["xxxxxxxxxx"; 90]; 90]}));
    let wide: Map<String, Value> = (0..9_500).map(|n| (format!("k{n}"), json!(n))).collect();
    let deep = map((0..60).fold(json!(1), |inner, _| json!({ "a": inner })));
    let shell = |text: String| map(json!({ "s": text }));
    vec![
        ("regex over 240 KB, three times", "allow", "when = \"args.s.matches('^(a|b)*c$') || args.s.matches('(ab)*d') || args.s.matches('^[ab]*e$')\"".to_owned(), large.clone()),
        ("list times list", "allow", "when = 'args.l.filter(e, args.l == args.l).size() == 3'".to_owned(), large.clone()),
        ("contains in a comprehension", "allow", "when = 'args.l.all(e, args.s.contains(\"zz\") == false)'".to_owned(), large.clone()),
        ("concatenation", "allow", format!("when = '({}).size() > 5'", ["args.s"; 12].join(" + ")), large.clone()),
        ("every element of 9,000", "allow", "[rule.args]\n'many[*]' = { matches = '^x$' }".to_owned(), large.clone()),
        ("path of 100,000 segments", "allow", "[rule.args]\np = { under = ['/srv/b', '/x', '/y'] }".to_owned(), large.clone()),
        ("texts in a comprehension", "allow", "when = \"args.t.all(e, e.matches('^[a-h]*$') && e.size() == 800)\"".to_owned(), large),
        ("nested lists compared", "allow", "when = 'args.l == args.m'".to_owned(), nested),
        ("9 KB of substitutions", "allow", "[rule.args]\ns = { shell = { allow = [ { exact = ['ls'] } ] } }".to_owned(), shell("ls $(cat x | sort); ".repeat(450))),
        ("a long command line", "allow", "[rule.args]\ns = { shell = { allow = [ { program = 'ls', operands = 'any' } ] } }".to_owned(), shell("ls ".repeat(2_000))),
        ("9,500 keys", "allow", "when = 'args.all(k, k != \"x\")'".to_owned(), wide),
        ("deep arguments", "allow", "[rule.args]\n'a.a.a.a.a' = { equals = 1 }".to_owned(), deep),
        ("9 KB of substitutions, looked through", "hold", "[rule.args]\ns = { shell = { mention = [ { program = 'rm', flags = ['-r'] }, { words = ['/etc/passwd'] } ] } }".to_owned(), shell("ls $(cat x | sort); ".repeat(450))),
        ("a long command line, looked through", "hold", "[rule.args]\ns = { shell = { mention = [ { program = 'rm', flags = ['-r'] }, { words = ['/etc/passwd'] } ] } }".to_owned(), shell("ls ".repeat(2_000))),
        ("a command line too long to look through", "hold", "[rule.args]\ns = { shell = { mention = [ { program = 'rm', flags = ['-r'] }, { words = ['/etc/passwd'] } ] } }".to_owned(), shell("ls ".repeat(3_000))),
    ]
}

/// The whole way: read all requests, judge them, compare, answer.
async fn simulation(bench: &Bench) -> Result<Vec<Row>> {
    let history = bench.sizes.simulated;
    let subject = bench.subject()?;
    let target = subject.target();
    fill::create(target, history).await?;
    let text = placet_policy::preset("default").context("there is a default policy")?;
    let body = json!({ "policy": text }).to_string();
    let request = wire::post(target.addr, "/v1/policy/simulate", &target.reviewer, "", body.as_bytes());
    let mut rates = Vec::new();
    for round in 0..bench.rounds {
        bench.round(round, "simulation over the wire");
        let mut conn = Conn::open(target.addr).await?;
        let start = Instant::now();
        let answer = conn.call(&request).await?;
        let took = start.elapsed().max(Duration::from_micros(1));
        answer.expect(200, "simulate")?;
        let report: Value = serde_json::from_slice(answer.body)?;
        ensure!(report["total"] == history, "not everything was looked at: {report}");
        ensure!(report["changes"] == json!([]), "replaying the policy in force changed something: {report}");
        rates.push(history as f64 / took.as_secs_f64());
    }
    Ok(vec![
        Row::new("policy", format!("simulation of {history} requests on record"), "/s", &rates)
            .note("from the call to its answer, with reading and decoding every request"),
    ])
}

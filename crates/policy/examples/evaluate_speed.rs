//! How fast policies are evaluated: a thousand rules with arguments of 4 KB beside a plain hash-map lookup in the same
//! run, replay with fifty rules, and what hostile rules and arguments can cost at most.
//!
//! ```text
//! cargo run -p placet-policy --profile measure --example evaluate_speed
//! ```
#![expect(clippy::print_stdout, reason = "the figures are what it is for")]
#![expect(clippy::disallowed_methods, reason = "it measures real time")]

use std::{
    collections::HashMap,
    hint::black_box,
    time::{Duration, Instant},
};

use placet_core::{DecisionWord, Effect, Kind, Risk, Time};
use placet_policy::{Call, Claims, Comparison, Policy, Recorded, preset};
use serde_json::{Map, Value, json};

fn main() {
    thousand_rules();
    presets();
    replay();
    hostile();
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
    }
}

fn map(value: Value) -> Map<String, Value> {
    if let Value::Object(map) = value { map } else { Map::new() }
}

/// So many rules: a fifth each of exact tools, globs, shell patterns, conditions, and rules that any call may match.
fn policy(rules: usize) -> Policy {
    let mut text = String::from("version = 1\n");
    for n in 0..rules {
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
            // Nothing in these can be looked up beforehand.
            _ => format!("effect = 'deny'\ntool = '*_forbidden_{n}'"),
        };
        text += &["[[rule]]\nname = 'r", &n.to_string(), "'\n", &rest, "\n"].concat();
    }
    match Policy::parse(&text) {
        Ok(policy) => policy,
        Err(errors) => panic!("{errors}"),
    }
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

fn percentiles(mut times: Vec<Duration>) -> (Duration, Duration, Duration) {
    times.sort();
    let at = |hundredths: usize| times[(times.len() - 1) * hundredths / 100];
    (at(50), at(99), at(100))
}

fn thousand_rules() {
    const CALLS: usize = 200_000;
    let policy = policy(1_000);
    let context = Map::new();
    let tools: Vec<String> = (0..200).map(|n| format!("server{}/read", n * 5)).collect();
    let inputs: Vec<(&String, Map<String, Value>)> =
        tools.iter().enumerate().map(|(n, tool)| (tool, arguments(n * 5))).collect();
    let table: HashMap<&str, Effect> = tools.iter().map(|tool| (tool.as_str(), Effect::Allow)).collect();
    let bytes = serde_json::to_string(&inputs[0].1).map_or(0, |text| text.len());
    let allowed = inputs
        .iter()
        .filter(|(tool, arguments)| policy.evaluate(&call(tool, arguments, &context)).effect == Effect::Allow)
        .count();
    assert_eq!(
        allowed,
        inputs.len(),
        "every call must go the long way: past every rule that holds, to one that allows"
    );
    let measure = |work: &dyn Fn(usize)| {
        (0..CALLS)
            .map(|n| {
                let start = Instant::now();
                work(n);
                start.elapsed()
            })
            .collect::<Vec<_>>()
    };
    let empty = percentiles(measure(&|n| {
        black_box(n);
    }));
    let lookup = percentiles(measure(&|n| {
        black_box(table.get(inputs[n % inputs.len()].0.as_str()));
    }));
    let evaluated = percentiles(measure(&|n| {
        let (tool, arguments) = &inputs[n % inputs.len()];
        black_box(policy.evaluate(&call(tool, arguments, &context)));
    }));
    println!("1,000 rules, arguments of {bytes} bytes, {CALLS} calls (one thread)");
    println!("  timer alone        p50 {:>9.3?}  p99 {:>9.3?}  max {:>9.3?}", empty.0, empty.1, empty.2);
    println!("  hash-map lookup    p50 {:>9.3?}  p99 {:>9.3?}  max {:>9.3?}", lookup.0, lookup.1, lookup.2);
    println!(
        "  policy evaluation  p50 {:>9.3?}  p99 {:>9.3?}  max {:>9.3?}",
        evaluated.0, evaluated.1, evaluated.2
    );
}

fn presets() {
    const CALLS: usize = 50_000;
    let context = Map::new();
    println!("presets");
    for (name, tool, arguments) in [
        ("default", "github/list_issues", json!({"repo": "a/b"})),
        ("coding-agent", "Bash", json!({"command": "git status -s && ls -la src | head -20"})),
        ("coding-agent", "Read", json!({"file_path": "/srv/app/src/main.rs"})),
        ("payments", "transfer", json!({"amount": 5000, "to": "x"})),
        ("database", "query", json!({"sql": "SELECT id, name FROM orders WHERE id = 5 LIMIT 10"})),
        ("kubernetes", "k8s_get_resources", json!({"resource_type": "pods", "namespace": "dev"})),
    ] {
        let Some(Ok(policy)) = preset(name).map(Policy::parse) else { continue };
        let arguments = map(arguments);
        let times = (0..CALLS)
            .map(|_| {
                let start = Instant::now();
                black_box(policy.evaluate(&call(tool, &arguments, &context)));
                start.elapsed()
            })
            .collect();
        let (p50, p99, _) = percentiles(times);
        println!("  {name:<13} {tool:<20} p50 {p50:>9.3?}  p99 {p99:>9.3?}");
    }
}

fn replay() {
    const REQUESTS: usize = 1_000_000;
    let policy = policy(50);
    let context = Map::new();
    let inputs: Vec<(String, Map<String, Value>)> = (0..100)
        .map(|n| {
            let tool =
                if n % 3 == 0 { format!("unknown{n}") } else { format!("server{}/read", (n % 10) * 5) };
            (
                tool,
                map(
                    json!({"body": "hello", "amount": n, "to": {"account": format!("acc-{}", (n % 10) * 5)}}),
                ),
            )
        })
        .collect();
    let recorded: Vec<Effect> = inputs
        .iter()
        .map(|(tool, arguments)| policy.evaluate(&call(tool, arguments, &context)).effect)
        .collect();
    let start = Instant::now();
    let mut comparison = Comparison::new();
    for n in 0..REQUESTS {
        let index = n % inputs.len();
        let (tool, arguments) = &inputs[index];
        let outcome = policy.evaluate(&call(tool, arguments, &context));
        let before = Recorded {
            id: "req",
            agent: "bot-7",
            tool: Some(tool),
            effect: recorded[index],
            rule: &outcome.rule,
            risk: Risk::Medium,
            decision: Some(DecisionWord::Approve),
            seconds: Some(30.0),
        };
        comparison.add(&before, &outcome);
    }
    let took = start.elapsed();
    let report = comparison.report();
    assert_eq!(
        (report.total, report.unchanged),
        (REQUESTS as u64, REQUESTS as u64),
        "replaying the policy in force changes nothing"
    );
    println!("replay, 50 rules: {:.0} requests a second on one core", REQUESTS as f64 / took.as_secs_f64());
}

/// The worst that a rule and its arguments can do together.
fn hostile() {
    let context = Map::new();
    let numbers: Vec<Value> = (0..250).map(|n| json!(n)).collect();
    let large = json!({"s": "ab".repeat(60_000), "l": numbers, "t": vec!["abcdefgh".repeat(100); 250], "many": vec!["x"; 9_000], "p": "/srv/".to_owned() + &"a/".repeat(100_000)});
    let nested = json!({"l": vec![vec!["xxxxxxxxxx"; 90]; 90], "m": vec![vec!["xxxxxxxxxx"; 90]; 90]});
    let shell = json!({"s": "ls $(cat x | sort); ".repeat(450)});
    let long_line = json!({"s": "ls ".repeat(3_000)});
    let wide: Map<String, Value> = (0..9_500).map(|n| (format!("k{n}"), json!(n))).collect();
    let cases: [(&str, String, Value); 12] = [
        ("regex over 120 KB, three times", "when = \"args.s.matches('^(a|b)*c$') || args.s.matches('(ab)*d') || args.s.matches('^[ab]*e$')\"".to_owned(), large.clone()),
        ("list times list", "when = 'args.l.filter(e, args.l == args.l).size() == 3'".to_owned(), large.clone()),
        ("contains in a comprehension", "when = 'args.l.all(e, args.s.contains(\"zz\") == false)'".to_owned(), large.clone()),
        ("concatenation", format!("when = '({}).size() > 5'", ["args.s"; 12].join(" + ")), large.clone()),
        ("every element of 9,000", "[rule.args]\n'many[*]' = { matches = '^x$' }".to_owned(), large.clone()),
        ("path of 100,000 segments", "[rule.args]\np = { under = ['/srv/b', '/x', '/y'] }".to_owned(), large.clone()),
        ("texts in a comprehension", "when = \"args.t.all(e, e.matches('^[a-h]*$') && e.size() == 800)\"".to_owned(), large),
        ("nested lists compared", "when = 'args.l == args.m'".to_owned(), nested),
        ("9 KB of substitutions", "[rule.args]\ns = { shell = { allow = [ { exact = ['ls'] } ] } }".to_owned(), shell),
        ("a long command line", "[rule.args]\ns = { shell = { allow = [ { program = 'ls', operands = 'any' } ] } }".to_owned(), long_line),
        ("9,500 keys", "when = 'args.all(k, k != \"x\")'".to_owned(), Value::Object(wide)),
        ("deep arguments", "[rule.args]\n'a.a.a.a.a' = { equals = 1 }".to_owned(), (0..60).fold(json!(1), |inner, _| json!({ "a": inner }))),
    ];
    println!("hostile rules and arguments, 200 evaluations each (twenty such rules at once in brackets)");
    for (name, rest, arguments) in cases {
        let arguments = map(arguments);
        let cost = |rules: usize| {
            let text: Vec<String> = (0..rules)
                .map(|n| format!("[[rule]]\nname = 'r{n}'\neffect = 'allow'\ntool = 't'\n{rest}"))
                .collect();
            let policy = match Policy::parse(&format!("version = 1\n{}", text.join("\n"))) {
                Ok(policy) => policy,
                Err(errors) => panic!("{name}: {errors}"),
            };
            let mut times: Vec<Duration> = (0..200)
                .map(|_| {
                    let start = Instant::now();
                    black_box(policy.evaluate(&call("t", &arguments, &context)));
                    start.elapsed()
                })
                .collect();
            let (p50, p99, _) = percentiles(std::mem::take(&mut times));
            format!("p50 {p50:>9.3?} p99 {p99:>9.3?}")
        };
        println!("  {name:<32} {}   ({})", cost(1), cost(20));
    }
}

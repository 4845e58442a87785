//! Facts about conditions, with the `cel` crate as a witness.

use placet_core::Time;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::*;

pub(super) fn said(source: &str, arguments: &Value) -> Tri {
    let condition = Condition::new(source).unwrap_or_else(|refused| panic!("{source}: {refused:?}"));
    let arguments = arguments.as_object().unwrap();
    let lineage = json!(["planner", "coder"]);
    let scope = Scope {
        arguments,
        tool: "pay",
        agent: "bot",
        source: "rest",
        // A Saturday, 23:46:40 UTC.
        time: Time::from_micros(1_794_700_000_000_000),
        session: "s-1",
        lineage: Some(&lineage),
    };
    condition.test(&scope, &WorkBudget::new())
}

pub(super) fn yes(source: &str, arguments: &Value) {
    assert_eq!(said(source, arguments), Tri::Yes, "{source}");
}

pub(super) fn no(source: &str, arguments: &Value) {
    assert_eq!(said(source, arguments), Tri::No, "{source}");
}

pub(super) fn error(source: &str, arguments: &Value) {
    assert!(matches!(said(source, arguments), Tri::Error(_)), "{source}: {:?}", said(source, arguments));
}

#[test]
fn conditions_compare_compute_and_look_into_arguments() {
    let args = json!({"amount": 1200, "half": 0.5, "to": {"iban": "DE1"}, "tags": ["a", "b"], "on": true, "none": null, "name": "größe"});
    for source in [
        "args.amount > 1000.0",
        "args.amount >= 1200 && args.half < 1",
        "args.to.iban == 'DE1'",
        "args['to']['iban'] == \"DE1\"",
        "args.tags[1] == 'b'",
        "'a' in args.tags",
        "'iban' in args.to",
        "has(args.to.iban) && !has(args.to.bic)",
        "size(args.tags) == 2",
        "args.name.size() == 5",
        "args.to.iban.startsWith('DE')",
        "args.name.contains('ö')",
        "args.to.iban.matches('^[A-Z]{2}[0-9]+$')",
        "args.tags.all(t, t < 'c')",
        "args.tags.exists(t, t == 'b')",
        "args.tags.exists_one(t, t == 'a')",
        "args.tags.filter(t, t != 'a').size() == 1",
        "args.tags.map(t, t + 'x')[0] == 'ax'",
        "args.amount / 7 == 171 && args.amount % 7 == 3",
        "-args.amount == -1200",
        "args.on ? true : false",
        "tool == 'pay' && agent == 'bot' && source == 'rest' && session == 's-1'",
        "'coder' in lineage",
        "lineage[0] == 'planner'",
        "time.getHours() == 23 && time.getMinutes() == 46 && time.getSeconds() == 40",
        "time.getDayOfWeek() == 6",
        "time.getHours('+02:00') == 1",
        "time.getFullYear() == 2026 && time.getMonth() == 10 && time.getDate() == 14 && time.getDayOfMonth() == 13",
        "time > timestamp('2026-01-01T00:00:00Z')",
        "args.none == null",
        "args.amount != null",
        "double(args.amount) * 1.5 == 1800.0",
        "int(args.half) == 0",
        "string(args.amount) == '1200'",
        "args.tags == ['a', 'b']",
        "1 + 2 * 3 == 7 && (1 + 2) * 3 == 9 && 7 - 2 - 1 == 4",
        "false || true && true",
        "!(1 > 2)",
        "[1, 2, 3].exists(x, x == args.amount / 400)",
        "args.to.all(k, k == 'iban')",
        "'a\\'b\\u00e4' == \"a'bä\"",
        "r'\\d' == '\\\\d'",
        "-9223372036854775808 < 0",
        "1e3 == 1000",
        "args.on == true",
    ] {
        yes(source, &args);
    }
    for source in [
        "args.amount > 1200",
        "args.to.iban != 'DE1'",
        "'c' in args.tags",
        "args.tags.all(t, t == 'a')",
        "args.on && false",
        "1 == 2",
    ] {
        no(source, &args);
    }
}

#[test]
fn what_is_missing_or_of_another_type_is_an_error_and_not_false() {
    let args = json!({"n": 1, "d": 0.5, "s": "x", "l": [1], "m": {}, "null": null});
    for source in [
        "args.missing == 1",
        "args.n.x == 1",
        "args.l[1] == 1",
        "args.l['0'] == 1",
        "args.m.x == 1",
        "args.s > 1",
        "args.n == 'x'",
        "args.n == '1'",
        "args.s == ['x']",
        "args.n in ['a', 'b']",
        "args.s in args.n",
        "args.n + args.d == 1.5",
        "args.n / 0 == 1",
        "args.n % 0 == 1",
        "9223372036854775807 + 1 > 0",
        "args.n",
        "args.s",
        "!args.n",
        "args.n && true",
        "size(args.n) == 1",
        "args.n.startsWith('1')",
        "args.s.all(c, true)",
        "int('x') == 1",
        "double('nan') > 1.0",
        "args.null > 1",
        "has(args.s.x)",
        "args.n ? true : false",
        "-args.s == 1",
        "args.l == [args.s]",
        "timestamp('2026-01-01T00:00:00Z') == args.s",
        "args.d % 2.0 == 0.5",
    ] {
        error(source, &args);
    }
}

#[test]
fn errors_are_absorbed_only_by_what_decides_anyway() {
    let args = json!({"l": [1, "x", 2]});
    yes("args.x == 1 || true", &args);
    yes("true || args.x == 1", &args);
    no("args.x == 1 && false", &args);
    error("args.x == 1 || false", &args);
    error("args.x == 1 && true", &args);
    yes("args.l.exists(e, e == 2)", &args);
    error("args.l.exists(e, e == 3)", &args);
    no("args.l.all(e, e == 1)", &args);
    error("args.l.exists_one(e, e == 1)", &args);
}

#[test]
fn lists_longer_than_the_limit_are_an_error() {
    let list = |length: usize| json!({"l": vec![1; length]});
    yes("args.l.all(e, e == 1)", &list(LIST_ELEMENTS));
    error("args.l.all(e, e == 1)", &list(LIST_ELEMENTS + 1));
    error("args.l.exists(e, e == 2) || false", &list(LIST_ELEMENTS + 1));
    yes("1 in args.l", &list(5_000));
}

#[test]
fn only_what_is_listed_small_and_shallow_is_admitted() {
    let refused = |source: &str| Condition::new(source).err().unwrap_or_else(|| panic!("admitted: {source}"));
    for source in [
        "",
        "args.",
        "args.x ==",
        "(args.x",
        "args.x)",
        "x == 1",
        "env.HOME == 'x'",
        "args.x = 1",
        "args.x & 1",
        "args.x == 1u",
        "b'x' == args.x",
        "args.x.lower() == 'x'",
        "eval('x')",
        "args.x.matches(args.y)",
        "args.x.matches('(')",
        "args.x.matches('[01]*1[01]{24}$')",
        "{'a': 1} == args",
        "args.l.all(a, args.m.all(b, a == b))",
        "args.l.all(args, true)",
        "args.l.all(1, true)",
        "size(1, 2) == 1",
        "has(args)",
        "time.getHours('Europe/Berlin') == 1",
        "timestamp(args.x) > time",
        "timestamp('soon') > time",
        "'unclosed",
        "'''x''' == 'x'",
        "'\\q' == 'q'",
        "99999999999999999999 > 1",
        "1e999 > 1.0",
        "0x10 == 16",
        "args.x == 'a'b",
        "in args",
        "args.x in",
        "args.x ? 1",
        "// x",
        "args.`x`",
        "args.x == 1; true",
        "type(args.x) == int",
        "dyn(args.x) == 1",
        "args.x.matches()",
        "[1, 2",
        "args.\"x\" == 1",
        "$x == 1",
        "args.x == 1 && ",
        "!",
        "-",
        "args..x",
        "args.l.map(x, x, x)",
    ] {
        refused(source);
    }
    assert!(refused(&format!("args.x == '{}'", "x".repeat(SOURCE))).message.contains("longer"));
    assert!(refused(&["1"; 60].join(" + ")).message.contains("nested"), "a chain is deep");
    assert!(
        refused(&["true"; 220].join("&&")).message.contains("longer than")
            || refused(&["tool == 'x'"; 75].join("||")).message.contains("parts")
    );
    assert!(refused(&"(".repeat(900)).message.contains("nested"));
    assert!(refused(&"!".repeat(900)).message.contains("nested"));
    assert!(refused(&"[".repeat(900)).message.contains("nested"));
    assert!(refused(&format!("args{}", ".x".repeat(100))).message.contains("nested"));
    assert_eq!(refused("args.x == 1 && y == 2").at, 15);
}

#[test]
fn a_wide_condition_is_not_a_deep_one() {
    let wide = (0..39).map(|n| format!("args.n == {n}")).collect::<Vec<_>>().join(" || ");
    yes(&wide, &json!({"n": 38}));
}

#[test]
fn claims_and_loose_patterns_are_noticed() {
    assert!(Condition::new("session == 'x'").unwrap().uses().claims);
    assert!(Condition::new("['a'].exists(x, x in lineage)").unwrap().uses().claims);
    assert!(!Condition::new("args.session == 'x'").unwrap().uses().claims);
    assert!(Condition::new("args.x == 1").unwrap().uses().call);
    assert!(!Condition::new("time.getHours() > 8").unwrap().uses().call);
    assert!(Condition::new("args.x.matches('a')").unwrap().uses().loose_pattern);
    assert!(!Condition::new("args.x.matches('^a$')").unwrap().uses().loose_pattern);
}

#[test]
fn a_condition_over_huge_arguments_stops_at_the_budget() {
    let huge = json!({"s": "x".repeat(250_000), "l": vec!["y".repeat(900); 256]});
    let doubling = format!("({}).size() > 5", ["args.s"; 12].join(" + "));
    error(&doubling, &huge);
    error("args.l.all(e, e.matches('^y+$') && e.matches('^y*$') && e.matches('^[yz]+$'))", &huge);
}

#[test]
fn the_witness_is_awake() {
    let arguments = json!({"x": 1, "l": ["a"]});
    for source in [
        "args.x == 1",
        "args.x > 0.5",
        "args.l.exists(e, e == 'a')",
        "has(args.x) && !has(args.y)",
        "'a' in args.l",
        "args.y == 1 || true",
    ] {
        assert_eq!(witness(source, &arguments), Some(Tri::Yes), "{source}");
        yes(source, &arguments);
    }
    assert_eq!(witness("args.y == 1", &arguments), Some(Tri::Error(Trouble::Missing)));
}

/// What the `cel` crate says; `No` for false, an error for anything but a truth value. `None` if it cannot read it.
fn witness(source: &str, arguments: &Value) -> Option<Tri> {
    let program = cel::Program::compile(source).ok()?;
    let mut context = cel::Context::default();
    context.add_variable("args", arguments.clone()).ok()?;
    Some(match program.execute(&context) {
        Ok(cel::Value::Bool(yes)) => Tri::of(yes),
        _ => Tri::Error(Trouble::Missing),
    })
}

fn arguments() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!(null)),
        any::<bool>().prop_map(|is| json!(is)),
        (-3_i64..4).prop_map(|number| json!(number)),
        (-3_i32..4).prop_map(|number| json!(f64::from(number) / 2.0)),
        "[ab]{0,2}".prop_map(|text| json!(text)),
    ];
    let value = leaf.prop_recursive(2, 8, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            prop::collection::btree_map("[xy]", inner, 0..2)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    });
    prop::collection::btree_map("[xyz]", value, 0..4)
        .prop_map(|map| Value::Object(map.into_iter().collect::<Map<_, _>>()))
}

fn condition() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just("args.x".to_owned()),
        Just("args.y".to_owned()),
        Just("args.x.y".to_owned()),
        Just("args['z']".to_owned()),
        (-3_i64..4).prop_map(|number| number.to_string()),
        (-3_i32..4).prop_map(|number| format!("{:?}", f64::from(number) / 2.0)),
        "[ab]{0,2}".prop_map(|text| format!("'{text}'")),
        prop_oneof![
            Just("true"),
            Just("false"),
            Just("[1, 'a']"),
            Just("[0.5]"),
            Just("has(args.x)"),
            Just("has(args.x.y)")
        ]
        .prop_map(str::to_owned),
    ];
    leaf.prop_recursive(4, 24, 3, |inner| {
        let pair = (inner.clone(), inner.clone());
        prop_oneof![
            (pair.clone(), prop_oneof![Just("=="), Just("!="), Just("<"), Just("<="), Just(">"), Just(">=")])
                .prop_map(|((l, r), op)| format!("({l} {op} {r})")),
            (pair.clone(), prop_oneof![Just("&&"), Just("||")])
                .prop_map(|((l, r), op)| format!("({l} {op} {r})")),
            (pair.clone(), prop_oneof![Just("+"), Just("-"), Just("*"), Just("/"), Just("%")])
                .prop_map(|((l, r), op)| format!("({l} {op} {r})")),
            pair.clone().prop_map(|(l, r)| format!("({l} in {r})")),
            inner.clone().prop_map(|e| format!("!({e})")),
            inner.clone().prop_map(|e| format!("size({e})")),
            (inner.clone(), inner.clone(), inner.clone()).prop_map(|(a, b, c)| format!("({a} ? {b} : {c})")),
            pair.clone().prop_map(|(l, r)| format!("({l}).contains({r})")),
            pair.clone().prop_map(|(l, r)| format!("({l}).startsWith({r})")),
            (inner, prop_oneof![Just("all"), Just("exists")])
                .prop_map(|(l, name)| format!("({l}).{name}(v, v == 1)")),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4_000))]

    #[test]
    fn what_holds_here_holds_for_the_witness(source in condition(), arguments in arguments()) {
        if let (Ok(_), Some(theirs)) = (Condition::new(&source), witness(&source, &arguments)) {
            match said(&source, &arguments) {
                // Stricter than the witness on purpose.
                Tri::Error(_) => {}
                ours => prop_assert_eq!(ours, theirs, "{} on {}", source, arguments),
            }
        }
    }

    #[test]
    fn no_text_breaks_the_reader(source in "\\PC{0,200}") {
        let _ = Condition::new(&source);
    }

    #[test]
    fn no_arrangement_of_signs_breaks_the_reader(source in prop::collection::vec(prop_oneof![
        Just("args"), Just(".x"), Just("("), Just(")"), Just("["), Just("]"), Just("!"), Just("-"), Just("&&"), Just("||"), Just("=="), Just("in"), Just("?"), Just(":"),
        Just("1"), Just("'a'"), Just(".all(x, "), Just("x"), Just(", "), Just("has("), Just(".matches('a')"), Just(" "),
    ], 0..60)) {
        let source = source.concat();
        if Condition::new(&source).is_ok() {
            let _ = said(&source, &json!({"x": 1}));
        }
    }
}

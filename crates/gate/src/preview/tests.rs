//! What is said of which call, and that nothing hidden gets through whatever the call is.

use std::sync::Arc;

use placet_core::{
    Action, Body, Confirmation, Content, Decision, DecisionWord, Digest, Effect, Input, InputSpec, InputType,
    Needs, Plan, Preview, Proposal, ProposalContent, Request, RequestId, Risk, State, Step, StepDecision,
    Time, Verdict, WarningCode, show, visible,
};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::{effect, effect_of, glance, recognise, warnings};

mod corpus;
mod faults;
mod generated;
mod table;
mod whole;

fn preview(request: &Request) -> Preview {
    super::preview(request).0
}

pub(super) fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        other => panic!("expected an object, not {other}"),
    }
}

/// A held request with this body.
fn request(body: Body, context: Value, summary: Option<&str>) -> Request {
    let id: RequestId = "req_0698d3r3kvtg0i8s0c1g60o30c".parse().unwrap();
    Request {
        id,
        seq: 1,
        version: 1,
        material: 1,
        state: State::Pending,
        kind: body.kind(),
        agent: "bot".to_owned(),
        session: "s".to_owned(),
        tool: body.tool().map(str::to_owned),
        group: None,
        on_behalf_of: None,
        risk: Risk::Low,
        verdict: Verdict {
            effect: Effect::Hold,
            confine: None,
            rule: "r".to_owned(),
            policy: "p".to_owned(),
            reasons: Vec::new(),
        },
        needs: Needs::default(),
        allowed: Vec::new(),
        permit: true,
        digest: Digest::default(),
        votes: Vec::new(),
        proposal: None,
        decision: None,
        asked: Vec::new(),
        created_at: Time::default(),
        expires_at: Time::from_micros(i64::MAX),
        claim_window: std::time::Duration::from_secs(1),
        report_window: std::time::Duration::from_secs(1),
        claim_by: None,
        report_by: None,
        claim: None,
        outcome: None,
        source: "rest".to_owned(),
        claimed: None,
        escalation: Vec::new(),
        earlier: Vec::new(),
        trust: None,
        grant: None,
        granted_by: None,
        content: Some(Arc::new(Content {
            body,
            context: object(context),
            summary: summary.map(str::to_owned),
            nonce: "n".to_owned(),
        })),
    }
}

fn action(tool: &str, arguments: Value) -> Request {
    let body = Action { tool: tool.to_owned(), arguments: object(arguments), arguments_schema: None };
    request(Body::Action(body), json!({}), None)
}

fn codes(request: &Request) -> Vec<(WarningCode, String)> {
    warnings(request).into_iter().map(|warning| (warning.code, warning.pointer)).collect()
}

#[test]
fn the_effect_describes_what_will_run_after_an_edit_and_never_what_it_replaced() {
    let mut request = action("delete_files", json!({"files": ["all"]}));
    assert_eq!(effect(&request), "Delete 1 file: all");
    let content =
        ProposalContent { arguments: Some(object(json!({"files": ["a", "b"]}))), ..Default::default() };
    let proposal = Proposal {
        by: "ann".to_owned(),
        word: DecisionWord::Edit,
        digest: Digest::default(),
        at: Time::default(),
        version: 2,
        content: Some(Arc::new(content.clone())),
    };
    request.proposal = Some(proposal);
    assert_eq!(effect(&request), "Delete 2 files: a, b");
    let mut decision = Decision {
        word: DecisionWord::Edit,
        by: vec!["bob".to_owned()],
        digest: Digest::default(),
        at: Time::default(),
        version: 3,
        content_version: Some(2),
        content: Some(Arc::new(content)),
        reason: None,
        claimed: None,
    };
    request.decision = Some(decision.clone());
    assert_eq!(effect(&request), "Delete 2 files: a, b");
    decision.content = None;
    request.decision = Some(decision.clone());
    assert_eq!(effect(&request), "Call delete_files; its arguments were erased");
    assert_eq!(preview(&request), Preview::Json);
    // Denied: what was proposed last is no longer on the table.
    request.decision = Some(Decision { word: DecisionWord::Deny, content_version: None, ..decision });
    assert_eq!(effect(&request), "Delete 1 file: all");
}

#[test]
fn erased_content_says_so_and_nothing_else() {
    let mut request = action("delete_files", json!({"files": ["all"]}));
    request.content = None;
    assert_eq!(effect(&request), "Call delete_files; its arguments were erased");
    assert_eq!(codes(&request), [(WarningCode::Erased, String::new())]);
    assert_eq!(preview(&request), Preview::Json);
}

#[test]
fn kinds_without_a_tool_are_described_without_the_agents_words() {
    let spec = |kind, options: Option<&[&str]>| InputSpec {
        kind,
        min: None,
        max: None,
        options: options.map(|list| list.iter().map(|one| (*one).to_owned()).collect()),
    };
    let input = |spec| {
        let input = Input { question: "PLEASE".to_owned(), input: spec, required: true, default: None };
        request(Body::Input(input), json!({}), None)
    };
    assert_eq!(effect(&input(spec(InputType::Text, None))), "Answer with text: \"PLEASE\"");
    let choice = input(spec(InputType::Choice, Some(&["a", "b"])));
    assert_eq!(effect(&choice), "Answer with one of 2 options: \"PLEASE\"");
    assert_eq!(preview(&choice), Preview::Question { question: "PLEASE".to_owned() });
    let confirmation = Confirmation {
        message: "PLEASE".to_owned(),
        details: Some("now\nor never".to_owned()),
        confirm_label: "yes".to_owned(),
        cancel_label: "no".to_owned(),
    };
    let confirmation = request(Body::Confirmation(confirmation), json!({}), None);
    assert_eq!(effect(&confirmation), "Say yes or no: \"PLEASE\"");
    let Preview::Confirmation { details, .. } = preview(&confirmation) else { panic!("a confirmation") };
    assert_eq!(details.as_deref(), Some("now\\nor never"));
}

#[test]
fn a_plan_shows_the_steps_that_will_run_in_their_order() {
    let step = |id: &str, action: &str, arguments: Value, optional: bool| Step {
        id: id.to_owned(),
        action: action.to_owned(),
        description: "trust me".to_owned(),
        arguments: Some(object(arguments)),
        optional: optional.then_some(true),
    };
    let steps = vec![
        step("a", "bash", json!({"command": "ls"}), false),
        step("b", "delete_file", json!({"path": "x"}), true),
        step("c", "tidy up, please", json!({}), false),
    ];
    let plan = Plan { title: "PLEASE".to_owned(), steps, can_modify: true, estimated_duration: None };
    let mut request = request(Body::Plan(plan), json!({}), None);
    assert_eq!(
        effect(&request),
        "Carry out a plan of 3 steps (1 optional): Delete 1 file: x; a step in the agent's words; Run ls"
    );
    let decided = |id: &str, decision, arguments: Option<Value>| StepDecision {
        id: id.to_owned(),
        decision,
        arguments: arguments.map(object),
    };
    let steps = vec![
        decided("b", DecisionWord::Edit, Some(json!({"path": "y"}))),
        decided("a", DecisionWord::Approve, None),
        decided("c", DecisionWord::Deny, None),
    ];
    request.proposal = Some(Proposal {
        by: "ann".to_owned(),
        word: DecisionWord::Approve,
        digest: Digest::default(),
        at: Time::default(),
        version: 2,
        content: Some(Arc::new(ProposalContent { steps: Some(steps), ..Default::default() })),
    });
    assert_eq!(effect(&request), "Carry out a plan of 2 steps (1 optional): Delete 1 file: y; Run ls");
    let Preview::Plan { steps } = preview(&request) else { panic!("a plan") };
    let said: Vec<_> =
        steps.iter().map(|step| (step.id.as_str(), step.effect.as_str(), step.optional)).collect();
    assert_eq!(said, [("b", "Delete 1 file: y", true), ("a", "Run ls", false)]);
}

#[test]
fn a_step_whose_action_is_prose_stands_in_quotes() {
    let steps = vec![Step {
        id: "a".to_owned(),
        action: "back up, then delete".to_owned(),
        description: String::new(),
        arguments: None,
        optional: None,
    }];
    let plan = Plan { title: "t".to_owned(), steps, can_modify: false, estimated_duration: None };
    let Preview::Plan { steps } = preview(&request(Body::Plan(plan), json!({}), None)) else {
        panic!("a plan")
    };
    assert_eq!(steps[0].effect, "\"back up, then delete\" without arguments");
}

#[test]
fn a_command_line_is_shown_word_by_word() {
    let mut request = action("Bash", json!({"command": "git log --oneline | head -5 2> 'out file' && rm x"}));
    Arc::make_mut(request.content.as_mut().unwrap()).context = object(json!({"cwd": "/srv\u{200b}"}));
    assert_eq!(
        serde_json::to_value(preview(&request)).unwrap(),
        json!({
            "type": "shell", "command": "git log --oneline | head -5 2> 'out file' && rm x", "opaque": false, "why": null,
            "commands": [
                {"words": ["git", "log", "--oneline"], "redirects": [], "joined": null},
                {"words": ["head", "-5"], "redirects": [{"op": "2>", "target": "out file"}], "joined": "|"},
                {"words": ["rm", "x"], "redirects": [], "joined": "&&"},
            ],
            "cwd": null, "claimed_cwd": "/srv\\u{200b}",
        })
    );
}

#[test]
fn a_change_to_a_cluster_has_its_parts_unless_an_argument_is_not_known() {
    let of = |tool: &str, arguments: Value| super::kubernetes(tool, &object(arguments));
    let api = json!({"resourceType": "deployment", "name": "api", "namespace": "prod", "context": "eu"});
    let (change, shown) = of("kubectl_delete", api.clone()).unwrap();
    assert_eq!((change.verb.as_str(), change.resource.as_str()), ("delete", "deployment"));
    assert_eq!(
        (change.name.as_deref(), change.namespace.as_deref(), change.cluster.as_deref(), change.manifest),
        (Some("api"), Some("prod"), Some("eu"), None)
    );
    assert_eq!(shown, ["/resourceType", "/name", "/namespace", "/context"]);
    let (change, shown) = of("pods_delete", json!({"name": "web"})).unwrap();
    assert_eq!(
        (change.verb.as_str(), change.resource.as_str(), shown),
        ("delete", "pod", vec!["/name".to_owned()])
    );
    let mut more = object(api);
    more.insert("dryRun".to_owned(), json!(true));
    assert_eq!(super::kubernetes("kubectl_delete", &more), None);
    assert_eq!(of("delete_file", json!({"path": "x"})), None);
}

#[test]
fn an_opaque_command_line_says_why_and_warns_where_it_stands() {
    let request = action("Bash", json!({"command": "rm -rf $(cat list)"}));
    let Preview::Shell { opaque, why, commands, command, .. } = preview(&request) else { panic!("a shell") };
    assert!(opaque && why.is_some());
    assert_eq!(command, "rm -rf $(cat list)");
    assert!(commands.iter().any(|command| command.words == ["rm", "-rf", "…"]), "{commands:?}");
    assert_eq!(codes(&request), [(WarningCode::OpaqueShell, "/arguments/command".to_owned())]);
    assert_eq!(glance(&request).1, 1);
}

#[test]
fn a_plan_has_the_warnings_of_its_steps_and_names_the_worst_first() {
    let step = |id: usize, action: &str, arguments: Value| Step {
        id: id.to_string(),
        action: action.to_owned(),
        description: String::new(),
        arguments: Some(object(arguments)),
        optional: None,
    };
    let mut steps: Vec<Step> = (0..15).map(|id| step(id, "read_file", json!({"path": "a"}))).collect();
    steps.push(step(15, "drop_database", json!({"name": "prod"})));
    steps.push(step(16, "bash", json!({"command": "rm $(cat x)"})));
    let plan = Plan { title: "t".to_owned(), steps, can_modify: false, estimated_duration: None };
    let request = request(Body::Plan(plan), json!({}), None);
    let said = effect(&request);
    assert!(said.starts_with("Carry out a plan of 17 steps: ") && said.contains("drop_database"), "{said}");
    assert!(said.contains("Unclear, cannot be taken apart: run rm"), "{said}");
    assert_eq!(codes(&request), [(WarningCode::OpaqueShell, "/steps/16/arguments/command".to_owned())]);
    assert_eq!(glance(&request).1, 1);
}

#[test]
fn a_list_and_an_object_with_numbers_for_keys_have_other_fields() {
    let fields = |arguments: Value| action("t", arguments).display_fields();
    assert_ne!(fields(json!({"a": ["x"]})), fields(json!({"a": {"0": "x"}})));
}

#[test]
fn everything_to_look_at_twice_is_named_with_its_place() {
    let deep = (0..12).fold(json!(1), |inner, _| json!({"k": inner}));
    for (arguments, expected) in [
        (json!({"to": "ann\u{202e}x"}), vec![(WarningCode::HiddenCharacters, "/arguments/to")]),
        (json!({"a\u{200b}": 1}), vec![(WarningCode::HiddenCharacters, "/arguments/a\\u{200b}")]),
        (json!({"to": ["x", "p\u{430}ypal"]}), vec![(WarningCode::MixedScript, "/arguments/to/1")]),
        (json!({"x": "y".repeat(2001)}), vec![(WarningCode::Long, "/arguments/x")]),
        (json!({"x": "y".repeat(2000)}), vec![]),
        (json!({"x": (0..101).collect::<Vec<_>>()}), vec![(WarningCode::Many, "")]),
        (json!({"n": 1e15}), vec![(WarningCode::HugeNumber, "/arguments/n")]),
        (json!({"n": 1e-7}), vec![(WarningCode::HugeNumber, "/arguments/n")]),
        (json!({"n": -999_999_999_999_i64}), vec![]),
        (json!({"d": deep}), vec![(WarningCode::Deep, "/arguments/d/k/k/k/k/k/k/k/k/k/k/k/k")]),
        (json!({"to": "1\u{335}000"}), vec![(WarningCode::Overlay, "/arguments/to")]),
        (json!({"\u{441}\u{441}": "x"}), vec![(WarningCode::MixedScript, "/arguments/\u{441}\u{441}")]),
        (json!({"to": "\u{441}\u{441}", "cc": "x"}), vec![(WarningCode::MixedScript, "/arguments/to")]),
        (json!({"to": "\u{441}\u{441}"}), vec![]),
        (json!({"x": "line\r\nline\ttab"}), vec![]),
        (json!({"x": "over\rwritten"}), vec![(WarningCode::HiddenCharacters, "/arguments/x")]),
        (json!({"x": "grün, 漢字, ok 🙂"}), vec![]),
    ] {
        let request = action("t", arguments.clone());
        let expected: Vec<_> = expected.into_iter().map(|(code, at)| (code, at.to_owned())).collect();
        assert_eq!(codes(&request), expected, "{arguments}");
        assert_eq!(glance(&request).1, expected.len(), "{arguments}");
    }
}

#[test]
fn warnings_are_bounded_however_much_there_is_to_warn_of() {
    let request = action("t", json!({"x": vec!["\u{202e}"; 5000]}));
    assert_eq!(
        warnings(&request).len(),
        22,
        "twenty places, one for the rest, and one for how many there are"
    );
    let huge = action("t", json!({"x": vec!["y".repeat(1000); 200]}));
    assert_eq!(codes(&huge), [(WarningCode::Many, String::new())]);
    assert_eq!(glance(&huge).1, 1, "a list does not look at all of it, and says so");
}

#[test]
fn a_line_of_a_list_says_the_same_as_the_whole() {
    for (tool, arguments, ..) in table::cases() {
        let request = action(tool, arguments);
        assert_eq!(glance(&request), (effect(&request), warnings(&request).len()), "{tool}");
    }
}

/// Text with a taste for trouble.
fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<String>(),
        "[a-z]{0,8}",
        Just("git push \u{202e}&& rm -rf /".to_owned()),
        Just("DELETE FROM t\u{200b} WHERE 1=1; DROP TABLE u".to_owned()),
        Just("https://example.com\u{2066}/x".to_owned()),
        "[\\x00-\\x1f\u{200b}-\u{200f}\u{202a}-\u{202e}\u{e0041}a\\\\\"',]{0,12}",
        Just("a,\tb\r\n(c) \"d\" and e  f".to_owned()),
        "[a-z \u{202e}\\n]{180,260}",
    ]
}

fn json_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        text().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        any::<bool>().prop_map(Value::from),
        Just(Value::Null),
        (-1e18..1e18).prop_map(|n: f64| json!(n)),
    ];
    leaf.prop_recursive(3, 24, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(text(), inner, 0..4).prop_map(|map| json!(map)),
        ]
    })
}

/// A call that often has the shape of a known one.
fn call() -> impl Strategy<Value = (String, Value)> {
    let tools = [
        "Bash",
        "run_command",
        "powershell",
        "execute_sql",
        "query",
        "Edit",
        "MultiEdit",
        "write_file",
        "apply_patch",
        "delete_files",
        "move_file",
        "http_request",
        "fetch",
        "post_webhook",
        "send_email",
        "send_message",
        "pay",
        "refund_payment",
        "bank/transfer",
        "sepa/credit",
        "frobnicate",
    ];
    let keys = [
        "command",
        "cmd",
        "sql",
        "query",
        "path",
        "file_path",
        "old_string",
        "new_string",
        "content",
        "patch",
        "files",
        "source",
        "destination",
        "url",
        "method",
        "headers",
        "body",
        "to",
        "cc",
        "bcc",
        "subject",
        "amount",
        "currency",
        "iban",
        "account",
        "reference",
        "cwd",
        "edits",
        "channel",
        "text",
        "attachments",
    ];
    let key = prop_oneof![4 => prop::sample::select(keys.to_vec()).prop_map(str::to_owned), 1 => text()];
    let value = prop_oneof![2 => text().prop_map(Value::from), 1 => json_value()];
    let arguments = prop::collection::btree_map(key, value, 0..7).prop_map(|map| json!(map));
    (prop::sample::select(tools.to_vec()).prop_map(str::to_owned), arguments)
}

/// Every text in a value, keys included.
fn texts(value: &Value, out: &mut Vec<String>) {
    match value {
        Value::String(text) => out.push(text.clone()),
        Value::Array(items) => items.iter().for_each(|item| texts(item, out)),
        Value::Object(map) => map.iter().for_each(|(key, value)| {
            out.push(key.clone());
            texts(value, out);
        }),
        _ => {}
    }
}

proptest! {
    #[test]
    fn nothing_hidden_is_in_what_is_said_and_all_that_was_written_is_in_the_fields(
        (tool, arguments) in call(), context in json_value(), summary in text(), schema in json_value(),
    ) {
        let body = Action { tool: tool.clone(), arguments: object(arguments.clone()), arguments_schema: Some(schema.clone()) };
        let request = request(Body::Action(body), json!({"cwd": summary.clone(), "more": context.clone()}), Some(&summary));
        let said = effect(&request);
        prop_assert!(said.chars().count() <= 200, "{}", said);
        prop_assert!(said.chars().all(visible), "{:?}", said);
        prop_assert!(!said.is_empty());
        let mut shown = Vec::new();
        texts(&serde_json::to_value(preview(&request)).unwrap(), &mut shown);
        texts(&serde_json::to_value(warnings(&request)).unwrap(), &mut shown);
        for text in &shown {
            prop_assert!(text.chars().all(visible), "{:?}", text);
        }
        // Whatever the agent wrote is in the fields, as a value or on the way to one.
        let fields = request.display_fields();
        let mut written = vec![tool, summary];
        for value in [&arguments, &context, &schema] {
            texts(value, &mut written);
        }
        for text in written {
            let drawn = show(&text);
            let quoted = format!("\"{}\"", drawn.replace('"', "\\\""));
            let key = format!("/{}", show(&text.replace('~', "~0").replace('/', "~1")));
            prop_assert!(
                fields.iter().any(|field| field.text == drawn || field.text == quoted || field.pointer.contains(&key)),
                "{:?} is missing", text
            );
        }
        for field in &fields {
            prop_assert!(field.text.chars().chain(field.pointer.chars()).all(visible));
        }
    }

    #[test]
    fn what_is_written_in_other_kinds_is_in_the_fields_too(words in prop::collection::vec(text(), 8), arguments in json_value()) {
        let word = |n: usize| words[n].clone();
        let step = Step {
            id: word(0),
            action: word(1),
            description: word(2),
            arguments: Some(object(json!({"x": arguments.clone()}))),
            optional: Some(true),
        };
        let plan = Plan { title: word(3), steps: vec![step], can_modify: true, estimated_duration: Some(word(4)) };
        let spec = InputSpec { kind: InputType::Choice, min: None, max: None, options: Some(vec![word(0), word(1)]) };
        let input = Input { question: word(2), input: spec, required: true, default: Some(arguments.clone()) };
        let confirmation =
            Confirmation { message: word(0), details: Some(word(1)), confirm_label: word(2), cancel_label: word(3) };
        for (body, of) in [(Body::Plan(plan), 5), (Body::Input(input), 3), (Body::Confirmation(confirmation), 4)] {
            let mut request = request(body, json!({}), None);
            (request.group, request.on_behalf_of, request.session) = (Some(word(5)), Some(word(6)), word(7));
            let fields = request.display_fields();
            for text in words[..of].iter().chain(&words[5..]) {
                prop_assert!(fields.iter().any(|field| field.text == show(text)), "{:?} is missing", text);
            }
            let mut shown = vec![effect(&request)];
            texts(&serde_json::to_value(preview(&request)).unwrap(), &mut shown);
            for text in &shown {
                prop_assert!(text.chars().all(visible), "{:?}", text);
            }
            // Only a plan's steps say what will happen; nothing else of the agent's words is in the sentence.
            prop_assert!(effect(&request).chars().count() <= 200);
        }
    }

    #[test]
    fn the_numbers_of_a_payment_are_those_that_will_be_sent(amount in any::<i32>(), cents in 0..100_u8) {
        let exact = format!("{amount}.{cents:02}");
        let arguments = object(json!({"amount": exact, "currency": "EUR", "to": "ACME"}));
        let Some(call) = recognise("pay", &arguments) else { panic!("money") };
        let Preview::Money { amount: shown, .. } = call.preview(None).0 else { panic!("money") };
        prop_assert_eq!(&shown, &exact);
        prop_assert!(effect_of("pay", &arguments).replace(',', "").contains(&exact));
    }
}

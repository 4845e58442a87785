//! Turns dice into commands: mostly sensible ones, so that stories get far, and every kind of nonsense in between.

use std::{
    hash::{DefaultHasher, Hash, Hasher},
    sync::Arc,
    time::Duration,
};

use placet_core::{
    Actor, AllOf, Auth, Content, Covered, Create, DecisionWord, Digest, Effect, Escalation, EventPayload,
    Kind, Limits, Needs, ProposalContent, RequestId, Risk, Role, Ruling, Seat, Spec, Submit, Time, Verdict,
};
use serde_json::{Map, Value, json};

use crate::world::{POLICY, World};

/// A row of thrown dice; zeros are the plainest choice, so that shrinking leads to plain stories.
pub(crate) struct Dice<'a> {
    rest: &'a [u8],
}

impl<'a> Dice<'a> {
    pub(crate) fn new(thrown: &'a [u8]) -> Self {
        Self { rest: thrown }
    }

    /// A number below `sides`.
    pub(crate) fn roll(&mut self, sides: u8) -> u8 {
        match self.rest.split_first() {
            Some((first, rest)) => {
                self.rest = rest;
                first % sides
            }
            None => 0,
        }
    }

    /// Once in so many throws.
    pub(crate) fn once_in(&mut self, sides: u8) -> bool {
        self.roll(sides) == sides - 1
    }

    pub(crate) fn pick<T: Clone>(&mut self, from: &[T]) -> T {
        let sides = u8::try_from(from.len()).expect("short lists");
        from[usize::from(self.roll(sides))].clone()
    }
}

/// A stand-in for the real digest: what differs has another one, what is equal has the same.
pub(crate) fn digest_of(id: RequestId, value: &Value) -> Digest {
    let mut bytes = [0_u8; 32];
    for (salt, chunk) in bytes.chunks_mut(8).enumerate() {
        let mut hasher = DefaultHasher::new();
        (salt, id, value.to_string()).hash(&mut hasher);
        chunk.copy_from_slice(&hasher.finish().to_be_bytes());
    }
    Digest::new(bytes)
}

/// The digest of a request of which this part is decided: an edit back to the original is the original.
pub(crate) fn digest_with(id: RequestId, content: &ProposalContent) -> Digest {
    match (&content.arguments, &content.answer, &content.steps) {
        (Some(arguments), None, None) => digest_of(id, &Value::Object(arguments.clone())),
        (None, Some(answer), None) => digest_of(id, &json!({"answer": answer})),
        (None, None, Some(steps)) => digest_of(id, &json!({"steps": steps})),
        _ => digest_of(id, &json!("mixed")),
    }
}

pub(crate) fn arguments(n: u8) -> Map<String, Value> {
    json!({"n": n, "path": format!("/srv/{n}")}).as_object().expect("an object").clone()
}

pub(crate) fn needs(any: &[&[(u32, Option<&str>)]]) -> Needs {
    let seat = |(people, team): &(u32, Option<&str>)| Seat { people: *people, team: team.map(str::to_owned) };
    let any = any.iter().map(|all| AllOf { all: all.iter().map(seat).collect() }).collect();
    Needs { any, four_eyes: false, step_up: None }
}

pub(crate) fn seconds(n: u64) -> Duration {
    Duration::from_secs(n)
}

/// A small request of each kind.
pub(crate) fn create(kind: Kind, variant: u8) -> Create {
    let mut create = Create::new(kind, "sess");
    match kind {
        Kind::Action => {
            create.tool = Some("delete_files".to_owned());
            create.arguments = Some(arguments(0));
            create.arguments_schema = (variant == 1).then(|| json!({"type":"object"}));
        }
        Kind::Plan => {
            let step =
                |id: &str| json!({"id": id, "action": "act", "description": "", "arguments": {"of": id}});
            create.title = Some("plan".to_owned());
            create.steps = serde_json::from_value(json!([step("a"), step("b")])).ok();
            create.can_modify = Some(variant != 1);
            create.estimated_duration = (variant == 2).then(|| "1h".to_owned());
        }
        Kind::Input => {
            let spec = match variant {
                0 => json!({"type":"text"}),
                1 => json!({"type":"number","min":1,"max":10}),
                _ => json!({"type":"choice","options":["red","blue"]}),
            };
            create.question = Some("?".to_owned());
            create.input = serde_json::from_value(spec).ok();
            create.required = Some(variant != 0);
            create.default = (variant == 2).then(|| json!("red"));
        }
        Kind::Confirmation => {
            create.message = Some("sure?".to_owned());
            create.details = (variant == 1).then(|| "more".to_owned());
        }
    }
    create
}

fn verdict(effect: Effect) -> Verdict {
    Verdict {
        effect,
        confine: None,
        rule: "rule".to_owned(),
        policy: POLICY.to_owned(),
        reasons: vec!["because".to_owned()],
    }
}

/// Policy's word on an edit that it would hold, needing this.
#[expect(clippy::unnecessary_wraps, reason = "the shape of the field it goes into")]
pub(crate) fn ruling(needs: Needs) -> Option<Box<Ruling>> {
    Some(Box::new(Ruling { verdict: verdict(Effect::Hold), risk: Risk::Medium, needs }))
}

/// Policy's word on an edit: mostly as before, sometimes more, sometimes no, sometimes missing or outdated.
pub(crate) fn any_ruling(dice: &mut Dice<'_>) -> Option<Box<Ruling>> {
    let mut needs = dice.pick(&[
        needs(&[&[(1, None)]]),
        needs(&[&[(1, None)]]),
        needs(&[&[(1, None)]]),
        needs(&[&[(2, None)]]),
        needs(&[&[(1, Some("red"))], &[(1, Some("blue"))]]),
    ]);
    needs.four_eyes = dice.once_in(12);
    needs.step_up = dice.once_in(12).then(|| "code".to_owned());
    let effect = dice.pick(&[Effect::Hold, Effect::Hold, Effect::Allow, Effect::Hold]);
    let mut verdict = verdict(if dice.once_in(20) { Effect::Deny } else { effect });
    if dice.once_in(24) {
        "sha256:old".clone_into(&mut verdict.policy);
    }
    let risk = dice.pick(&[Risk::Medium, Risk::Low, Risk::High]);
    (!dice.once_in(24)).then(|| Box::new(Ruling { verdict, risk, needs }))
}

/// A submit command around a create, as the gate would make it.
pub(crate) fn submit_of(create: Create, id: RequestId, effect: Effect, needs: Needs, now: Time) -> Submit {
    let Spec { body, context, summary, terms } = create.check(&Limits::default()).expect("a valid request");
    let content = Arc::new(Content { body, context, summary, nonce: format!("nonce-{id}") });
    let stored = serde_json::to_string(&EventPayload::Content(content.clone())).expect("plain data");
    let digest = match content.body.arguments() {
        Some(arguments) => digest_of(id, &Value::Object(arguments.clone())),
        None => digest_of(id, &json!("as asked")),
    };
    Submit {
        id,
        terms,
        content,
        stored: stored.into(),
        digest,
        created_at: now,
        source: "rest".to_owned(),
        roots: Vec::new(),
        covered: Covered::Unknown,
        verdict: verdict(effect),
        risk: Risk::Medium,
        needs,
        escalation: Vec::new(),
        decisions: None,
        grants: Vec::new(),
        trust: None,
        claim_window: seconds(5),
        report_window: seconds(5),
        pending_cap: 100,
        weak: None,
    }
}

/// A random submit.
pub(crate) fn submit(dice: &mut Dice<'_>, id: RequestId, now: Time) -> Submit {
    use DecisionWord::{Approve, Deny, Edit, Respond};
    let kind =
        dice.pick(&[Kind::Action, Kind::Action, Kind::Plan, Kind::Input, Kind::Action, Kind::Confirmation]);
    let mut create = create(kind, dice.roll(3));
    create.on_behalf_of = dice.pick(&[None, Some("ann"), Some("bob"), None]).map(str::to_owned);
    create.expires_in = dice.pick(&[None, None, Some("9s"), None, Some("3s"), None]).map(str::to_owned);
    let allowed: &[Option<Vec<DecisionWord>>] = match kind {
        Kind::Action => {
            &[None, Some(vec![Approve]), Some(vec![Edit, Respond]), Some(vec![Approve, Edit, Respond, Deny])]
        }
        Kind::Plan if create.can_modify == Some(true) => &[None, Some(vec![Approve]), Some(vec![Edit]), None],
        _ => &[None, None, None, Some(vec![Deny])],
    };
    create.allowed = dice.pick(allowed);
    create.permit = (kind == Kind::Action && dice.once_in(4)).then_some(false);
    let red = Some("red");
    let blue = Some("blue");
    let mut needs = dice.pick(&[
        needs(&[&[(1, None)]]),
        needs(&[&[(2, None)]]),
        needs(&[&[(1, red)]]),
        needs(&[&[(1, red), (1, blue)]]),
        needs(&[&[(2, red)], &[(1, blue), (1, None)]]),
        needs(&[&[(1, red), (1, blue)], &[(3, None)]]),
        needs(&[&[(1, blue)], &[]]),
        needs(&[]),
    ]);
    needs.four_eyes = dice.roll(2) == 1;
    needs.step_up = dice
        .pick(&[None, None, Some("code"), None, None, None, Some("passkey"), Some("code")])
        .map(str::to_owned);
    let effect =
        dice.pick(&[Effect::Hold, Effect::Hold, Effect::Hold, Effect::Allow, Effect::Hold, Effect::Deny]);
    let mut submit = submit_of(create, id, effect, needs, now);
    submit.pending_cap = dice.pick(&[100, 100, 2]);
    submit.decisions = dice.pick(&[None, None, None, Some(vec![Approve, Deny]), None, Some(vec![Edit])]);
    submit.escalation = escalation(dice);
    submit
}

/// Nobody to ask next, one, or two after each other.
fn escalation(dice: &mut Dice<'_>) -> Vec<Escalation> {
    let (blue, two) = (needs(&[&[(1, Some("blue"))]]), needs(&[&[(2, None)], &[(1, Some("red"))]]));
    let code = Needs { step_up: Some("code".to_owned()), ..needs(&[&[(1, None)]]) };
    let eyes = Needs { four_eyes: true, ..needs(&[&[(1, None)]]) };
    let chain = dice.pick(&[vec![], vec![blue.clone()], vec![], vec![two, code], vec![], vec![eyes, blue]]);
    chain.into_iter().map(|needs| Escalation { needs, expires_in: seconds(4) }).collect()
}

/// Somebody of this name in this role: mostly with a good key, sometimes with none, an old or a foreign one.
pub(crate) fn caller(dice: &mut Dice<'_>, name: &str, role: Role, world: &World) -> Actor {
    let auth = dice.pick(&[Auth::Code, Auth::Code, Auth::Code, Auth::Token, Auth::Code, Auth::Session]);
    let own = world.key_of(name, role);
    let (role, key, auth) = match dice.roll(48) {
        0..=40 => (role, own, auth),
        41 => (role, world.keys.iter().find(|key| key.name == name).map(|key| key.id), auth),
        42 => (role, None, auth),
        43 => (role, None, Auth::Open),
        44 => (role, world.key_of("dan", Role::Reviewer), auth),
        45 => (role, world.key_of("dan", Role::Admin), auth),
        46 => (Role::Admin, own, auth),
        _ => (role, world.key_of("bot", Role::Agent), auth),
    };
    Actor { name: name.to_owned(), role, key, session: None, auth }
}

/// What comes with a vote: mostly what belongs there.
pub(crate) fn replacement(
    dice: &mut Dice<'_>,
    id: RequestId,
    kind: Kind,
    word: DecisionWord,
) -> Option<(ProposalContent, Digest)> {
    let arguments = Some(arguments(dice.roll(3)));
    let answer = Some(dice.pick(&[
        json!("red"),
        json!("blue"),
        json!(7),
        json!("red"),
        json!(7),
        Value::Null,
        json!(""),
        json!(11),
    ]));
    let steps = serde_json::from_value(dice.pick(&[
        json!([{"id":"a","decision":"approve"},{"id":"b","decision":"deny"}]),
        json!([{"id":"a","decision":"approve"},{"id":"b","decision":"approve"}]),
        json!([{"id":"b","decision":"approve"},{"id":"a","decision":"approve"}]),
        json!([{"id":"a","decision":"edit","arguments":{"of":"z"}},{"id":"b","decision":"approve"}]),
        json!([{"id":"a","decision":"deny"},{"id":"b","decision":"deny"}]),
        json!([{"id":"a","decision":"approve"}]),
    ]))
    .ok();
    let nothing = ProposalContent::default();
    let sensible = match (word, kind) {
        (DecisionWord::Edit, Kind::Action) => {
            Some(ProposalContent { arguments: arguments.clone(), ..nothing.clone() })
        }
        (DecisionWord::Edit, Kind::Plan) => Some(ProposalContent { steps: steps.clone(), ..nothing.clone() }),
        (DecisionWord::Approve, Kind::Plan) if dice.roll(2) == 1 => {
            Some(ProposalContent { steps: steps.clone(), ..nothing.clone() })
        }
        (DecisionWord::Respond, _) => Some(ProposalContent { answer: answer.clone(), ..nothing.clone() }),
        _ => None,
    };
    let content = match dice.roll(48) {
        0..=42 => sensible,
        43 => None,
        44 => Some(nothing),
        45 => Some(ProposalContent { arguments, ..nothing }),
        46 => Some(ProposalContent { answer, ..nothing }),
        _ => Some(ProposalContent { arguments, answer, steps }),
    };
    content.map(|content| {
        let digest = digest_with(id, &content);
        (content, digest)
    })
}

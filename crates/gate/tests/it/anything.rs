//! Whatever is done in whatever order, the tables are what the ledger says.

use std::{
    collections::BTreeSet,
    sync::atomic::{AtomicU32, Ordering},
    time::Duration,
};

use placet_core::{Actor, Create, DecisionWord, ReportStatus, RequestId, Role, State};
use placet_gate::StoreError;
use placet_gate::{Clock as _, Decision, GateError, NewKey, PersonSpec};
use placet_testkit::{Kit, both, idempotency, weak_key};
use serde_json::{Value, json};

/// How often a weak key found something: a run in which none did would prove little.
static FOUND: AtomicU32 = AtomicU32::new(0);

/// A small generator: the same run for the same seed.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % sides
    }

    fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.roll(from.len())]
    }
}

fn create(dice: &mut Dice) -> Create {
    let n = dice.roll(1000);
    let body = match dice.roll(6) {
        0 => json!({"kind": "plan", "session": "s", "title": "t", "can_modify": true,
                    "steps": [{"id": "1", "action": "a", "description": "d"}, {"id": "2", "action": "b", "description": "e"}]}),
        1 => json!({"kind": "input", "session": "s", "question": format!("q{n}"), "input": {"type": "text"}}),
        2 => json!({"kind": "confirmation", "session": "s", "message": "sure?", "group": "g"}),
        3 => {
            json!({"kind": "action", "session": "s", "tool": "t", "arguments": {"n": n}, "permit": false, "on_behalf_of": "ann"})
        }
        _ => {
            json!({"kind": "action", "session": "s", "tool": "t", "arguments": {"n": n}, "expires_in": "90s", "summary": "words"})
        }
    };
    Kit::body(body)
}

/// One random thing, done by somebody to something. Refusals are part of life; errors of the store are not.
async fn something(
    kit: &Kit,
    dice: &mut Dice,
    actors: &mut [Vec<Actor>; 2],
    ids: &mut Vec<RequestId>,
    permits: &mut Vec<(RequestId, String)>,
) {
    let gate = kit.gate();
    let (agent, reviewer) = (dice.pick(&actors[0]).clone(), dice.pick(&actors[1]).clone());
    let key = (dice.roll(4) == 0).then(|| idempotency(&format!("k{}", dice.roll(20)), "body"));
    let choice = dice.roll(100);
    if choice < 30 || ids.is_empty() {
        let (create, weak) = (create(dice), (dice.roll(2) == 0).then(|| dice.roll(2)));
        // What the door does: a weak key is one agent's, and goes with what is asked for.
        let weak = weak
            .map(|n| weak_key(&format!("{} {}", agent.name, create.kind), &format!("{} {n}", create.kind)));
        if let Some(made) = settle(gate.submit_or_find("rest", &agent, create.clone(), key, weak).await) {
            let request = &made.request;
            if made.replayed && key.is_none() {
                assert_eq!((&request.agent, request.kind), (&agent.name, create.kind));
                assert!(request.is_open(kit.clock().now()), "found what is over: {:?}", request.state);
                assert!(ids.contains(&request.id));
                FOUND.fetch_add(1, Ordering::Relaxed);
            }
            ids.push(made.request.id);
        }
        return;
    }
    let id = *dice.pick(ids);
    let seen = kit.read(id).await;
    match choice {
        30..60 => {
            let word = *dice.pick(DecisionWord::ALL);
            let mut decision = Decision {
                reason: (dice.roll(2) == 0).then(|| "why".to_owned()),
                ..Kit::decision(&seen, word)
            };
            match (word, dice.roll(3)) {
                (DecisionWord::Edit, _) => {
                    decision.arguments = json!({"n": dice.roll(9)}).as_object().cloned();
                }
                (DecisionWord::Respond, _) => decision.answer = Some(Value::from("answer")),
                (_, 0) => decision.version = decision.version.saturating_sub(1),
                _ => {}
            }
            settle(gate.decide(&reviewer, decision).await);
        }
        60..75 => {
            if let Some(claimed) =
                settle(gate.claim(&agent, id, dice.pick(&[None, Some("me")]).as_deref(), key).await)
            {
                permits.push((id, claimed.permit));
            }
        }
        75..83 if !permits.is_empty() => {
            let (id, permit) = dice.pick(permits).clone();
            let status = *dice.pick(&[ReportStatus::Succeeded, ReportStatus::Failed]);
            settle(gate.report(&agent, id, &permit, status, None, Some("note".to_owned()), None).await);
        }
        83..86 => drop(settle(gate.cancel(&agent, id, Some("changed my mind".to_owned()), key).await)),
        86..89 => drop(settle(gate.revoke(&reviewer, id, None, None).await)),
        89..92 => drop(settle(gate.reassign(&reviewer, id, vec!["bob".to_owned()], None, None).await)),
        92..94 => {
            drop(settle(gate.resolve(&reviewer, id, ReportStatus::Failed, "looked".to_owned(), None).await));
        }
        94..97 => kit.clock().advance(Duration::from_secs(dice.roll(400) as u64)),
        97 => drop(gate.sweep().await.unwrap()),
        _ => people(kit, dice, &mut actors[0]).await,
    }
}

/// Something about keys and people.
async fn people(kit: &Kit, dice: &mut Dice, agents: &mut Vec<Actor>) {
    let (gate, admin) = (kit.gate(), kit.admin());
    match dice.roll(4) {
        0 => drop(settle(gate.revoke_key(admin, dice.pick(agents).key.unwrap(), false).await)),
        1 => {
            let new = NewKey {
                role: Role::Agent,
                name: format!("bot-{}", dice.roll(3)),
                owner: Some("ann".to_owned()),
            };
            let made = settle(gate.create_key(admin, new, None).await).and_then(|made| made.secret);
            agents.extend(gate.authenticate(&made.unwrap()).await.unwrap());
        }
        2 => {
            let person = PersonSpec {
                roles: [Role::Reviewer].into(),
                teams: BTreeSet::from([format!("team-{}", dice.roll(3))]),
            };
            settle(gate.put_person(admin, "bob".to_owned(), person, None).await);
        }
        _ => drop(settle(gate.remove_person(admin, "carl".to_owned()).await)),
    }
}

fn settle<T>(result: Result<T, GateError>) -> Option<T> {
    match result {
        Ok(done) => Some(done),
        Err(GateError::Refused { .. } | GateError::Admin(_) | GateError::Store(StoreError::KeyReused)) => {
            None
        }
        Err(error) => panic!("{error:?}"),
    }
}

both! {
    async fn state_rebuilt_from_the_ledger_equals_the_tables_after_anything(backend: Backend) {
        for seed in [1, 7] {
            FOUND.store(0, Ordering::Relaxed);
            let mut kit = Kit::with(backend, |settings| settings.pending_per_agent = 12).await;
            let mut actors = [Vec::new(), Vec::new()];
            for n in 0..3 {
                actors[0].push(kit.agent_of(&format!("bot-{n}"), "carl").await);
                actors[0].push(kit.agent(&format!("bot-{n}")).await);
            }
            for name in ["ann", "bob", "carl"] {
                actors[1].push(kit.reviewer(name).await);
            }
            let (mut dice, mut ids, mut permits) = (Dice(seed), Vec::new(), Vec::new());
            for step in 0..500 {
                something(&kit, &mut dice, &mut actors, &mut ids, &mut permits).await;
                if step == 200 {
                    kit.restart().await;
                }
            }
            let (mut states, mut before) = (BTreeSet::new(), Vec::new());
            for id in &ids {
                let request = kit.read(*id).await;
                states.insert(request.state);
                before.push(request);
            }
            // What is held in memory and what is stored are the same, down to the last word.
            kit.restart().await;
            for request in before {
                let now = kit.read(request.id).await;
                assert!(now == request || now.version > request.version, "{now:?} {request:?}");
            }
            let met = [State::Pending, State::Approved, State::Denied, State::Expired, State::Claimed];
            assert!(met.iter().filter(|state| states.contains(state)).count() >= 3, "seed {seed} leads nowhere: {states:?}");
            assert!(FOUND.load(Ordering::Relaxed) > 5, "seed {seed}: weak keys find too little");
            assert!(kit.store().verify(|_| {}).await.unwrap().entries > 150);
            kit.finish().await;
        }
    }
}

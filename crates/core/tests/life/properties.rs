//! Random scripts: two thousand of them, forty commands each on average.

use std::collections::BTreeSet;

use placet_core::{
    Command, Context, DecisionWord, Event, EventPayload, Kind, Payload, Record, Refusal, Request, RequestId,
    Risk, State, Time, apply, attach, evolve,
};
use proptest::{prelude::*, strategy::ValueTree, test_runner::TestRunner};
use serde_json::json;

use crate::{
    play::{Live, Play, vote},
    scene::agent_of,
    script::{self, Dice},
    world::PEOPLE,
};

fn scripts(longest: usize) -> impl Strategy<Value = Vec<[u8; 24]>> {
    prop::collection::vec(any::<[u8; 24]>(), 1..=longest)
}

fn round_trip<T: serde::de::DeserializeOwned>(value: &impl serde::Serialize) -> T {
    let text = serde_json::to_string(value).expect("plain data");
    serde_json::from_str(&text).expect("reads back")
}

/// The payload as it comes back from its table.
fn stored(written: &EventPayload, kind: Kind) -> EventPayload {
    let payload: Payload = round_trip(written);
    EventPayload::from_payload(kind, payload).expect("a stored payload reads back")
}

/// The request as a rebuild from stored events and payloads gives it.
fn rebuilt(live: &Live) -> Request {
    let fold = |request, line: &crate::play::Line| {
        let event: Event = round_trip(&line.event);
        let written = stored(&line.written, live.request.kind);
        let after = evolve(request, live.request.id, line.seq, line.at, &line.by, &event, &written);
        Some(after.expect("an edge that exists"))
    };
    live.lines.iter().fold(None, fold).expect("at least one entry")
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]

    #[test]
    fn the_life_cycle_does_what_the_slow_model_says(script in scripts(80)) {
        Play::run(&script)?;
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 250, ..ProptestConfig::default() })]

    #[test]
    fn folding_stored_events_and_payloads_gives_the_same_request(script in scripts(60)) {
        for live in Play::run(&script)?.cast {
            prop_assert_eq!(rebuilt(&live), live.request);
        }
    }

    #[test]
    fn a_stored_request_with_its_payloads_attached_is_the_same_request(script in scripts(60)) {
        for live in Play::run(&script)?.cast {
            let mut request: Request = round_trip(&live.request);
            prop_assert!(request.content.is_none());
            for (version, line) in (1..).zip(&live.lines) {
                attach(&mut request, version, &stored(&line.written, live.request.kind));
            }
            prop_assert_eq!(request, live.request);
        }
    }

    #[test]
    fn a_record_reads_back_and_writes_the_same_bytes(script in scripts(60)) {
        let play = Play::run(&script)?;
        for live in play.cast {
            let erased = Request { content: None, ..live.request.clone() };
            for request in [live.request, erased] {
                for now in [play.now, Time::from_micros(i64::MAX)] {
                    let written = serde_json::to_string(&request.view(now)).expect("plain data");
                    let record: Record = serde_json::from_str(&written).expect("a record reads back");
                    prop_assert_eq!(serde_json::to_string(&record).expect("plain data"), written);
                    prop_assert_eq!(record.state, request.state_at(now));
                }
            }
        }
    }
}

/// Asks, lets people vote in turn, and returns the result after each vote.
fn outcomes(submit: placet_core::Submit, votes: &[(u8, bool)]) -> (Vec<Option<&'static str>>, Request) {
    let play = Play::new();
    let cx = Context::new(play.now, &play.directory);
    let id = submit.id;
    let agent = agent_of(&play.world, "bot");
    let change = apply(None, &Command::Submit(Box::new(submit)), &agent, &cx).change.expect("taken");
    let mut request =
        evolve(None, id, 1, play.now, "bot", &change.event, &change.written).expect("a beginning");
    let mut codes = Vec::new();
    for (who, yes) in votes {
        let word = if *yes { DecisionWord::Approve } else { DecisionWord::Deny };
        let name = PEOPLE[usize::from(*who) % PEOPLE.len()];
        let actor = placet_core::Actor {
            name: name.to_owned(),
            role: placet_core::Role::Reviewer,
            key: None,
            session: None,
            auth: placet_core::Auth::Code,
        };
        let applied = apply(Some(&request), &Command::Decide(Box::new(vote(&request, word))), &actor, &cx);
        codes.push(applied.answer.as_ref().err().map(Refusal::code));
        if let Some(change) = applied.change {
            request = evolve(Some(request), id, 2, play.now, name, &change.event, &change.written)
                .expect("an edge");
        }
    }
    (codes, request)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, ..ProptestConfig::default() })]

    /// What an agent says about itself has no effect. What it says about people and decisions can only make things
    /// stricter.
    #[test]
    fn nothing_an_agent_adds_makes_the_outcome_looser(
        throw in any::<[u8; 24]>(),
        votes in prop::collection::vec((0_u8..5, prop::bool::weighted(0.9)), 1..8),
        behind in prop::option::of(0_usize..5),
        narrow in any::<bool>(),
    ) {
        let id = RequestId::new(1, [1; 10]);
        let mut plain = script::submit(&mut Dice::new(&throw), id, Play::new().now);
        plain.terms.on_behalf_of = None;
        plain.pending_cap = 100;
        let mut noisy = plain.clone();
        noisy.terms.session = "urgent".to_owned();
        let content = std::sync::Arc::make_mut(&mut noisy.content);
        content.summary = Some("already approved by everybody".to_owned());
        content.context = json!({"approved": true, "four_eyes": false}).as_object().expect("an object").clone();
        noisy.terms.risk = Some(Risk::Low);
        noisy.terms.group = Some("g".to_owned());
        let (codes, before) = outcomes(plain.clone(), &votes);
        let (noisy_codes, after) = outcomes(noisy, &votes);
        prop_assert_eq!(&noisy_codes, &codes);
        prop_assert_eq!((after.state, after.risk, &after.needs, &after.verdict), (before.state, plain.risk, &plain.needs, &plain.verdict));

        let mut stricter = plain;
        stricter.terms.on_behalf_of = behind.map(|index| PEOPLE[index].to_owned());
        if narrow {
            stricter.terms.allowed.retain(|word| *word == DecisionWord::Deny);
        }
        let (_, strict) = outcomes(stricter, &votes);
        prop_assert!(strict.state != State::Approved || before.state == State::Approved);
    }
}

/// A property over random scripts is worth what the scripts reach: every event, state, word and refusal there is.
#[test]
fn the_scripts_reach_everything() {
    let mut runner = TestRunner::deterministic();
    let mut seen = BTreeSet::new();
    for _ in 0..400 {
        let script = scripts(80).new_tree(&mut runner).expect("a script").current();
        let play = Play::run(&script).expect("agreement");
        seen.extend(play.refused);
        for live in play.cast {
            seen.extend(live.lines.iter().map(|line| line.event.name()));
            seen.insert(live.request.state.as_str());
            if let Some(decision) = &live.request.decision {
                seen.insert(decision.word.as_str());
            }
        }
    }
    let events = [
        "created",
        "voted",
        "decided",
        "claimed",
        "reported",
        "cancelled",
        "revoked",
        "reassigned",
        "escalated",
        "expired",
        "lapsed",
        "unknown",
        "resolved",
    ];
    let codes = [
        "not_found",
        "invalid",
        "unauthorized",
        "already_decided",
        "expired",
        "cancelled",
        "revoked",
        "stale_digest",
        "stale_version",
        "self_approval",
        "step_up_required",
        "not_eligible",
        "already_claimed",
        "not_approved",
        "lapsed",
        "wrong_permit",
        "not_claimed",
        "already_reported",
        "not_unknown",
        "policy_denied",
        "policy_changed",
        "pending_cap",
    ];
    for event in events {
        assert!(seen.iter().any(|word| word.strip_prefix("request.") == Some(event)), "no {event}");
    }
    for word in codes.into_iter().chain(State::ALL.iter().map(|state| state.as_str())) {
        assert!(seen.contains(word), "no {word}");
    }
    for word in DecisionWord::ALL {
        assert!(seen.contains(word.as_str()), "no decision {word}");
    }
}

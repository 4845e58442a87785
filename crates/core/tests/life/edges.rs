//! Every state against every event: the arrows of the picture exist, and no other.

use placet_core::{
    Created, DecisionWord, Effect, Escalation, Event, EventPayload, EvolveError, Kind, ReportStatus, Request,
    State, Vote, evolve,
};

use crate::{
    scene::{Scene, one},
    script::seconds,
};

/// The picture, arrow by arrow: from, event, to. `*` marks arrows that need a permit, `+` those that need more people
/// to ask, `-` those that need none left to ask.
const ARROWS: &[(State, &str, State)] = &[
    (State::Pending, "voted", State::Pending),
    (State::Pending, "reassigned", State::Pending),
    (State::Pending, "decided approve", State::Approved),
    (State::Pending, "decided edit", State::Approved),
    (State::Pending, "decided deny", State::Denied),
    (State::Pending, "decided respond", State::Answered),
    (State::Pending, "escalated+", State::Pending),
    (State::Pending, "expired-", State::Expired),
    (State::Pending, "cancelled", State::Cancelled),
    (State::Approved, "claimed*", State::Claimed),
    (State::Approved, "lapsed*", State::Lapsed),
    (State::Approved, "revoked*", State::Revoked),
    (State::Approved, "cancelled*", State::Cancelled),
    // History was lost.
    (State::Approved, "unknown*", State::Unknown),
    (State::Claimed, "reported succeeded", State::Succeeded),
    (State::Claimed, "reported failed", State::Failed),
    (State::Claimed, "unknown", State::Unknown),
    (State::Unknown, "reported succeeded", State::Succeeded),
    (State::Unknown, "reported failed", State::Failed),
    (State::Unknown, "resolved succeeded", State::Succeeded),
    (State::Unknown, "resolved failed", State::Failed),
];

/// Which words settle which kind.
const WORDS: &[(Kind, &[DecisionWord])] = &[
    (Kind::Action, &[DecisionWord::Approve, DecisionWord::Edit, DecisionWord::Deny, DecisionWord::Respond]),
    (Kind::Plan, &[DecisionWord::Approve, DecisionWord::Edit, DecisionWord::Deny]),
    (Kind::Input, &[DecisionWord::Respond, DecisionWord::Deny]),
    (Kind::Confirmation, &[DecisionWord::Approve, DecisionWord::Deny]),
];

fn arrow(request: &Request, what: &str) -> Option<State> {
    let found = ARROWS.iter().find(|(from, name, _)| {
        let left = !request.escalation.is_empty();
        let marked = |mark, there: bool| there && name.strip_suffix(mark) == Some(what);
        *from == request.state
            && (*name == what || marked('*', request.permit) || marked('+', left) || marked('-', !left))
    });
    found.map(|(_, _, to)| *to)
}

/// Every event that the ledger can hold about an existing request, with the arrow's name and its stated target.
fn events(request: &Request) -> Vec<(String, Event, Option<State>)> {
    let (digest, at) = (request.digest, request.created_at);
    let vote = |word| Vote {
        by: "bob".to_owned(),
        vote: word,
        digest,
        at,
        auth: placet_core::Auth::Token,
        view: None,
        display: None,
        key: None,
        session: None,
    };
    let mut events = vec![
        ("voted".to_owned(), Event::Voted { vote: vote(DecisionWord::Approve), proposal: None }, None),
        ("reassigned".to_owned(), Event::Reassigned { to: vec!["bob".to_owned()] }, None),
        ("expired".to_owned(), Event::Expired {}, None),
        (
            "escalated".to_owned(),
            Event::Escalated {
                needs: one(),
                expires_at: request.expires_at.plus(seconds(7)),
                before: Some(Box::new(request.needs.clone())),
            },
            None,
        ),
        ("cancelled".to_owned(), Event::Cancelled {}, None),
        ("claimed".to_owned(), Event::Claimed { permit: digest, claimant: None, report_by: at }, None),
        ("lapsed".to_owned(), Event::Lapsed {}, None),
        ("revoked".to_owned(), Event::Revoked {}, None),
        ("unknown".to_owned(), Event::Unknown {}, None),
    ];
    for (status, name) in [(ReportStatus::Succeeded, "succeeded"), (ReportStatus::Failed, "failed")] {
        events.push((format!("reported {name}"), Event::Reported { status, result_digest: None }, None));
        events.push((format!("resolved {name}"), Event::Resolved { status }, None));
    }
    for decision in DecisionWord::ALL {
        for state in State::ALL {
            let event = Event::Decided {
                vote: vote(*decision),
                proposal: None,
                decision: *decision,
                by: vec!["bob".to_owned()],
                digest,
                state: *state,
                claim_by: Some(at),
            };
            events.push((format!("decided {decision}"), event, Some(*state)));
        }
    }
    events
}

#[test]
fn only_the_arrows_of_the_picture_exist() {
    let mut taken = 0;
    for (kind, words) in WORDS {
        for state in State::ALL {
            for (permit, left) in [(true, true), (false, true), (true, false), (false, false)] {
                let mut request = Scene::of(*kind, one()).request;
                (request.state, request.permit) = (*state, permit);
                if left {
                    request.escalation = vec![Escalation { needs: one(), expires_in: seconds(7) }];
                }
                for (what, event, claims) in events(&request) {
                    let word = match &event {
                        Event::Decided { decision, .. } => Some(decision),
                        _ => None,
                    };
                    let expected = arrow(&request, &what)
                        .filter(|to| claims.is_none_or(|claimed| claimed == *to))
                        .filter(|_| word.is_none_or(|word| words.contains(word)));
                    let at = request.created_at;
                    let after = evolve(
                        Some(request.clone()),
                        request.id,
                        9,
                        at,
                        "bob",
                        &event,
                        &EventPayload::Nothing,
                    );
                    let case = format!("{kind} {state} permit={permit} left={left} {what} -> {claims:?}");
                    match (after, expected) {
                        (Ok(after), Some(to)) => {
                            assert_eq!((after.state, after.version), (to, request.version + 1), "{case}");
                            let material = to != *state || what == "escalated";
                            assert_eq!(after.material == after.version, material, "{case}");
                            taken += 1;
                        }
                        (Err(EvolveError::NoEdge { state: stood, .. }), None) => {
                            assert_eq!(stood, *state, "{case}");
                        }
                        (after, expected) => panic!("{case}: {after:?}, expected {expected:?}"),
                    }
                }
            }
        }
    }
    assert!(taken > ARROWS.len(), "the table was used");
}

#[test]
fn a_request_begins_pending_approved_or_denied_as_policy_said_and_only_once() {
    for kind in Kind::ALL {
        for effect in Effect::ALL {
            for state in State::ALL {
                let request = Scene::of(*kind, one()).request;
                let created = Event::Created(Box::new(Created {
                    kind: *kind,
                    agent: request.agent.clone(),
                    session: request.session.clone(),
                    tool: None,
                    group: None,
                    on_behalf_of: None,
                    risk: request.risk,
                    verdict: placet_core::Verdict { effect: *effect, ..request.verdict.clone() },
                    needs: one(),
                    allowed: Vec::new(),
                    permit: false,
                    digest: request.digest,
                    created_at: request.created_at,
                    expires_at: request.expires_at,
                    claim_window: request.claim_window,
                    report_window: request.report_window,
                    state: *state,
                    claim_by: None,
                    source: "rest".to_owned(),
                    claimed: None,
                    escalation: Vec::new(),
                    trust: None,
                    grant: None,
                    granted_by: None,
                }));
                let expected = match (effect, kind) {
                    (Effect::Deny, _) => State::Denied,
                    (Effect::Allow, Kind::Action | Kind::Plan | Kind::Confirmation) => State::Approved,
                    (Effect::Allow, Kind::Input) | (Effect::Hold, _) => State::Pending,
                };
                let begin = |before| {
                    evolve(before, request.id, 1, request.created_at, "bot", &created, &EventPayload::Nothing)
                };
                match begin(None) {
                    Ok(new) => {
                        assert_eq!((new.state, new.version, new.seq), (expected, 1, 1));
                        assert_eq!(new.decision.is_some(), expected != State::Pending);
                    }
                    Err(error) => {
                        assert!(matches!(error, EvolveError::NoEdge { .. }));
                        assert_ne!(*state, expected, "{kind} {effect}");
                    }
                }
                assert_eq!(begin(Some(request.clone())), Err(EvolveError::CreatedTwice(request.id)));
            }
        }
    }
}

#[test]
fn nothing_happens_to_a_request_that_was_never_created() {
    let request = Scene::held(one()).request;
    for (what, event, _) in events(&request) {
        let after = evolve(None, request.id, 1, request.created_at, "bob", &event, &EventPayload::Nothing);
        assert!(matches!(after, Err(EvolveError::Missing { .. })), "{what}");
    }
}

#[test]
fn every_state_of_the_picture_is_reached_by_commands() {
    let mut reached: Vec<State> = Scene::in_every_state().iter().map(Scene::state).collect();
    reached.sort();
    assert_eq!(reached, State::ALL);
}

use super::*;
use crate::{RequestId, Scope, Via};

const NOW: Time = Time::from_micros(1);

fn id(n: u8) -> KeyId {
    KeyId::new(u64::from(n), [n; 10])
}

fn make(directory: &mut Directory, n: u8, role: Role, name: &str) -> Result<(), AdminRefusal> {
    let command =
        AdminCommand::CreateKey { id: id(n), role, name: name.to_owned(), owner: None, secret: [n; 32] };
    let event = directory.apply(&command, NOW)?;
    directory.evolve(&event, NOW, Some([n; 32]));
    Ok(())
}

#[test]
fn no_principal_is_both_agent_and_person() {
    let mut directory = Directory::default();
    make(&mut directory, 1, Role::Agent, "bot").unwrap();
    make(&mut directory, 2, Role::Reviewer, "ann").unwrap();
    assert_eq!(make(&mut directory, 3, Role::Reviewer, "bot"), Err(AdminRefusal::OtherKind("bot".into())));
    assert_eq!(make(&mut directory, 3, Role::Agent, "ann"), Err(AdminRefusal::OtherKind("ann".into())));
}

#[test]
fn a_second_key_is_rotation_and_a_second_role_widens_the_person() {
    let mut directory = Directory::default();
    make(&mut directory, 1, Role::Reviewer, "ann").unwrap();
    make(&mut directory, 2, Role::Reviewer, "ann").unwrap();
    make(&mut directory, 3, Role::Admin, "ann").unwrap();
    assert_eq!(directory.live_keys_of("ann"), 3);
    assert_eq!(directory.people["ann"].roles, [Role::Reviewer, Role::Admin].into());
}

#[test]
fn the_last_admin_cannot_be_locked_out() {
    let mut directory = Directory::default();
    make(&mut directory, 1, Role::Admin, "root").unwrap();
    assert_eq!(
        directory.apply(&AdminCommand::RevokeKey { id: id(1), keep: false }, NOW),
        Err(AdminRefusal::LastAdmin)
    );
    assert_eq!(
        directory.apply(&AdminCommand::RemovePerson { name: "root".into() }, NOW),
        Err(AdminRefusal::LastAdmin)
    );
    let demote = AdminCommand::PutPerson {
        name: "root".into(),
        roles: [Role::Auditor].into(),
        teams: BTreeSet::new(),
    };
    assert_eq!(directory.apply(&demote, NOW), Err(AdminRefusal::LastAdmin));
    make(&mut directory, 2, Role::Admin, "ann").unwrap();
    assert!(directory.apply(&AdminCommand::RevokeKey { id: id(1), keep: false }, NOW).is_ok());
}

#[test]
fn a_removed_person_has_no_working_key_even_when_added_again() {
    let mut directory = Directory::default();
    make(&mut directory, 1, Role::Admin, "root").unwrap();
    make(&mut directory, 2, Role::Reviewer, "ann").unwrap();
    let event = directory.apply(&AdminCommand::RemovePerson { name: "ann".into() }, NOW).unwrap();
    directory.evolve(&event, Time::from_micros(2), None);
    assert!(directory.live_key(id(2)).is_none());
    make(&mut directory, 3, Role::Reviewer, "ann").unwrap();
    assert!(directory.live_key(id(2)).is_none());
    assert!(directory.live_key(id(3)).is_some());
}

#[test]
fn every_event_has_its_name_on_the_wire() {
    let name = || "ann".to_owned();
    let grant = Grant {
        id: GrantId::new(1, [1; 10]),
        by: name(),
        agent: "bot".to_owned(),
        tool: "t".to_owned(),
        policy: "p".to_owned(),
        scope: Scope::Exact { bound: true },
        uses: 1,
        created_at: NOW,
        expires_at: NOW,
        request: RequestId::new(1, [1; 10]),
        key: None,
        session: None,
    };
    let session = SessionId::new(1, [1; 10]);
    let freeze = Freeze {
        id: FreezeId::new(1, [1; 10]),
        agent: None,
        tool: None,
        by: name(),
        reason: "why".to_owned(),
        at: NOW,
    };
    let report = Coverage { framework: "f".to_owned(), program: "p".to_owned(), parts: Vec::new() };
    for (event, expected) in [
        (AdminEvent::Opened {}, "ledger.opened"),
        (AdminEvent::Restored { from: "e1".to_owned() }, "ledger.restored"),
        (AdminEvent::Recovered { from: "e1".to_owned(), acknowledged: Some(7) }, "ledger.recovered"),
        (AdminEvent::RestoreConfirmed {}, "restore.confirmed"),
        (AdminEvent::ClockAccepted { from: Time::from_micros(1) }, "clock.accepted"),
        (AdminEvent::KeyCreated { id: id(1), role: Role::Admin, name: name(), owner: None }, "key.created"),
        (AdminEvent::KeyRevoked { id: id(1), voids: true }, "key.revoked"),
        (
            AdminEvent::PersonPut { name: name(), roles: BTreeSet::new(), teams: BTreeSet::new() },
            "person.put",
        ),
        (AdminEvent::PersonRemoved { name: name(), voids: true }, "person.removed"),
        (AdminEvent::PolicyPut { hash: "h".to_owned(), source: "s".to_owned() }, "policy.put"),
        (AdminEvent::GrantCreated { grant: Box::new(grant) }, "grant.created"),
        (AdminEvent::GrantRevoked { id: GrantId::new(1, [1; 10]), why: None }, "grant.revoked"),
        (AdminEvent::RootsPut { agent: name(), roots: Vec::new(), request: None }, "agent.roots_put"),
        (AdminEvent::ConfinePut { agent: name(), confine: true, request: None }, "agent.confine_put"),
        (AdminEvent::CoveragePut { agent: name(), report: Box::new(report) }, "agent.coverage_put"),
        (AdminEvent::CoverageForgotten { agent: name() }, "agent.coverage_forgotten"),
        (AdminEvent::FreezeSet { freeze: Box::new(freeze) }, "freeze.set"),
        (AdminEvent::FreezeLifted { id: FreezeId::new(1, [1; 10]) }, "freeze.lifted"),
        (AdminEvent::LinkCreated { name: name(), expires_at: NOW }, "link.created"),
        (
            AdminEvent::SessionOpened {
                id: session,
                name: name(),
                via: Via::Link,
                expires_at: NOW,
                bound: None,
            },
            "session.opened",
        ),
        (AdminEvent::SessionEnded { id: session, why: SessionEnd::Revoked, voids: false }, "session.ended"),
        (AdminEvent::PasswordSet { name: name(), voids: true }, "person.password_set"),
    ] {
        assert_eq!(event.name(), expected);
        assert_eq!(serde_json::to_value(&event).unwrap()["type"], expected);
    }
}

fn give_password(directory: &mut Directory, name: &str) {
    directory.evolve(&AdminEvent::PasswordSet { name: name.to_owned(), voids: true }, NOW, None);
}

fn sign_in(directory: &mut Directory, n: u8, name: &str) {
    let id = SessionId::new(u64::from(n), [n; 10]);
    let event = AdminEvent::SessionOpened {
        id,
        name: name.to_owned(),
        via: Via::Password,
        expires_at: NOW.plus(Duration::from_hours(1)),
        bound: None,
    };
    directory.evolve(&event, NOW, None);
}

fn put(directory: &mut Directory, name: &str, role: Role) {
    let event = AdminEvent::PersonPut { name: name.to_owned(), roles: [role].into(), teams: BTreeSet::new() };
    directory.evolve(&event, NOW, None);
}

#[test]
fn a_key_a_password_a_link_or_a_session_each_shows_that_somebody_is_the_person() {
    let give_key = |directory: &mut Directory, n, name: &str| {
        make(directory, n, Role::Reviewer, name).unwrap();
    };
    let give_link = |directory: &mut Directory, name: &str| {
        let event = AdminEvent::LinkCreated { name: name.to_owned(), expires_at: NOW };
        directory.evolve(&event, NOW, None);
    };
    let mut others = Directory::default();
    assert!(others.is_keyless("ann"), "nobody is known");
    give_key(&mut others, 1, "bob");
    give_password(&mut others, "bob");
    give_link(&mut others, "bob");
    sign_in(&mut others, 1, "bob");
    assert!(others.is_keyless("ann") && !others.is_keyless("bob"));

    let with = |proof: &dyn Fn(&mut Directory)| {
        let mut directory = others.clone();
        proof(&mut directory);
        directory
    };
    assert!(!with(&|directory| give_key(directory, 2, "ann")).is_keyless("ann"), "a key");
    let mut revoked = with(&|directory| give_key(directory, 2, "ann"));
    revoked.evolve(&AdminEvent::KeyRevoked { id: id(2), voids: true }, NOW, None);
    assert!(!revoked.is_keyless("ann"), "a revoked key");
    assert!(!with(&|directory| give_password(directory, "ann")).is_keyless("ann"), "a password");
    assert!(!with(&|directory| give_link(directory, "ann")).is_keyless("ann"), "a link");
    assert!(!with(&|directory| sign_in(directory, 2, "ann")).is_keyless("ann"), "a session");
}

#[test]
fn the_last_admin_key_is_kept_unless_another_works_or_an_admin_has_a_password() {
    let revoke =
        |directory: &Directory| directory.apply(&AdminCommand::RevokeKey { id: id(1), keep: false }, NOW);
    let allowed = Ok(AdminEvent::KeyRevoked { id: id(1), voids: true });
    let mut directory = Directory::default();
    make(&mut directory, 1, Role::Admin, "root").unwrap();
    make(&mut directory, 2, Role::Reviewer, "ann").unwrap();
    assert_eq!(revoke(&directory), Err(AdminRefusal::LastAdmin), "a reviewer's key does not administer");
    give_password(&mut directory, "ann");
    assert_eq!(revoke(&directory), Err(AdminRefusal::LastAdmin), "nor does a reviewer's password");

    let mut other_key = directory.clone();
    make(&mut other_key, 3, Role::Admin, "bob").unwrap();
    assert_eq!(revoke(&other_key), allowed);
    let mut revoked = other_key.clone();
    revoked.evolve(&AdminEvent::KeyRevoked { id: id(3), voids: true }, NOW, None);
    assert_eq!(revoke(&revoked), Err(AdminRefusal::LastAdmin), "a revoked key");
    put(&mut other_key, "bob", Role::Auditor);
    assert_eq!(revoke(&other_key), Err(AdminRefusal::LastAdmin), "the key of a person who lost the role");

    give_password(&mut directory, "root");
    assert_eq!(revoke(&directory), allowed, "the admin can sign in");
}

#[test]
fn the_last_admin_is_the_only_person_who_could_still_administer() {
    let nobody = || {
        let mut directory = Directory::default();
        put(&mut directory, "root", Role::Admin);
        put(&mut directory, "ann", Role::Reviewer);
        directory
    };
    let last = |proofs: &[fn(&mut Directory)]| {
        let mut directory = nobody();
        for proof in proofs {
            proof(&mut directory);
        }
        ["root", "ann"].map(|name| directory.is_last_admin(name))
    };
    let root_key: fn(&mut Directory) = |directory| make(directory, 1, Role::Admin, "root").unwrap();
    let root_password: fn(&mut Directory) = |directory| give_password(directory, "root");
    let root_session: fn(&mut Directory) = |directory| sign_in(directory, 1, "root");
    let ann_key: fn(&mut Directory) = |directory| make(directory, 2, Role::Reviewer, "ann").unwrap();
    let ann_password: fn(&mut Directory) = |directory| give_password(directory, "ann");
    let ann_session: fn(&mut Directory) = |directory| sign_in(directory, 2, "ann");
    let ann_admin_key: fn(&mut Directory) = |directory| make(directory, 3, Role::Admin, "ann").unwrap();
    let ann_admin: fn(&mut Directory) = |directory| put(directory, "ann", Role::Admin);

    assert_eq!(last(&[]), [false, false], "nobody can get in");
    for proof in [root_key, root_password, root_session] {
        assert_eq!(last(&[proof]), [true, false]);
        assert_eq!(last(&[proof, ann_key, ann_password, ann_session]), [true, false], "ann is no admin");
    }
    assert_eq!(last(&[ann_key, ann_password, ann_session]), [false, false]);
    for proof in [root_key, root_password] {
        assert_eq!(last(&[proof, ann_admin_key]), [false, false], "two can");
        assert_eq!(last(&[proof, ann_admin, ann_password]), [false, false], "two can");
        assert_eq!(last(&[proof, ann_admin, ann_session]), [true, false], "a session ends");
    }
    assert_eq!(last(&[root_session, ann_admin_key]), [false, true], "a session ends");
}

#[test]
fn a_new_name_that_looks_like_one_that_exists_is_refused_and_the_old_ones_go_on() {
    let mut directory = Directory::default();
    make(&mut directory, 1, Role::Admin, "ann").unwrap();
    make(&mut directory, 2, Role::Agent, "billing-bot").unwrap();
    let teams = ["finance".to_owned()].into();
    let put = |name: &str, teams: BTreeSet<String>| AdminCommand::PutPerson {
        name: name.to_owned(),
        roles: [Role::Reviewer].into(),
        teams,
    };
    directory.evolve(&directory.apply(&put("bob", teams), NOW).unwrap(), NOW, None);
    let looks =
        |refusal: Result<AdminEvent, AdminRefusal>| matches!(refusal, Err(AdminRefusal::LooksLike { .. }));
    for name in ["Ann", "a-n-n", "B0B", "bi11ing-bot", "Finance", "f1nance", "0pen-reviewer"] {
        assert!(looks(directory.apply(&put(name, BTreeSet::new()), NOW)), "{name}");
        for role in [Role::Agent, Role::Reviewer] {
            let made = make(&mut directory, 9, role, name);
            assert!(matches!(made, Err(AdminRefusal::LooksLike { .. })), "{name} {role}: {made:?}");
        }
    }
    for team in ["Finance", "b0b", "Billing.Bot"] {
        assert!(looks(directory.apply(&put("cyd", [team.to_owned()].into()), NOW)), "{team}");
    }
    // A pair from before this rule keeps its keys, its sign-in and its rows.
    let known = AdminEvent::PersonPut {
        name: "Bob".to_owned(),
        roles: [Role::Reviewer].into(),
        teams: BTreeSet::new(),
    };
    directory.evolve(&known, NOW, None);
    assert!(directory.apply(&put("Bob", ["finance".to_owned()].into()), NOW).is_ok());
    make(&mut directory, 10, Role::Reviewer, "Bob").unwrap();
}

#[test]
fn a_standing_yes_ends_with_the_credential_it_was_given_with_unless_that_is_kept() {
    let grant = |n: u8, key: Option<KeyId>, session: Option<SessionId>| AdminEvent::GrantCreated {
        grant: Box::new(Grant {
            id: GrantId::new(u64::from(n), [n; 10]),
            by: "ann".to_owned(),
            agent: "bot".to_owned(),
            tool: "t".to_owned(),
            policy: "p".to_owned(),
            scope: Scope::Exact { bound: true },
            uses: 1,
            created_at: NOW,
            expires_at: NOW.plus(Duration::from_mins(1)),
            request: RequestId::new(u64::from(n), [n; 10]),
            key,
            session,
        }),
    };
    let session = SessionId::new(5, [5; 10]);
    let mut directory = Directory::default();
    for n in 1..4 {
        make(&mut directory, n, Role::Reviewer, "ann").unwrap();
    }
    directory.evolve(&grant(1, Some(id(1)), None), NOW, None);
    directory.evolve(&grant(2, Some(id(2)), None), NOW, None);
    directory.evolve(&grant(3, None, Some(session)), NOW, None);
    directory.evolve(&AdminEvent::KeyRevoked { id: id(1), voids: false }, NOW, None);
    assert_eq!(directory.grants.len(), 3, "a rotation keeps what was said");
    directory.evolve(&AdminEvent::KeyRevoked { id: id(2), voids: true }, NOW, None);
    assert_eq!(directory.grants.len(), 2);
    let why = SessionEnd::Revoked;
    directory.evolve(&AdminEvent::SessionEnded { id: session, why, voids: true }, NOW, None);
    assert_eq!(directory.grants.values().map(|grant| grant.key).collect::<Vec<_>>(), [Some(id(1))]);
    assert_eq!(directory.grant_of(RequestId::new(1, [1; 10])), Some(GrantId::new(1, [1; 10])));
    assert_eq!(directory.grant_of(RequestId::new(2, [2; 10])), None);
}

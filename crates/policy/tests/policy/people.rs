//! The static check of needs against the people who exist.

use placet_core::{Agent, Directory, Person, Role};
use placet_policy::Severity;

use crate::support::policy;

fn directory(people: &[(&str, &[&str])], agents: &[(&str, Option<&str>)]) -> Directory {
    let person = |teams: &[&str]| Person {
        roles: [Role::Reviewer].into(),
        teams: teams.iter().map(|team| (*team).to_owned()).collect(),
    };
    Directory {
        people: people.iter().map(|(name, teams)| ((*name).to_owned(), person(teams))).collect(),
        agents: agents
            .iter()
            .map(|(name, owner)| {
                ((*name).to_owned(), Agent { owner: owner.map(str::to_owned), ..Agent::default() })
            })
            .collect(),
        ..Directory::default()
    }
}

/// Severity, rule and message of every finding.
fn found(needs: &str, directory: &Directory) -> Vec<(Severity, String, String)> {
    let policy = policy(&format!("[[rule]]\nname = 'r'\neffect = 'hold'\ntool = 't'\nneeds = {needs}\n"));
    policy
        .check_people(directory)
        .into_iter()
        .map(|finding| (finding.severity, finding.rule, format!("{}; {}", finding.message, finding.fix)))
        .collect()
}

#[test]
fn needs_that_can_be_met_are_not_mentioned() {
    let who = directory(&[("ann", &["finance"]), ("bob", &["legal"])], &[("bot", Some("ann"))]);
    for needs in [
        "{ people = 2 }",
        "{ people = 1, team = 'finance' }",
        "{ all = [ { team = 'finance' }, { team = 'legal' } ] }",
        "{ people = 1, four_eyes = true }",
    ] {
        assert_eq!(found(needs, &who), [], "{needs}");
    }
}

#[test]
fn needs_nobody_can_meet_are_errors_that_say_what_is_lacking() {
    let who = directory(&[("ann", &["finance"]), ("bob", &[])], &[]);
    let said = found("{ people = 3 }", &who);
    assert_eq!((said.len(), said[0].0, said[0].1.as_str()), (1, Severity::Error, "r"));
    assert!(said[0].2.contains("there must be 3 reviewers, and there are 2"), "{}", said[0].2);
    assert!(
        found("{ people = 1, team = 'legal' }", &who)[0].2.contains("in the team `legal`, and there are 0")
    );
    // Everybody without a reviewer: the defaults cannot be met either.
    let nobody = found("{ people = 1 }", &directory(&[], &[]));
    assert_eq!(nobody.iter().map(|(_, rule, _)| rule.as_str()).collect::<Vec<_>>(), ["default", "r"]);
}

#[test]
fn one_person_in_two_teams_does_not_fill_two_seats() {
    let who = directory(&[("ann", &["finance", "legal"])], &[]);
    let said = found("{ all = [ { team = 'finance' }, { team = 'legal' } ] }", &who);
    assert_eq!(said[0].0, Severity::Error);
    assert!(said[0].2.contains("the same people fill several seats"), "{}", said[0].2);
    let more = directory(&[("ann", &["finance", "legal"]), ("bob", &["legal"])], &[]);
    let said = found("{ all = [ { team = 'finance' }, { team = 'legal' } ] }", &more);
    assert_eq!((said.len(), said[0].0), (1, Severity::Warning));
    assert!(said[0].2.contains("`ann` is in both `finance` and `legal`"), "{}", said[0].2);
}

#[test]
fn one_person_who_suffices_where_two_were_meant_is_a_warning() {
    let who = directory(&[("ann", &["finance"]), ("bob", &["finance"]), ("eve", &["legal"])], &[]);
    let said = found("{ any = [ { people = 2, team = 'finance' }, { people = 1, team = 'legal' } ] }", &who);
    assert_eq!((said.len(), said[0].0), (1, Severity::Warning));
    assert!(said[0].2.contains("one person is enough: the alternative `1 of legal`"), "{}", said[0].2);
}

#[test]
fn an_alternative_that_can_never_be_met_is_a_warning() {
    let who = directory(&[("ann", &["finance"])], &[]);
    let said = found("{ any = [ { team = 'finance' }, { team = 'legal' } ] }", &who);
    assert_eq!((said.len(), said[0].0), (1, Severity::Warning));
    assert!(said[0].2.contains("`1 of legal` can never be met"), "{}", said[0].2);
}

#[test]
fn with_four_eyes_the_owner_does_not_count() {
    let alone = directory(&[("ann", &[])], &[("bot", Some("ann"))]);
    assert!(
        found("{ people = 1, four_eyes = true }", &alone)[0].2.contains("their owner `ann` does not count")
    );
    let unowned = directory(&[("ann", &[])], &[("bot", None)]);
    assert!(found("{ people = 1, four_eyes = true }", &unowned)[0].2.contains("because no owner is known"));
    let two = directory(&[("ann", &[]), ("bob", &[])], &[("bot", None), ("bat", Some("ann"))]);
    assert_eq!(found("{ people = 1, four_eyes = true }", &two), []);
}

#[test]
fn an_escalation_that_asks_for_fewer_people_is_a_warning() {
    let policy = policy(
        "[escalation.up]\nneeds = { people = 1 }\nexpires_in = '1h'\n[[rule]]\nname = 'r'\neffect = 'hold'\ntool = 't'\nneeds = { people = 2 }\non_expiry = { escalate = 'up' }\n",
    );
    let who = directory(&[("ann", &[]), ("bob", &[])], &[]);
    let findings = policy.check_people(&who);
    assert_eq!(findings.len(), 1, "{findings:?}");
    assert!(
        findings[0].message.contains("one person suffices where 2 people were needed before"),
        "{}",
        findings[0].message
    );
    let alone = directory(&[("ann", &[])], &[]);
    assert_eq!(policy.check_people(&alone)[0].severity, Severity::Error);
}

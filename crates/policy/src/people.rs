//! Can the people who exist meet what the rules ask for, and does "two people" really mean two?

use std::collections::{BTreeMap, BTreeSet};

use placet_core::{AllOf, Directory, Effect, Needs, Role};
use serde::Serialize;

use crate::{DEFAULT_RULE, evaluate::Rules};

/// Something about the people that a policy's author should know.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// Whether it must be mended before the policy is used.
    pub severity: Severity,
    /// The rule whose needs these are; `default` for the defaults.
    pub rule: String,
    /// What is the matter.
    pub message: String,
    /// What would mend it.
    pub fix: String,
}

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Worth knowing.
    Warning,
    /// Requests under this rule could never be approved.
    Error,
}

/// Looks at the needs of every hold rule, of its escalations, and of the defaults.
pub(crate) fn check(rules: &Rules, directory: &Directory) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut known: Vec<(&Needs, Vec<Finding>)> = Vec::new();
    let holds = rules.list.iter().filter(|rule| rule.effect == Effect::Hold);
    let named = holds.map(|rule| (rule.name.as_str(), &rule.needs, rule.escalation.as_slice()));
    for (rule, needs, escalation) in
        std::iter::once((DEFAULT_RULE, &rules.defaults.needs, [].as_slice())).chain(named)
    {
        let found = if let Some((_, found)) = known.iter().find(|(other, _)| *other == needs) {
            found.clone()
        } else {
            let found = look(needs, directory, "");
            known.push((needs, found.clone()));
            found
        };
        findings.extend(found.into_iter().map(|finding| Finding { rule: rule.to_owned(), ..finding }));
        let mut before = needs;
        for (number, next) in (1_u32..).zip(escalation) {
            let place = format!("after escalation {number}, ");
            let found = look(&next.needs, directory, &place);
            findings.extend(found.into_iter().map(|finding| Finding { rule: rule.to_owned(), ..finding }));
            if fewest(&next.needs) < fewest(before) {
                findings.push(Finding {
                    severity: Severity::Warning,
                    rule: rule.to_owned(),
                    message: format!(
                        "{place}{} suffices where {} were needed before: waiting makes it easier",
                        people(fewest(&next.needs)),
                        people(fewest(before))
                    ),
                    fix: "ask the escalation for as many people as the rule".to_owned(),
                });
            }
            before = &next.needs;
        }
    }
    findings
}

fn people(count: u32) -> String {
    if count == 1 { "one person".to_owned() } else { format!("{count} people") }
}

fn seats(alternative: &AllOf) -> u32 {
    alternative.all.iter().fold(0, |sum, seat| sum.saturating_add(seat.people))
}

fn fewest(needs: &Needs) -> u32 {
    needs.any.iter().map(seats).min().unwrap_or(0)
}

fn finding(severity: Severity, message: String, fix: impl Into<String>) -> Finding {
    Finding { severity, rule: String::new(), message, fix: fix.into() }
}

fn look(needs: &Needs, directory: &Directory, place: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    let reviewers: BTreeSet<&str> = directory
        .people
        .keys()
        .map(String::as_str)
        .filter(|name| directory.person(name, Role::Reviewer).is_some())
        .collect();
    if !needs.met(&reviewers, 0, directory) {
        findings.push(finding(
            Severity::Error,
            format!("{place}nobody can meet these needs: {}", describe(needs)),
            missing(needs, directory, &reviewers),
        ));
        return findings;
    }
    for alternative in &needs.any {
        let alone = Needs { any: vec![alternative.clone()], four_eyes: false, step_up: None };
        if !alone.met(&reviewers, 0, directory) {
            findings.push(finding(
                Severity::Warning,
                format!("{place}the alternative `{}` can never be met", describe_all(alternative)),
                missing(&alone, directory, &reviewers),
            ));
        }
    }
    four_eyes(needs, directory, place, &reviewers, &mut findings);
    if needs.any.iter().map(seats).max() > Some(fewest(needs)) && fewest(needs) == 1 {
        let easy: Vec<String> =
            needs.any.iter().filter(|alternative| seats(alternative) == 1).map(describe_all).collect();
        findings.push(finding(
            Severity::Warning,
            format!(
                "{place}one person is enough: the alternative `{}` asks for nobody else",
                easy.join("` or `")
            ),
            "ask for two people in every alternative, if two are meant",
        ));
    }
    findings.extend(overlaps(needs, directory, place, &reviewers));
    findings
}

/// With four eyes the owner of an agent does not count; where no owner is known, two people are needed.
fn four_eyes(
    needs: &Needs,
    directory: &Directory,
    place: &str,
    reviewers: &BTreeSet<&str>,
    findings: &mut Vec<Finding>,
) {
    if !needs.four_eyes {
        return;
    }
    let mut stuck: BTreeMap<Option<&str>, Vec<&str>> = BTreeMap::new();
    for agent in directory.agents.keys() {
        let owner = directory.owner(agent);
        let without: BTreeSet<&str> = reviewers.iter().copied().filter(|name| Some(*name) != owner).collect();
        if !needs.met(&without, if owner.is_none() { 2 } else { 0 }, directory) {
            stuck.entry(owner).or_default().push(agent);
        }
    }
    for (owner, agents) in stuck {
        let agents = agents.iter().take(5).map(|agent| format!("`{agent}`")).collect::<Vec<_>>().join(", ");
        let (message, fix) = match owner {
            Some(owner) => (
                format!(
                    "{place}with four eyes nobody can approve the requests of {agents}: their owner `{owner}` does not count"
                ),
                "add another reviewer who fits".to_owned(),
            ),
            None => (
                format!(
                    "{place}with four eyes the requests of {agents} need two people, because no owner is known, and there are not two who fit"
                ),
                "give the agents an owner, or add a reviewer".to_owned(),
            ),
        };
        findings.push(finding(Severity::Error, message, fix));
    }
}

/// Two teams in one alternative are meant as two points of view; a person in both is one.
fn overlaps(needs: &Needs, directory: &Directory, place: &str, reviewers: &BTreeSet<&str>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for alternative in &needs.any {
        let teams: Vec<&str> = alternative.all.iter().filter_map(|seat| seat.team.as_deref()).collect();
        for (index, left) in teams.iter().enumerate() {
            for right in teams.iter().skip(index.saturating_add(1)) {
                let both: Vec<String> = reviewers
                    .iter()
                    .filter(|name| {
                        directory.person(name, Role::Reviewer).is_some_and(|person| {
                            person.teams.contains(*left) && person.teams.contains(*right)
                        })
                    })
                    .take(5)
                    .map(|name| format!("`{name}`"))
                    .collect();
                if !both.is_empty() {
                    findings.push(finding(
                        Severity::Warning,
                        format!(
                            "{place}{} in both `{left}` and `{right}`: two people of one team can then meet needs that name two",
                            if both.len() == 1 { format!("{} is", both.join("")) } else { format!("{} are", both.join(", ")) }
                        ),
                        format!("take them out of `{left}` or `{right}`"),
                    ));
                }
            }
        }
    }
    findings
}

/// What is lacking, in the first alternative.
fn missing(needs: &Needs, directory: &Directory, reviewers: &BTreeSet<&str>) -> String {
    let Some(alternative) = needs.any.first() else { return "ask for at least one person".to_owned() };
    for seat in &alternative.all {
        let fit = reviewers.iter().filter(|name| {
            directory
                .person(name, Role::Reviewer)
                .is_some_and(|person| seat.team.as_ref().is_none_or(|team| person.teams.contains(team)))
        });
        let count = u32::try_from(fit.count()).unwrap_or(u32::MAX);
        if count < seat.people {
            let what = seat
                .team
                .as_ref()
                .map_or_else(|| "reviewers".to_owned(), |team| format!("reviewers in the team `{team}`"));
            return format!("there must be {} {what}, and there are {count}", seat.people);
        }
    }
    "the same people fill several seats; add people".to_owned()
}

/// Needs in words.
pub(crate) fn describe(needs: &Needs) -> String {
    let mut text = needs.any.iter().map(describe_all).collect::<Vec<_>>().join(", or ");
    if needs.four_eyes {
        text.push_str(", four eyes");
    }
    if let Some(step_up) = &needs.step_up {
        text.push_str(", with a ");
        text.push_str(step_up);
    }
    text
}

fn describe_all(alternative: &AllOf) -> String {
    alternative
        .all
        .iter()
        .map(|seat| match &seat.team {
            Some(team) => format!("{} of {team}", seat.people),
            None => format!("{} of any team", seat.people),
        })
        .collect::<Vec<_>>()
        .join(" and ")
}

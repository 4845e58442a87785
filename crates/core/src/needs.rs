//! Needs: any of several alternatives, each a list of seats that different people must fill.

mod join;

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use serde::{Deserialize, Serialize};

use crate::{Directory, names::skeleton};

/// What must be met before a held request is approved.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Needs {
    /// One of these must be met.
    pub any: Vec<AllOf>,
    /// The owner of the agent, the person it acts for and the author of the edit cannot approve it.
    pub four_eyes: bool,
    /// A stronger proof of presence that each approving vote must carry.
    #[cfg_attr(feature = "openapi", schema(required = true))]
    pub step_up: Option<String>,
}

/// All of these seats must be filled, each by another person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct AllOf {
    /// The seats.
    pub all: Vec<Seat>,
}

/// A number of people, of one team or of any.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Seat {
    /// How many.
    pub people: u32,
    /// The team. Any when null.
    #[cfg_attr(feature = "openapi", schema(required = true))]
    pub team: Option<String>,
}

/// Who is asked next when no decision is made in time, and for how long.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Escalation {
    /// The needs from then on.
    pub needs: Needs,
    /// Time for deciding.
    pub expires_in: Duration,
}

impl Escalation {
    /// A chain in which four eyes and step-up never fall along the way.
    pub(crate) fn chain(first: &Needs, chain: &[Self]) -> Vec<Self> {
        if chain.is_empty() {
            return Vec::new();
        }
        let mut before = first.clone();
        chain
            .iter()
            .map(|next| {
                before = next.needs.clone().following(&before);
                Self { needs: before.clone(), expires_in: next.expires_in }
            })
            .collect()
    }
}

impl Default for Needs {
    /// Any one reviewer.
    fn default() -> Self {
        Self {
            any: vec![AllOf { all: vec![Seat { people: 1, team: None }] }],
            four_eyes: false,
            step_up: None,
        }
    }
}

impl Needs {
    /// The needs that meet both. Written as this side is, if the other demands nothing new.
    #[must_use]
    pub fn raised(&self, other: &Self) -> Self {
        let joined = self.join(other);
        if joined == self.normal() { self.clone() } else { joined }
    }

    /// The needs after these: other people may be asked, but step-up and four eyes never get weaker.
    fn following(self, before: &Self) -> Self {
        Self {
            four_eyes: self.four_eyes || before.four_eyes,
            step_up: self.step_up.or_else(|| before.step_up.clone()),
            any: self.any,
        }
    }

    /// Whether this person's vote counts towards any alternative.
    pub fn eligible(&self, name: &str, directory: &Directory) -> bool {
        let Some(person) = directory.person(name, crate::Role::Reviewer) else { return false };
        self.any.iter().flat_map(|alternative| &alternative.all).any(|seat| fits(seat, &person.teams))
    }

    /// Whether these people, all of them approving, are enough. `least` is a floor on their number.
    pub fn met(&self, approvers: &BTreeSet<&str>, least: usize, directory: &Directory) -> bool {
        // Names that look alike are one person, who has the seats of each.
        let mut each: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for name in approvers {
            if let Some(person) = directory.person(name, crate::Role::Reviewer) {
                each.entry(skeleton(name)).or_default().extend(person.teams.iter().cloned());
            }
        }
        let people: Vec<&BTreeSet<String>> = each.values().collect();
        people.len() >= least.max(1) && self.any.iter().any(|alternative| alternative.filled_by(&people))
    }
}

impl AllOf {
    /// Whether every seat can be given to a different person: a maximum matching by augmenting paths.
    fn filled_by(&self, people: &[&BTreeSet<String>]) -> bool {
        // More seats than people cannot be filled, so they are not laid out.
        let wanted: u64 = self.all.iter().map(|seat| u64::from(seat.people)).sum();
        if wanted > people.len() as u64 {
            return false;
        }
        let seats: Vec<&Seat> =
            self.all.iter().flat_map(|seat| std::iter::repeat_n(seat, seat.people as usize)).collect();
        let mut holder: Vec<Option<usize>> = vec![None; seats.len()];
        let seated = (0..people.len())
            .filter(|person| seat_one(*person, people, &seats, &mut holder, &mut vec![false; seats.len()]))
            .count();
        seated == seats.len() && !seats.is_empty()
    }
}

/// Gives this person a seat, moving others if that helps.
fn seat_one(
    person: usize,
    people: &[&BTreeSet<String>],
    seats: &[&Seat],
    holder: &mut [Option<usize>],
    tried: &mut [bool],
) -> bool {
    for (index, seat) in seats.iter().enumerate() {
        let free_to_try =
            tried.get(index) == Some(&false) && people.get(person).is_some_and(|teams| fits(seat, teams));
        if !free_to_try {
            continue;
        }
        if let Some(mark) = tried.get_mut(index) {
            *mark = true;
        }
        let current = holder.get(index).copied().flatten();
        if current.is_none_or(|current| seat_one(current, people, seats, holder, tried)) {
            if let Some(slot) = holder.get_mut(index) {
                *slot = Some(person);
            }
            return true;
        }
    }
    false
}

fn fits(seat: &Seat, teams: &BTreeSet<String>) -> bool {
    seat.team.as_ref().is_none_or(|team| teams.contains(team))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{Person, Role};

    fn directory(people: &[(&str, &[&str])]) -> Directory {
        let people = people
            .iter()
            .map(|(name, teams)| {
                let person = Person {
                    roles: [Role::Reviewer].into(),
                    teams: teams.iter().map(|team| (*team).to_owned()).collect(),
                };
                ((*name).to_owned(), person)
            })
            .collect();
        Directory { people, ..Directory::default() }
    }

    fn needs(any: &[&[(u32, Option<&str>)]]) -> Needs {
        let any = any
            .iter()
            .map(|all| AllOf {
                all: all
                    .iter()
                    .map(|(people, team)| Seat { people: *people, team: team.map(str::to_owned) })
                    .collect(),
            })
            .collect();
        Needs { any, ..Needs::default() }
    }

    #[test]
    fn one_person_cannot_fill_two_seats() {
        let who = directory(&[("ann", &["finance", "legal"]), ("bob", &["legal"])]);
        let both = needs(&[&[(1, Some("finance")), (1, Some("legal"))]]);
        assert!(!both.met(&["ann"].into(), 0, &who));
        assert!(both.met(&["ann", "bob"].into(), 0, &who));
    }

    #[test]
    fn a_seat_is_moved_when_that_lets_everybody_sit() {
        // Taken in order, ann takes finance. Only she can take legal, so she must be moved.
        let who = directory(&[("ann", &["finance", "legal"]), ("bob", &["finance"])]);
        let both = needs(&[&[(1, Some("finance")), (1, Some("legal"))]]);
        assert!(both.met(&["ann", "bob"].into(), 0, &who));
    }

    #[test]
    fn people_without_the_role_do_not_count() {
        let mut who = directory(&[("ann", &[]), ("bob", &[])]);
        who.people.get_mut("bob").unwrap().roles = [Role::Admin].into();
        let two = needs(&[&[(2, None)]]);
        assert!(!two.met(&["ann", "bob"].into(), 0, &who));
        assert!(!two.eligible("bob", &who));
    }

    #[test]
    fn a_person_counts_for_both_sides_of_a_join() {
        let joined = needs(&[&[(1, Some("finance"))]]).join(&needs(&[&[(2, None)]]));
        assert_eq!(joined.any, needs(&[&[(1, Some("finance")), (1, None)]]).any);
        let one = Needs::default();
        assert_eq!(one.join(&one), one);
    }

    #[test]
    fn empty_needs_are_never_met() {
        let who = directory(&[("ann", &[])]);
        assert!(!needs(&[]).met(&["ann"].into(), 0, &who));
        assert!(!needs(&[&[]]).met(&["ann"].into(), 0, &who));
        assert!(!needs(&[&[(0, None)]]).met(&["ann"].into(), 0, &who));
    }

    /// Slow and obvious: try every way of giving seats to people.
    fn brute(seats: &[Option<usize>], people: &[Vec<bool>], used: &mut Vec<bool>) -> bool {
        let Some((seat, rest)) = seats.split_first() else { return true };
        for index in 0..people.len() {
            let fits = seat.is_none_or(|team| people[index][team]);
            if fits && !used[index] {
                used[index] = true;
                if brute(rest, people, used) {
                    return true;
                }
                used[index] = false;
            }
        }
        false
    }

    #[test]
    fn joining_again_and_again_does_not_grow() {
        let (a, b) = (Some("a"), Some("b"));
        let either = needs(&[&[(1, a), (1, b)], &[(3, None)], &[(2, a)]]);
        let once = either.join(&either);
        assert_eq!(once.any.len(), 3);
        assert_eq!(once.join(&either), once);
        let many: Vec<Vec<(u32, Option<&str>)>> =
            (1..=9).map(|people| vec![(people, a), (10 - people, b)]).collect();
        let many = needs(&many.iter().map(Vec::as_slice).collect::<Vec<_>>());
        assert_eq!(many.any.len(), 9);
        assert_eq!(many.join(&many), many);
        let others = needs(&[&[(20, a)], &[(20, b)], &[(19, a), (1, b)], &[(25, None)]]);
        assert_eq!(
            many.join(&others).any,
            needs(&[&[(20, a), (20, b)]]).any,
            "too many pairs: all of them at once"
        );
        assert_eq!(many.raised(&needs(&[&[(1, None)]])), many);
        assert_eq!(either.raised(&needs(&[&[(1, None)]])), either);
        assert_ne!(either.raised(&needs(&[&[(4, None)]])), either);
    }

    #[test]
    fn along_an_escalation_proof_and_eyes_never_fall() {
        let strict = Needs { four_eyes: true, step_up: Some("code".to_owned()), ..Needs::default() };
        let next = |needs: Needs| Escalation { needs, expires_in: Duration::from_secs(1) };
        let chain = Escalation::chain(&strict, &[next(Needs::default()), next(needs(&[&[(2, None)]]))]);
        assert!(chain.iter().all(|step| step.needs.four_eyes && step.needs.step_up.is_some()));
        assert_eq!(chain.last().map(|step| &step.needs.any), Some(&needs(&[&[(2, None)]]).any));
    }

    proptest! {
        #[test]
        fn whoever_meets_a_join_meets_both_sides(
            left in prop::collection::vec((1_u32..3, prop::option::of(0_usize..3)), 1..3),
            right in prop::collection::vec((1_u32..3, prop::option::of(0_usize..3)), 1..3),
            people in prop::collection::vec(prop::collection::vec(any::<bool>(), 3), 0..5),
        ) {
            const TEAMS: [&str; 3] = ["x", "y", "z"];
            const NAMES: [&str; 5] = ["a", "b", "c", "d", "e"];
            let teams: Vec<Vec<&str>> =
                people.iter().map(|row| TEAMS.iter().zip(row).filter(|(_, is)| **is).map(|(team, _)| *team).collect()).collect();
            let list: Vec<(&str, &[&str])> = NAMES.iter().zip(&teams).map(|(name, teams)| (*name, teams.as_slice())).collect();
            let who = directory(&list);
            let side = |seats: &[(u32, Option<usize>)]| {
                let all: Vec<(u32, Option<&str>)> = seats.iter().map(|(n, team)| (*n, team.map(|team| TEAMS[team]))).collect();
                needs(&[&all])
            };
            let (left, right) = (side(&left), side(&right));
            let approvers = list.iter().map(|(name, _)| *name).collect();
            if left.join(&right).met(&approvers, 0, &who) {
                prop_assert!(left.met(&approvers, 0, &who) && right.met(&approvers, 0, &who));
            }
        }

        #[test]
        fn seats_are_filled_exactly_when_some_assignment_exists(
            people in prop::collection::vec(prop::collection::vec(any::<bool>(), 3), 0..5),
            seats in prop::collection::vec(prop::option::of(0_usize..3), 1..5),
        ) {
            const TEAMS: [&str; 3] = ["x", "y", "z"];
            const NAMES: [&str; 5] = ["a", "b", "c", "d", "e"];
            let teams: Vec<Vec<&str>> =
                people.iter().map(|row| TEAMS.iter().zip(row).filter(|(_, is)| **is).map(|(team, _)| *team).collect()).collect();
            let list: Vec<(&str, &[&str])> = NAMES.iter().zip(&teams).map(|(name, teams)| (*name, teams.as_slice())).collect();
            let who = directory(&list);
            let all: Vec<(u32, Option<&str>)> = seats.iter().map(|seat| (1, seat.map(|team| TEAMS[team]))).collect();
            let approvers = list.iter().map(|(name, _)| *name).collect();
            let expected = brute(&seats, &people, &mut vec![false; people.len()]);
            prop_assert_eq!(needs(&[&all]).met(&approvers, 0, &who), expected);
        }
    }
}

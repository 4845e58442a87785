//! Needs in a normal form, so that joins give the same result in any order and stay small.

use std::collections::BTreeMap;

use super::{AllOf, Needs, Seat};

/// More alternatives than this become one alternative that meets them all: stricter, and still small.
const ALTERNATIVES: usize = 32;
/// The same for seats, over all alternatives. If even one alternative has too many, it cannot be met.
const SEATS: usize = 256;

impl Needs {
    /// The same needs in the one form that equal needs share.
    #[must_use]
    pub fn normal(&self) -> Self {
        written(reduced(forms(self)), self.four_eyes, self.step_up.clone())
    }

    /// The needs that meet both, in normal form. Neither side's needs ever fall.
    #[must_use]
    pub fn join(&self, other: &Self) -> Self {
        let four_eyes = self.four_eyes || other.four_eyes;
        let step_up = self.step_up.clone().or_else(|| other.step_up.clone());
        let (left, right) = (reduced(forms(self)), reduced(forms(other)));
        let seats =
            |side: &[Form<'_>]| side.iter().map(|form| form.teams.len().saturating_add(1)).sum::<usize>();
        let pairs = left.len().saturating_mul(right.len());
        let all =
            seats(&left).saturating_mul(right.len()).saturating_add(seats(&right).saturating_mul(left.len()));
        let joined = if left == right || pairs == 0 {
            if left.is_empty() { left } else { right }
        } else if pairs > ALTERNATIVES || all > SEATS {
            merged(left.iter().chain(&right))
        } else {
            reduced(left.iter().flat_map(|one| right.iter().map(|other| one.join(other))).collect())
        };
        written(joined, four_eyes, step_up)
    }
}

/// One alternative: people by team, and how many people in all, those of any team included.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Form<'n> {
    teams: BTreeMap<&'n str, u32>,
    total: u32,
}

impl<'n> Form<'n> {
    fn of(alternative: &'n AllOf) -> Self {
        let mut form = Self { teams: BTreeMap::new(), total: 0 };
        for seat in &alternative.all {
            form.total = form.total.saturating_add(seat.people);
            if let Some(team) = &seat.team {
                let people = form.teams.entry(team).or_default();
                *people = people.saturating_add(seat.people);
            }
        }
        form
    }

    /// The fewest people who fill both. One person can fill a seat of each side, so numbers are maxima, not sums.
    fn join(&self, other: &Self) -> Self {
        let mut teams = self.teams.clone();
        for (team, people) in &other.teams {
            let most = teams.entry(team).or_default();
            *most = (*most).max(*people);
        }
        let seated = teams.values().fold(0_u32, |sum, people| sum.saturating_add(*people));
        Self { teams, total: seated.max(self.total).max(other.total) }
    }

    /// Whether people who fill this always fill the other.
    fn covers(&self, other: &Self) -> bool {
        self.total >= other.total
            && other
                .teams
                .iter()
                .all(|(team, people)| self.teams.get(team).is_some_and(|mine| mine >= people))
    }

    fn seats(&self) -> AllOf {
        let seated = self.teams.values().fold(0_u32, |sum, people| sum.saturating_add(*people));
        let mut all: Vec<Seat> = self
            .teams
            .iter()
            .map(|(team, people)| Seat { people: *people, team: Some((*team).to_owned()) })
            .collect();
        if self.total > seated {
            all.push(Seat { people: self.total.saturating_sub(seated), team: None });
        }
        AllOf { all }
    }
}

fn forms(needs: &Needs) -> Vec<Form<'_>> {
    needs.any.iter().map(Form::of).collect()
}

fn written(forms: Vec<Form<'_>>, four_eyes: bool, step_up: Option<String>) -> Needs {
    Needs { any: forms.iter().map(Form::seats).collect(), four_eyes, step_up }
}

/// The one alternative that meets every alternative. None when it would be too long.
fn merged<'f, 'n: 'f>(forms: impl Iterator<Item = &'f Form<'n>>) -> Vec<Form<'n>> {
    let mut sum: Option<Form<'n>> = None;
    for form in forms {
        let next = sum.as_ref().map_or_else(|| form.clone(), |sum| sum.join(form));
        if next.teams.len() > SEATS {
            return Vec::new();
        }
        sum = Some(next);
    }
    sum.into_iter().collect()
}

/// Drops alternatives that need more than another one, and sorts the rest.
fn reduced(forms: Vec<Form<'_>>) -> Vec<Form<'_>> {
    if forms.len() < 2 {
        return forms;
    }
    let mut kept: Vec<Form<'_>> = Vec::with_capacity(forms.len());
    for form in forms {
        if kept.iter().any(|other| form.covers(other)) {
            continue;
        }
        kept.retain(|other| !other.covers(&form));
        kept.push(form);
    }
    kept.sort();
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

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
        Needs { any, four_eyes: false, step_up: None }
    }

    #[test]
    fn an_alternative_that_asks_for_more_than_another_goes() {
        let x_or_more = needs(&[&[(1, Some("x")), (1, None)], &[(1, Some("x"))], &[(2, Some("y"))]]);
        assert_eq!(x_or_more.normal(), needs(&[&[(1, Some("x"))], &[(2, Some("y"))]]));
        assert_eq!(needs(&[&[(1, None), (1, None)]]).normal(), needs(&[&[(2, None)]]));
    }

    #[test]
    fn a_join_meets_both_sides_and_no_more_than_it_must() {
        let x_or_y = needs(&[&[(1, Some("x"))], &[(1, Some("y"))]]);
        assert_eq!(
            x_or_y.join(&needs(&[&[(2, None)]])),
            needs(&[&[(1, Some("x")), (1, None)], &[(1, Some("y")), (1, None)]])
        );
        assert_eq!(x_or_y.join(&needs(&[&[(1, Some("x"))]])), needs(&[&[(1, Some("x"))]]));
        assert_eq!(x_or_y.join(&x_or_y), x_or_y);
        assert_eq!(x_or_y.join(&needs(&[])), needs(&[]), "what nobody can meet stays so");
    }

    #[test]
    fn too_many_alternatives_become_one_that_meets_them_all() {
        let teams: Vec<String> = (0..20).map(|team| format!("t{team}")).collect();
        let seats: Vec<[(u32, Option<&str>); 1]> =
            teams.iter().map(|team| [(1, Some(team.as_str()))]).collect();
        let (left, right): (Vec<_>, Vec<_>) = (
            seats[..10].iter().map(<[_; 1]>::as_slice).collect(),
            seats[10..].iter().map(<[_; 1]>::as_slice).collect(),
        );
        let joined = needs(&left).join(&needs(&right));
        assert_eq!((joined.any.len(), joined.any[0].all.len()), (1, 20));
    }

    /// One alternative for each size, of so many teams that no other alternative asks.
    fn sized(side: &str, sizes: &[usize]) -> Needs {
        let any = sizes
            .iter()
            .enumerate()
            .map(|(index, teams)| {
                let seat = |team| Seat { people: 1, team: Some(format!("{side}{index}-{team}")) };
                AllOf { all: (0..*teams).map(seat).collect() }
            })
            .collect();
        Needs { any, four_eyes: false, step_up: None }
    }

    /// How many alternatives a join has, and how many seats the first of them.
    fn size(left: &[usize], right: &[usize]) -> (usize, usize) {
        let joined = sized("l", left).join(&sized("r", right));
        (joined.any.len(), joined.any.first().map_or(0, |first| first.all.len()))
    }

    #[test]
    fn a_join_is_exact_up_to_its_limits_and_one_alternative_beyond() {
        assert_eq!(size(&[1; 4], &[1; 8]), (ALTERNATIVES, 2), "32 pairs");
        assert_eq!(size(&[1; 3], &[1; 11]), (1, 14), "33 pairs");
        // Each alternative counts its teams and one more, once for each alternative of the other side.
        assert_eq!(size(&[63, 63], &[63]), (2, 126), "256 seats");
        assert_eq!(size(&[63, 64], &[63]), (1, 190), "257 seats");
        assert_eq!(size(&[255], &[1]), (1, SEATS), "one alternative of 256 seats");
        assert_eq!(size(&[256], &[1]), (0, 0), "257 seats in one: nobody can meet it");
    }
}

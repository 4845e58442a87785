//! The needs of several rules together.

use placet_core::Needs;

/// So many different needs are joined for one call; with more, nobody can meet them.
const DIFFERENT: usize = 32;

/// What critical calls always need.
const CODE: &str = "code";

/// What meets all of them.
pub(crate) fn join_all<'n>(all: impl Iterator<Item = &'n Needs>) -> Option<Needs> {
    let mut different: Vec<&Needs> = Vec::new();
    for needs in all {
        if different.contains(&needs) {
            continue;
        }
        if different.len() >= DIFFERENT {
            return different.first().map(|first| Needs { any: Vec::new(), ..(*first).clone() });
        }
        different.push(needs);
    }
    let (first, others) = different.split_first()?;
    Some(others.iter().fold((*first).clone(), |sum, needs| sum.join(needs)))
}

/// Every approving vote must carry a code from here on.
pub(crate) fn step_up(needs: &mut Needs) {
    needs.step_up.get_or_insert_with(|| CODE.to_owned());
}

#[cfg(test)]
mod tests {
    use placet_core::{AllOf, Seat};

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
    fn more_different_needs_than_can_be_joined_can_be_met_by_nobody() {
        let all: Vec<Needs> = (1..100).map(|people| needs(&[&[(people, None)]])).collect();
        assert_eq!(join_all(all.iter()).unwrap().any, []);
        assert_eq!(join_all(all[..5].iter()).unwrap(), needs(&[&[(5, None)]]));
        assert_eq!(join_all(std::iter::repeat_n(&all[0], 1_000)).unwrap(), all[0]);
    }
}

//! The budget of one evaluation: what a call may cost, whatever the rules and whatever the arguments.

use std::{cell::Cell, cell::RefCell, fmt, rc::Rc};

use serde_json::Value;

use crate::{
    Place,
    shell::{self, Analysis},
};

/// In units of about two nanoseconds: a byte read by a pattern is one, an element visited or a step of a condition many.
const BUDGET: u32 = 200_000;

/// Why a matcher could not tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Trouble {
    /// Nothing stands at the path.
    Missing,
    /// Another type of value was expected.
    Type(&'static str),
    /// `[*]` over a list without elements.
    EmptyList,
    /// A list that is too long to look at one by one.
    LongList,
    /// Something in the value may mean other things elsewhere, such as `..` in a path.
    Doubtful(&'static str),
    /// Arithmetic that has no result.
    Arithmetic(&'static str),
    /// Nobody resolved where the call happens, or no folder was opened to the agent.
    Unplaced,
    /// The whole evaluation took too much work.
    Work,
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing => f.write_str("it is missing"),
            Self::Type(expected) => write!(f, "it is not {expected}"),
            Self::EmptyList => f.write_str("the list is empty"),
            Self::LongList => {
                write!(f, "the list has more than {} elements", crate::condition::LIST_ELEMENTS)
            }
            Self::Doubtful(why) | Self::Arithmetic(why) => f.write_str(why),
            Self::Unplaced => f.write_str("it is not known to happen in the agent's folders"),
            Self::Work => f.write_str("it takes too much work to evaluate"),
        }
    }
}

/// Yes, no, or could not tell. No is stronger than could-not-tell where all must agree, yes where one is enough.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tri {
    Yes,
    No,
    Error(Trouble),
}

impl Tri {
    pub(crate) const fn of(yes: bool) -> Self {
        if yes { Self::Yes } else { Self::No }
    }

    pub(crate) const fn not(self) -> Self {
        match self {
            Self::Yes => Self::No,
            Self::No => Self::Yes,
            Self::Error(trouble) => Self::Error(trouble),
        }
    }

    pub(crate) fn from_result(result: Result<bool, Trouble>) -> Self {
        result.map_or_else(Self::Error, Self::of)
    }

    /// All must say yes.
    pub(crate) fn every(all: impl Iterator<Item = Self>) -> Self {
        let mut sum = Self::Yes;
        for one in all {
            match one {
                Self::No => return Self::No,
                Self::Error(_) if sum == Self::Yes => sum = one,
                _ => {}
            }
        }
        sum
    }
}

/// What one evaluation has left, and what it need not compute twice.
pub(crate) struct WorkBudget<'a> {
    left: Cell<u32>,
    analyses: RefCell<Vec<(&'a Value, Rc<Analysis>)>>,
    place: Option<Place<'a>>,
}

impl<'a> WorkBudget<'a> {
    pub(crate) const fn new() -> Self {
        Self { left: Cell::new(BUDGET), analyses: RefCell::new(Vec::new()), place: None }
    }

    /// For a call that happens there.
    pub(crate) fn at(place: Option<Place<'a>>) -> Self {
        Self { place, ..Self::new() }
    }

    /// Where the call happens.
    pub(crate) const fn place(&self) -> Option<Place<'a>> {
        self.place
    }

    /// Takes so much from the budget. Once it is gone, it stays gone: every later matcher errs.
    pub(crate) fn spend(&self, amount: usize) -> Result<(), Trouble> {
        let amount = u32::try_from(amount).unwrap_or(u32::MAX);
        if let Some(left) = self.left.get().checked_sub(amount) {
            self.left.set(left);
            Ok(())
        } else {
            self.left.set(0);
            Err(Trouble::Work)
        }
    }

    /// The analysis of a command line, or of a list of words, made at most once per evaluation.
    pub(crate) fn analysis(&self, value: &'a Value) -> Result<Rc<Analysis>, Trouble> {
        self.spend(20)?;
        let known = self
            .analyses
            .borrow()
            .iter()
            .find(|(key, _)| std::ptr::eq(*key, value))
            .map(|(_, made)| Rc::clone(made));
        if let Some(known) = known {
            return Ok(known);
        }
        let expected = Trouble::Type("a command: a text or a list of words");
        let made = match value {
            Value::String(text) => {
                self.spend(text.len().saturating_mul(20))?;
                shell::analyse(text)
            }
            Value::Array(words) => {
                self.spend(words.len().saturating_mul(20))?;
                let words: Vec<&str> =
                    words.iter().map(|word| word.as_str().ok_or(expected)).collect::<Result<_, _>>()?;
                self.spend(words.iter().map(|word| word.len().saturating_mul(20)).sum())?;
                shell::analyse_argv(&words)
            }
            _ => return Err(expected),
        };
        let made = Rc::new(made);
        self.analyses.borrow_mut().push((value, Rc::clone(&made)));
        Ok(made)
    }
}

#[cfg(test)]
impl WorkBudget<'_> {
    /// What was spent so far.
    pub(crate) fn spent(&self) -> u32 {
        BUDGET - self.left.get()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_keeps_the_first_error_and_a_no_beats_it() {
        let first = Tri::Error(Trouble::Missing);
        let second = Tri::Error(Trouble::EmptyList);
        assert_eq!(Tri::every([Tri::Yes, first, second, Tri::Yes].into_iter()), first);
        assert_eq!(Tri::every([first, Tri::No, second].into_iter()), Tri::No);
        assert_eq!(Tri::every([Tri::Yes, Tri::Yes].into_iter()), Tri::Yes);
        assert_eq!(Tri::every(std::iter::empty()), Tri::Yes);
    }

    #[test]
    fn the_budget_is_spent_to_the_last_unit_and_then_gone() {
        let work = WorkBudget::new();
        assert_eq!(work.spend(BUDGET as usize - 1), Ok(()));
        assert_eq!(work.spend(1), Ok(()));
        assert_eq!(work.spend(1), Err(Trouble::Work));
        let work = WorkBudget::new();
        assert_eq!(work.spend(BUDGET as usize + 1), Err(Trouble::Work));
        assert_eq!(work.spend(1), Err(Trouble::Work), "a cost that did not fit ends the evaluation");
        assert_eq!(WorkBudget::new().spend(usize::MAX), Err(Trouble::Work));
    }

    #[test]
    fn a_command_is_read_once() {
        let value = Value::String("git log".to_owned());
        let work = WorkBudget::new();
        let first = work.analysis(&value).unwrap();
        let once = work.spent();
        assert!(Rc::ptr_eq(&first, &work.analysis(&value).unwrap()));
        assert_eq!((once, work.spent()), (20 + 7 * 20, 20 + 7 * 20 + 20));
        let same_text = value.clone();
        assert!(!Rc::ptr_eq(&first, &work.analysis(&same_text).unwrap()), "another value is read on its own");
    }
}

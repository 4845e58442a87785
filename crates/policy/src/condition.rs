//! Conditions of rules: a small, bounded part of CEL, for what matchers cannot say.
//!
//! Why not the `cel` crate: it copies the arguments into values of its own before it starts (10,000 nodes cost more than
//! the whole budget of an evaluation), has no cost limit, and recurses over its own tree as deep as the rule's author
//! wrote it. This evaluator borrows the arguments as they are, takes every step from the evaluation's budget, and
//! walks trees that the admission check has already bounded. The crate stays as a witness in the tests: wherever both
//! give a value it is the same, and what the crate calls an error is never true here.
//!
//! Stricter than CEL on purpose: comparing values of different types is an error and not `false`, because arguments are
//! chosen by agents and an error makes a rule that restricts apply.

mod eval;
mod lex;
mod parse;
mod value;

use placet_core::Time;
use serde_json::{Map, Value};

use crate::{
    pattern::Pattern,
    work::{Tri, Trouble, WorkBudget},
};

/// Longest source, in bytes.
pub(crate) const SOURCE: usize = 1024;
/// Most nodes.
pub(crate) const NODES: usize = 200;
/// Deepest nesting.
pub(crate) const DEPTH: usize = 16;
/// Longest list a comprehension goes through.
pub(crate) const LIST_ELEMENTS: usize = 256;

/// The names a condition may begin with, and what they are.
pub(crate) const ROOTS: &[(&str, &str)] = &[
    ("args", "the arguments of the call"),
    ("tool", "the tool's name"),
    ("agent", "the authenticated agent"),
    ("source", "the door of the request, such as `rest`"),
    ("time", "when the request was made; a timestamp"),
    ("session", "the agent's session: a claim, so not in allow rules"),
    ("lineage", "the chain of agents, a list of texts: a claim, so not in allow rules"),
];

/// The functions a condition may call, and what they do.
pub(crate) const FUNCTIONS: &[(&str, &str)] = &[
    ("has(x.key)", "whether the key is there"),
    ("size(x), x.size()", "characters of a text, elements of a list, keys of a map"),
    ("text.contains(t), text.startsWith(t), text.endsWith(t)", "plain text comparison"),
    ("text.matches('…')", "a regular expression, written as a literal; anchor it in allow rules"),
    (
        "list.all(v, c), list.exists(v, c), list.exists_one(v, c)",
        "a condition on the elements; also over the keys of a map",
    ),
    ("list.filter(v, c), list.map(v, e)", "the elements that match; a value for each"),
    ("int(x), double(x), string(x)", "conversion; arithmetic does not mix whole numbers and others"),
    ("timestamp('…')", "a literal point in time, RFC 3339"),
    (
        "time.getFullYear(), getMonth(), getDate(), getDayOfMonth(), getDayOfWeek(), getHours(), getMinutes(), getSeconds()",
        "parts of a timestamp in UTC, or at a fixed offset such as `getHours('+02:00')`; months, days of the month and of the week count from 0, getDate from 1, Sunday is 0",
    ),
];

/// A condition that was admitted.
#[derive(Debug)]
pub(crate) struct Condition {
    tree: Expr,
    uses: Uses,
}

/// What a condition looks at.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Uses {
    /// `args` or `tool`: it is about calls.
    pub(crate) call: bool,
    /// `session` or `lineage`: it is about claims.
    pub(crate) claims: bool,
    /// A pattern that is not anchored at both ends.
    pub(crate) loose_pattern: bool,
    /// Memory of its patterns, in bytes.
    pub(crate) patterns: usize,
}

/// Why a condition was not admitted.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Refused {
    /// Byte offset in the source.
    pub(crate) at: usize,
    pub(crate) message: String,
    pub(crate) fix: String,
}

/// What a condition is evaluated on.
#[derive(Clone, Copy)]
pub(crate) struct Scope<'a> {
    pub(crate) arguments: &'a Map<String, Value>,
    pub(crate) tool: &'a str,
    pub(crate) agent: &'a str,
    pub(crate) source: &'a str,
    pub(crate) time: Time,
    pub(crate) session: &'a str,
    pub(crate) lineage: Option<&'a Value>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Root {
    Args,
    Tool,
    Agent,
    Source,
    Time,
    Session,
    Lineage,
}

#[derive(Debug)]
enum Expr {
    Null,
    Bool(bool),
    Int(i64),
    Double(f64),
    Text(Box<str>),
    Time(i64),
    Root(Root),
    /// The variable of the comprehension around it.
    Variable,
    Field(Box<Expr>, Box<str>),
    Has(Box<Expr>, Box<str>),
    Index(Box<Expr>, Box<Expr>),
    List(Vec<Expr>),
    And(Vec<Expr>),
    Or(Vec<Expr>),
    Not(Box<Expr>),
    Negate(Box<Expr>),
    Choose(Box<[Expr; 3]>),
    Compare(Compare, Box<[Expr; 2]>),
    Arithmetic(Arithmetic, Box<[Expr; 2]>),
    In(Box<[Expr; 2]>),
    Size(Box<Expr>),
    Text2(TextTest, Box<[Expr; 2]>),
    Matches(Box<Expr>, Box<Pattern>),
    Convert(Convert, Box<Expr>),
    /// A part of a timestamp, at an offset in minutes.
    Part(Part, Box<Expr>, i32),
    Each(Comprehension, Box<[Expr; 2]>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Compare {
    Equal,
    Unequal,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Arithmetic {
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TextTest {
    Contains,
    StartsWith,
    EndsWith,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Convert {
    Int,
    Double,
    Text,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    FullYear,
    Month,
    Date,
    DayOfMonth,
    DayOfWeek,
    Hours,
    Minutes,
    Seconds,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Comprehension {
    All,
    Exists,
    ExistsOne,
    Filter,
    Map,
}

impl Condition {
    /// Admits a condition, or says why not.
    pub(crate) fn new(source: &str) -> Result<Self, Refused> {
        if source.len() > SOURCE {
            return Err(Refused {
                at: 0,
                message: format!("the condition is longer than {SOURCE} bytes"),
                fix: "split it into several rules, or use matchers".to_owned(),
            });
        }
        let (tree, uses) = parse::parse(source)?;
        Ok(Self { tree, uses })
    }

    pub(crate) const fn uses(&self) -> Uses {
        self.uses
    }

    /// Whether it holds. Anything but a truth value is an error.
    pub(crate) fn test<'a>(&'a self, scope: &Scope<'a>, work: &WorkBudget<'a>) -> Tri {
        match eval::run(&self.tree, scope, work) {
            Ok(value::Val::Bool(yes)) => Tri::of(yes),
            Ok(_) => Tri::Error(Trouble::Type("a truth value")),
            Err(trouble) => Tri::Error(trouble),
        }
    }
}

#[cfg(test)]
mod boundaries;
#[cfg(test)]
mod tests;

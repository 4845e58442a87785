//! Values of conditions: JSON as it lies in the arguments, borrowed, and what is computed from it.

use std::{borrow::Cow, cmp::Ordering};

use serde_json::{Map, Value};

use super::LIST_ELEMENTS;
use crate::work::{Trouble, WorkBudget};

#[derive(Debug, Clone)]
pub(super) enum Val<'a> {
    Null,
    Bool(bool),
    Int(i64),
    Double(f64),
    Text(Cow<'a, str>),
    /// Microseconds since 1970.
    Time(i64),
    Array(&'a [Value]),
    Object(&'a Map<String, Value>),
    List(Vec<Val<'a>>),
}

impl<'a> From<&'a Value> for Val<'a> {
    fn from(value: &'a Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Bool(is) => Self::Bool(*is),
            Value::Number(number) => {
                number.as_i64().map_or_else(|| Self::Double(number.as_f64().unwrap_or(f64::NAN)), Self::Int)
            }
            Value::String(text) => Self::Text(Cow::Borrowed(text)),
            Value::Array(list) => Self::Array(list),
            Value::Object(map) => Self::Object(map),
        }
    }
}

impl Val<'_> {
    pub(super) fn text(&self) -> Result<&str, Trouble> {
        match self {
            Self::Text(text) => Ok(text),
            _ => Err(Trouble::Type("a text")),
        }
    }

    pub(super) fn bool(&self) -> Result<bool, Trouble> {
        match self {
            Self::Bool(is) => Ok(*is),
            _ => Err(Trouble::Type("a truth value")),
        }
    }

    pub(super) fn size(&self, work: &WorkBudget<'_>) -> Result<usize, Trouble> {
        match self {
            Self::Text(text) => {
                work.spend(text.len() / 8)?;
                Ok(text.chars().count())
            }
            Self::Array(list) => Ok(list.len()),
            Self::Object(map) => Ok(map.len()),
            Self::List(list) => Ok(list.len()),
            _ => Err(Trouble::Type("a text, a list or a map")),
        }
    }

    pub(super) fn field(&self, key: &str) -> Result<Self, Trouble> {
        match self {
            Self::Object(map) => map.get(key).map(Into::into).ok_or(Trouble::Missing),
            _ => Err(Trouble::Type("a map")),
        }
    }

    pub(super) fn index(&self, index: &Self) -> Result<Self, Trouble> {
        let place = |index: &Self| match index {
            Self::Int(index) => usize::try_from(*index).map_err(|_| Trouble::Missing),
            _ => Err(Trouble::Type("a whole number")),
        };
        match self {
            Self::Object(map) => map.get(index.text()?).map(Into::into).ok_or(Trouble::Missing),
            Self::Array(list) => list.get(place(index)?).map(Into::into).ok_or(Trouble::Missing),
            Self::List(list) => list.get(place(index)?).cloned().ok_or(Trouble::Missing),
            _ => Err(Trouble::Type("a list or a map")),
        }
    }

    /// What a comprehension goes through: the elements of a list, the keys of a map.
    pub(super) fn elements(&self) -> Result<Vec<Self>, Trouble> {
        let count = match self {
            Self::Array(list) => list.len(),
            Self::List(list) => list.len(),
            Self::Object(map) => map.len(),
            _ => return Err(Trouble::Type("a list or a map")),
        };
        if count > LIST_ELEMENTS {
            return Err(Trouble::LongList);
        }
        Ok(match self {
            Self::Array(list) => list.iter().map(Into::into).collect(),
            Self::Object(map) => map.keys().map(|key| Self::Text(Cow::Borrowed(key.as_str()))).collect(),
            Self::List(list) => list.clone(),
            _ => Vec::new(),
        })
    }

    /// Whether two values are the same. Different types are an error; `null` may be compared with anything.
    pub(super) fn equal(&self, other: &Self, work: &WorkBudget<'_>) -> Result<bool, Trouble> {
        work.spend(20)?;
        match (self, other) {
            (Self::Null, Self::Null) => Ok(true),
            (Self::Null, _) | (_, Self::Null) => Ok(false),
            (Self::Bool(left), Self::Bool(right)) => Ok(left == right),
            (Self::Text(left), Self::Text(right)) => {
                work.spend(left.len().min(right.len()) / 16)?;
                Ok(left == right)
            }
            (Self::Time(left), Self::Time(right)) => Ok(left == right),
            (Self::Int(_) | Self::Double(_), Self::Int(_) | Self::Double(_)) => {
                Ok(self.compare(other)? == Some(Ordering::Equal))
            }
            (Self::Object(left), Self::Object(right)) => objects(left, right, work),
            (Self::Array(left), Self::Array(right)) => arrays(left, right, work),
            (Self::Array(_) | Self::List(_), Self::Array(_) | Self::List(_)) => {
                if self.size(work)? != other.size(work)? {
                    return Ok(false);
                }
                all(self.iter().zip(other.iter()).map(|(left, right)| left.equal(&right, work)))
            }
            _ => Err(Trouble::Type("of the type it is compared with")),
        }
    }

    fn iter(&self) -> Box<dyn Iterator<Item = Self> + '_> {
        match self {
            Self::Array(list) => Box::new(list.iter().map(Into::into)),
            Self::List(list) => Box::new(list.iter().cloned()),
            _ => Box::new(std::iter::empty()),
        }
    }

    /// Which comes first; nothing for not-a-number.
    pub(super) fn compare(&self, other: &Self) -> Result<Option<Ordering>, Trouble> {
        match (self, other) {
            (Self::Int(left), Self::Int(right)) | (Self::Time(left), Self::Time(right)) => {
                Ok(Some(left.cmp(right)))
            }
            (Self::Double(left), Self::Double(right)) => Ok(left.partial_cmp(right)),
            (Self::Int(left), Self::Double(right)) => Ok(int_double(*left, *right)),
            (Self::Double(left), Self::Int(right)) => Ok(int_double(*right, *left).map(Ordering::reverse)),
            (Self::Text(left), Self::Text(right)) => Ok(Some(left.cmp(right))),
            (Self::Bool(left), Self::Bool(right)) => Ok(Some(left.cmp(right))),
            _ => Err(Trouble::Type("of the type it is compared with")),
        }
    }

    /// Whether the list has an element equal to this, or the map a key.
    pub(super) fn within(&self, list: &Self, work: &WorkBudget<'_>) -> Result<bool, Trouble> {
        match list {
            Self::Object(map) => Ok(map.contains_key(self.text()?)),
            Self::Array(_) | Self::List(_) => self.among(list.iter().map(Ok), work),
            _ => Err(Trouble::Type("a list or a map")),
        }
    }

    /// One equal element decides; otherwise there must have been one of the same type to be different from.
    pub(super) fn among(
        &self,
        list: impl Iterator<Item = Result<Self, Trouble>>,
        work: &WorkBudget<'_>,
    ) -> Result<bool, Trouble> {
        let (mut trouble, mut comparable, mut empty) = (None, false, true);
        for element in list {
            empty = false;
            match self.equal(&element?, work) {
                Ok(true) => return Ok(true),
                Ok(false) => comparable = true,
                Err(error @ Trouble::Type(_)) => trouble = trouble.or(Some(error)),
                Err(error) => return Err(error),
            }
        }
        if comparable || empty { Ok(false) } else { trouble.map_or(Ok(false), Err) }
    }
}

/// As [`Val::equal`], over JSON as it lies there.
fn same(left: &Value, right: &Value, work: &WorkBudget<'_>) -> Result<bool, Trouble> {
    work.spend(8)?;
    match (left, right) {
        (Value::Null, other) | (other, Value::Null) => Ok(other.is_null()),
        (Value::Bool(left), Value::Bool(right)) => Ok(left == right),
        (Value::String(left), Value::String(right)) => {
            work.spend(left.len().min(right.len()) / 16)?;
            Ok(left == right)
        }
        (Value::Number(_), Value::Number(_)) => {
            Ok(Val::from(left).compare(&Val::from(right))? == Some(Ordering::Equal))
        }
        (Value::Array(left), Value::Array(right)) => arrays(left, right, work),
        (Value::Object(left), Value::Object(right)) => objects(left, right, work),
        _ => Err(Trouble::Type("of the type it is compared with")),
    }
}

fn arrays(left: &[Value], right: &[Value], work: &WorkBudget<'_>) -> Result<bool, Trouble> {
    if left.len() != right.len() {
        return Ok(false);
    }
    all(left.iter().zip(right).map(|(left, right)| same(left, right, work)))
}

fn objects(
    left: &Map<String, Value>,
    right: &Map<String, Value>,
    work: &WorkBudget<'_>,
) -> Result<bool, Trouble> {
    if left.len() != right.len() {
        return Ok(false);
    }
    // Looking up a key costs more than comparing an element.
    work.spend(left.len().saturating_mul(40))?;
    if left.keys().any(|key| !right.contains_key(key)) {
        return Ok(false);
    }
    all(left.iter().filter_map(|(key, value)| Some(same(value, right.get(key)?, work))))
}

/// A difference anywhere decides; an error only where there is none.
fn all(parts: impl Iterator<Item = Result<bool, Trouble>>) -> Result<bool, Trouble> {
    let mut trouble = None;
    for part in parts {
        match part {
            Ok(true) => {}
            Ok(false) => return Ok(false),
            Err(error) => trouble = Some(error),
        }
    }
    trouble.map_or(Ok(true), Err)
}

/// Exact: a whole number beyond 2^53 is not rounded first.
#[expect(clippy::cast_possible_truncation, reason = "the bounds are checked right before")]
fn int_double(int: i64, double: f64) -> Option<Ordering> {
    const LIMIT: f64 = 9_223_372_036_854_775_808.0;
    if double.is_nan() {
        return None;
    }
    if double >= LIMIT {
        return Some(Ordering::Less);
    }
    if double < -LIMIT {
        return Some(Ordering::Greater);
    }
    let whole = double.trunc();
    Some(int.cmp(&(whole as i64)).then_with(|| {
        // The whole parts are equal: the fraction decides.
        0.0_f64.partial_cmp(&(double - whole)).unwrap_or(Ordering::Equal)
    }))
}

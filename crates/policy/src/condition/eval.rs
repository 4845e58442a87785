//! Evaluates an admitted condition; every step is paid for from the evaluation's budget.

use std::{borrow::Cow, cmp::Ordering};

use super::{Arithmetic, Compare, Comprehension, Convert, Expr, Part, Root, Scope, TextTest, value::Val};
use crate::work::{Trouble, WorkBudget};

type Result<T> = std::result::Result<T, Trouble>;

pub(super) fn run<'a>(tree: &'a Expr, scope: &Scope<'a>, work: &WorkBudget<'a>) -> Result<Val<'a>> {
    Machine { scope, work }.eval(tree, None)
}

struct Machine<'m, 'a> {
    scope: &'m Scope<'a>,
    work: &'m WorkBudget<'a>,
}

impl<'a> Machine<'_, 'a> {
    fn eval(&self, expr: &'a Expr, variable: Option<&Val<'a>>) -> Result<Val<'a>> {
        self.work.spend(15)?;
        let eval = |expr| self.eval(expr, variable);
        Ok(match expr {
            Expr::Null => Val::Null,
            Expr::Bool(is) => Val::Bool(*is),
            Expr::Int(number) => Val::Int(*number),
            Expr::Double(number) => Val::Double(*number),
            Expr::Text(text) => Val::Text(Cow::Borrowed(text)),
            Expr::Time(micros) => Val::Time(*micros),
            Expr::Root(root) => self.root(*root),
            Expr::Variable => variable.cloned().ok_or(Trouble::Missing)?,
            Expr::Field(of, key) => eval(of)?.field(key)?,
            Expr::Has(of, key) => match eval(of)? {
                Val::Object(map) => Val::Bool(map.contains_key(&**key)),
                _ => return Err(Trouble::Type("a map")),
            },
            Expr::Index(of, index) => eval(of)?.index(&eval(index)?)?,
            Expr::List(items) => Val::List(items.iter().map(eval).collect::<Result<_>>()?),
            Expr::And(parts) => Val::Bool(absorb(parts.iter().map(eval), false)?),
            Expr::Or(parts) => Val::Bool(absorb(parts.iter().map(eval), true)?),
            Expr::Not(inner) => Val::Bool(!eval(inner)?.bool()?),
            Expr::Negate(inner) => match eval(inner)? {
                Val::Int(number) => Val::Int(number.checked_neg().ok_or(OVERFLOW)?),
                Val::Double(number) => Val::Double(-number),
                _ => return Err(Trouble::Type("a number")),
            },
            Expr::Choose(parts) => {
                let [condition, yes, no] = &**parts;
                if eval(condition)?.bool()? { eval(yes)? } else { eval(no)? }
            }
            Expr::Compare(compare, pair) => {
                let [left, right] = &**pair;
                Val::Bool(self.compare(*compare, &eval(left)?, &eval(right)?)?)
            }
            Expr::Arithmetic(sign, pair) => {
                let [left, right] = &**pair;
                self.arithmetic(*sign, eval(left)?, eval(right)?)?
            }
            Expr::In(pair) => {
                let [value, list] = &**pair;
                let value = eval(value)?;
                // A list written in the rule is compared as it stands, without making a list of it.
                Val::Bool(match list {
                    Expr::List(items) => value.among(items.iter().map(eval), self.work)?,
                    list => value.within(&eval(list)?, self.work)?,
                })
            }
            Expr::Size(of) => Val::Int(i64::try_from(eval(of)?.size(self.work)?).map_err(|_| OVERFLOW)?),
            Expr::Text2(test, pair) => {
                let [text, wanted] = &**pair;
                let (text, wanted) = (eval(text)?, eval(wanted)?);
                let (text, wanted) = (text.text()?, wanted.text()?);
                self.work.spend(wanted.len() / 8)?;
                Val::Bool(match test {
                    TextTest::StartsWith => text.starts_with(wanted),
                    TextTest::EndsWith => text.ends_with(wanted),
                    TextTest::Contains => {
                        self.work.spend(text.len())?;
                        text.contains(wanted)
                    }
                })
            }
            Expr::Matches(of, pattern) => Val::Bool(pattern.matches(eval(of)?.text()?, self.work)?),
            Expr::Convert(to, of) => convert(*to, eval(of)?)?,
            Expr::Part(part, of, offset) => match eval(of)? {
                Val::Time(micros) => Val::Int(time_part(*part, micros, *offset)),
                _ => return Err(Trouble::Type("a timestamp")),
            },
            Expr::Each(kind, parts) => {
                let [list, body] = &**parts;
                self.each(*kind, &eval(list)?, body)?
            }
        })
    }

    fn root(&self, root: Root) -> Val<'a> {
        match root {
            Root::Args => Val::Object(self.scope.arguments),
            Root::Tool => Val::Text(Cow::Borrowed(self.scope.tool)),
            Root::Agent => Val::Text(Cow::Borrowed(self.scope.agent)),
            Root::Source => Val::Text(Cow::Borrowed(self.scope.source)),
            Root::Time => Val::Time(self.scope.time.micros()),
            Root::Session => Val::Text(Cow::Borrowed(self.scope.session)),
            Root::Lineage => match self.scope.lineage {
                Some(lineage) => lineage.into(),
                None => Val::List(Vec::new()),
            },
        }
    }

    fn compare(&self, compare: Compare, left: &Val<'a>, right: &Val<'a>) -> Result<bool> {
        match compare {
            Compare::Equal => return left.equal(right, self.work),
            Compare::Unequal => return Ok(!left.equal(right, self.work)?),
            _ => {}
        }
        if let (Val::Text(left), Val::Text(right)) = (left, right) {
            self.work.spend(left.len().min(right.len()) / 16)?;
        }
        let order = left.compare(right)?;
        Ok(match compare {
            Compare::Less => order == Some(Ordering::Less),
            Compare::LessOrEqual => matches!(order, Some(Ordering::Less | Ordering::Equal)),
            Compare::Greater => order == Some(Ordering::Greater),
            _ => matches!(order, Some(Ordering::Greater | Ordering::Equal)),
        })
    }

    fn arithmetic(&self, sign: Arithmetic, left: Val<'a>, right: Val<'a>) -> Result<Val<'a>> {
        match (left, right) {
            (Val::Int(left), Val::Int(right)) => {
                let zero = right == 0 && matches!(sign, Arithmetic::Divide | Arithmetic::Remainder);
                if zero {
                    return Err(Trouble::Arithmetic("it divides by zero"));
                }
                let result = match sign {
                    Arithmetic::Add => left.checked_add(right),
                    Arithmetic::Subtract => left.checked_sub(right),
                    Arithmetic::Multiply => left.checked_mul(right),
                    Arithmetic::Divide => left.checked_div(right),
                    Arithmetic::Remainder => left.checked_rem(right),
                };
                result.map(Val::Int).ok_or(OVERFLOW)
            }
            (Val::Double(left), Val::Double(right)) => Ok(Val::Double(match sign {
                Arithmetic::Add => left + right,
                Arithmetic::Subtract => left - right,
                Arithmetic::Multiply => left * right,
                Arithmetic::Divide => left / right,
                Arithmetic::Remainder => return Err(Trouble::Type("a whole number")),
            })),
            (Val::Text(left), Val::Text(right)) if sign == Arithmetic::Add => {
                self.work.spend(left.len().saturating_add(right.len()))?;
                Ok(Val::Text(Cow::Owned(format!("{left}{right}"))))
            }
            (Val::Int(_), Val::Double(_)) | (Val::Double(_), Val::Int(_)) => {
                Err(Trouble::Type("of one number type with the other side; convert with `double()`"))
            }
            _ => Err(Trouble::Type("of a type that has this arithmetic")),
        }
    }

    fn each(&self, kind: Comprehension, list: &Val<'a>, body: &'a Expr) -> Result<Val<'a>> {
        let elements = list.elements()?;
        self.work.spend(elements.len().saturating_mul(20))?;
        let mut said = elements.iter().map(|element| self.eval(body, Some(element)));
        Ok(match kind {
            Comprehension::All => Val::Bool(absorb(said, false)?),
            Comprehension::Exists => Val::Bool(absorb(said, true)?),
            Comprehension::ExistsOne => {
                let mut count = 0_usize;
                for one in said {
                    count = count.saturating_add(usize::from(one?.bool()?));
                }
                Val::Bool(count == 1)
            }
            Comprehension::Map => Val::List(said.collect::<Result<_>>()?),
            Comprehension::Filter => {
                let mut kept = Vec::new();
                for element in &elements {
                    if said.next().ok_or(Trouble::Missing)??.bool()? {
                        kept.push(element.clone());
                    }
                }
                Val::List(kept)
            }
        })
    }
}

const OVERFLOW: Trouble = Trouble::Arithmetic("a number does not fit");

/// `&&` (one false decides) and `||` (one true decides): an error counts only when nothing decided.
fn absorb<'a>(parts: impl Iterator<Item = Result<Val<'a>>>, decisive: bool) -> Result<bool> {
    let mut trouble = None;
    for part in parts {
        match part.and_then(|value| value.bool()) {
            Ok(is) if is == decisive => return Ok(decisive),
            Ok(_) => {}
            Err(error) => trouble = trouble.or(Some(error)),
        }
    }
    trouble.map_or(Ok(!decisive), Err)
}

#[expect(clippy::cast_possible_truncation, reason = "the bounds are checked right before")]
fn convert(to: Convert, value: Val<'_>) -> Result<Val<'_>> {
    let unfit = Trouble::Type("of a form that can be converted");
    Ok(match (to, value) {
        (Convert::Int, value @ Val::Int(_))
        | (Convert::Double, value @ Val::Double(_))
        | (Convert::Text, value @ Val::Text(_)) => value,
        (Convert::Int, Val::Double(number)) if number.abs() < 9.2e18 => Val::Int(number.trunc() as i64),
        (Convert::Int, Val::Text(text)) if text.len() <= 20 => Val::Int(text.parse().map_err(|_| unfit)?),
        (Convert::Double, Val::Int(number)) => Val::Double(number as f64),
        (Convert::Double, Val::Text(text)) if text.len() <= 64 => {
            Val::Double(text.parse().ok().filter(|number: &f64| number.is_finite()).ok_or(unfit)?)
        }
        (Convert::Text, Val::Int(number)) => Val::Text(Cow::Owned(number.to_string())),
        (Convert::Text, Val::Bool(is)) => Val::Text(Cow::Borrowed(if is { "true" } else { "false" })),
        _ => return Err(unfit),
    })
}

fn time_part(part: Part, micros: i64, offset: i32) -> i64 {
    let seconds = micros.div_euclid(1_000_000).saturating_add(i64::from(offset).saturating_mul(60));
    let (days, of_day) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    let date = || {
        jiff::civil::date(1970, 1, 1)
            .checked_add(jiff::Span::new().try_days(days).unwrap_or_default())
            .unwrap_or(jiff::civil::Date::MAX)
    };
    match part {
        Part::FullYear => i64::from(date().year()),
        Part::Month => i64::from(date().month()).saturating_sub(1),
        Part::Date => i64::from(date().day()),
        Part::DayOfMonth => i64::from(date().day()).saturating_sub(1),
        // 1970-01-01 was a Thursday.
        Part::DayOfWeek => days.saturating_add(4).rem_euclid(7),
        Part::Hours => of_day.div_euclid(3_600),
        Part::Minutes => of_day.div_euclid(60).rem_euclid(60),
        Part::Seconds => of_day.rem_euclid(60),
    }
}

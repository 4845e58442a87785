//! Reads a condition into a tree, and admits only what is listed, small and shallow.

use jiff::Timestamp;

use super::{
    Arithmetic, Compare, Comprehension, Convert, DEPTH, Expr, NODES, Part, Refused, Root, TextTest, Uses,
    lex::{Token, refused, tokens},
};
use crate::pattern::Pattern;

/// How deep the reader itself may go; trees are measured apart, because chains grow without recursion.
const NESTING: usize = 2 * DEPTH;

pub(super) fn parse(source: &str) -> Result<(Expr, Uses), Refused> {
    let mut parser = Parser {
        tokens: tokens(source)?,
        next: 0,
        nodes: 0,
        nesting: 0,
        variable: None,
        uses: Uses::default(),
    };
    let tree = parser.expression(0)?;
    let (at, token) = parser.peek();
    if token != Token::End {
        return Err(refused(
            at,
            format!("{} was not expected here", named(&token)),
            "join conditions with `&&` or `||`",
        ));
    }
    if tree.depth > DEPTH {
        return Err(too_deep(0));
    }
    Ok((tree.expr, parser.uses))
}

fn too_deep(at: usize) -> Refused {
    refused(
        at,
        format!("the condition is nested deeper than {DEPTH}"),
        "split it into several rules, or use matchers",
    )
}

struct Parser {
    tokens: Vec<(usize, Token)>,
    next: usize,
    nodes: usize,
    nesting: usize,
    /// The variable of the comprehension being read: there is at most one.
    variable: Option<String>,
    uses: Uses,
}

struct Node {
    expr: Expr,
    depth: usize,
}

/// How tightly signs between two values bind; larger is tighter.
const TERNARY: u8 = 1;
const UNARY: u8 = 7;

fn binding(token: &Token) -> Option<u8> {
    Some(match token {
        Token::Sign("?") => TERNARY,
        Token::Sign("||") => 2,
        Token::Sign("&&") => 3,
        Token::Sign("==" | "!=" | "<" | "<=" | ">" | ">=") => 4,
        Token::Name(name) if name == "in" => 4,
        Token::Sign("+" | "-") => 5,
        Token::Sign("*" | "/" | "%") => 6,
        _ => return None,
    })
}

fn named(token: &Token) -> String {
    match token {
        Token::Name(name) => format!("`{name}`"),
        Token::Int(_) | Token::Double(_) | Token::IntMinAbs => "a number".to_owned(),
        Token::Text(_) => "a text".to_owned(),
        Token::Sign(sign) => format!("`{sign}`"),
        Token::End => "the end of the condition".to_owned(),
    }
}

impl Parser {
    fn peek(&self) -> (usize, Token) {
        self.tokens.get(self.next).or(self.tokens.last()).cloned().unwrap_or((0, Token::End))
    }

    fn take(&mut self) -> (usize, Token) {
        let token = self.peek();
        self.next = self.next.saturating_add(1);
        token
    }

    fn eat(&mut self, sign: &str) -> bool {
        let is = matches!(self.peek().1, Token::Sign(next) if next == sign);
        if is {
            self.next = self.next.saturating_add(1);
        }
        is
    }

    fn expect(&mut self, sign: &str) -> Result<(), Refused> {
        let (at, token) = self.peek();
        if self.eat(sign) {
            return Ok(());
        }
        Err(refused(at, format!("`{sign}` was expected, not {}", named(&token)), format!("add `{sign}`")))
    }

    fn node(&mut self, expr: Expr, below: usize) -> Result<Node, Refused> {
        self.nodes = self.nodes.saturating_add(1);
        if self.nodes > NODES {
            return Err(refused(
                0,
                format!("the condition has more than {NODES} parts"),
                "split it into several rules, or use matchers",
            ));
        }
        Ok(Node { expr, depth: below.saturating_add(1) })
    }

    fn expression(&mut self, least: u8) -> Result<Node, Refused> {
        self.nesting = self.nesting.saturating_add(1);
        if self.nesting > NESTING {
            return Err(too_deep(self.peek().0));
        }
        let mut left = self.unary()?;
        loop {
            let (_, token) = self.peek();
            let Some(power) = binding(&token).filter(|power| *power > least) else { break };
            self.take();
            left = match &token {
                Token::Sign("?") => {
                    let yes = self.expression(TERNARY)?;
                    self.expect(":")?;
                    let no = self.expression(0)?;
                    let below = left.depth.max(yes.depth).max(no.depth);
                    self.node(Expr::Choose(Box::new([left.expr, yes.expr, no.expr])), below)?
                }
                Token::Sign(sign @ ("&&" | "||")) => self.chain(left, sign, power)?,
                token => {
                    let right = self.expression(power)?;
                    let below = left.depth.max(right.depth);
                    let pair = Box::new([left.expr, right.expr]);
                    self.node(binary(token, pair), below)?
                }
            };
        }
        self.nesting = self.nesting.saturating_sub(1);
        Ok(left)
    }

    /// `a && b && c` is one node, so that long lists of conditions are wide and not deep.
    fn chain(&mut self, first: Node, sign: &'static str, power: u8) -> Result<Node, Refused> {
        let mut depth = first.depth;
        let mut parts = vec![first.expr];
        loop {
            let part = self.expression(power)?;
            depth = depth.max(part.depth);
            parts.push(part.expr);
            if !self.eat(sign) {
                break;
            }
        }
        self.node(if sign == "&&" { Expr::And(parts) } else { Expr::Or(parts) }, depth)
    }

    fn unary(&mut self) -> Result<Node, Refused> {
        if self.eat("!") {
            let inner = self.expression(UNARY)?;
            return self.node(Expr::Not(Box::new(inner.expr)), inner.depth);
        }
        if self.eat("-") {
            let literal = match self.peek().1 {
                Token::Int(number) => Some(Expr::Int(number.saturating_neg())),
                Token::IntMinAbs => Some(Expr::Int(i64::MIN)),
                Token::Double(number) => Some(Expr::Double(-number)),
                _ => None,
            };
            if let Some(literal) = literal {
                self.take();
                let node = self.node(literal, 0)?;
                return self.members(node);
            }
            let inner = self.expression(UNARY)?;
            return self.node(Expr::Negate(Box::new(inner.expr)), inner.depth);
        }
        let node = self.primary()?;
        self.members(node)
    }

    fn members(&mut self, mut node: Node) -> Result<Node, Refused> {
        loop {
            if self.eat("[") {
                let index = self.expression(0)?;
                self.expect("]")?;
                let below = node.depth.max(index.depth);
                node = self.node(Expr::Index(Box::new(node.expr), Box::new(index.expr)), below)?;
            } else if self.eat(".") {
                let (at, token) = self.take();
                let Token::Name(name) = token else {
                    return Err(refused(
                        at,
                        format!("a name was expected after `.`, not {}", named(&token)),
                        "use `x['key']` for unusual keys",
                    ));
                };
                if self.eat("(") {
                    node = self.method(node, &name, at)?;
                } else {
                    let below = node.depth;
                    node = self.node(Expr::Field(Box::new(node.expr), name.into()), below)?;
                }
            } else {
                return Ok(node);
            }
        }
    }

    fn primary(&mut self) -> Result<Node, Refused> {
        let (at, token) = self.take();
        let expr = match token {
            Token::Int(number) => Expr::Int(number),
            Token::Double(number) => Expr::Double(number),
            Token::Text(text) => Expr::Text(text.into()),
            Token::Sign("(") => {
                let inner = self.expression(0)?;
                self.expect(")")?;
                return Ok(inner);
            }
            Token::Sign("[") => return self.list(),
            Token::Sign("{") => {
                return Err(refused(
                    at,
                    "maps cannot be written in a condition",
                    "compare the fields one by one",
                ));
            }
            Token::Name(name) => return self.name(&name, at),
            other => {
                let message = format!("a value was expected, not {}", named(&other));
                return Err(refused(at, message, "complete the condition, such as `args.amount > 1000.0`"));
            }
        };
        self.node(expr, 0)
    }

    fn list(&mut self) -> Result<Node, Refused> {
        let mut items = Vec::new();
        let mut depth = 0;
        while !self.eat("]") {
            let item = self.expression(0)?;
            depth = depth.max(item.depth);
            items.push(item.expr);
            if !self.eat(",") {
                self.expect("]")?;
                break;
            }
        }
        self.node(Expr::List(items), depth)
    }

    fn name(&mut self, name: &str, at: usize) -> Result<Node, Refused> {
        if self.eat("(") {
            return self.function(name, at);
        }
        if self.variable.as_deref() == Some(name) {
            return self.node(Expr::Variable, 0);
        }
        let expr = match name {
            "true" => Expr::Bool(true),
            "false" => Expr::Bool(false),
            "null" => Expr::Null,
            "args" | "tool" => {
                self.uses.call = true;
                Expr::Root(if name == "args" { Root::Args } else { Root::Tool })
            }
            "session" | "lineage" => {
                self.uses.claims = true;
                Expr::Root(if name == "session" { Root::Session } else { Root::Lineage })
            }
            "agent" => Expr::Root(Root::Agent),
            "source" => Expr::Root(Root::Source),
            "time" => Expr::Root(Root::Time),
            _ => {
                let roots: Vec<String> = super::ROOTS.iter().map(|(root, _)| format!("`{root}`")).collect();
                return Err(refused(
                    at,
                    format!("`{name}` is not known in a condition"),
                    format!("begin with one of {}", roots.join(", ")),
                ));
            }
        };
        self.node(expr, 0)
    }

    fn function(&mut self, name: &str, at: usize) -> Result<Node, Refused> {
        match name {
            "has" => {
                let inner = self.expression(0)?;
                self.expect(")")?;
                let Expr::Field(of, key) = inner.expr else {
                    return Err(refused(at, "`has` asks for a key", "write `has(args.key)`"));
                };
                self.node(Expr::Has(of, key), inner.depth)
            }
            "size" => {
                let inner = self.only_argument()?;
                self.node(Expr::Size(Box::new(inner.expr)), inner.depth)
            }
            "int" | "double" | "string" => {
                let inner = self.only_argument()?;
                let to = match name {
                    "int" => Convert::Int,
                    "double" => Convert::Double,
                    _ => Convert::Text,
                };
                self.node(Expr::Convert(to, Box::new(inner.expr)), inner.depth)
            }
            "timestamp" => {
                let time = self.literal("timestamp")?;
                self.expect(")")?;
                let micros = time.parse::<Timestamp>().map_err(|_| {
                    refused(
                        at,
                        format!("`{}` is not a point in time", time.escape_debug()),
                        "write it as `2026-01-31T18:00:00Z`",
                    )
                })?;
                self.node(Expr::Time(micros.as_microsecond()), 0)
            }
            _ => Err(unknown_function(name, at)),
        }
    }

    fn only_argument(&mut self) -> Result<Node, Refused> {
        let inner = self.expression(0)?;
        self.expect(")")?;
        Ok(inner)
    }

    fn literal(&mut self, name: &str) -> Result<String, Refused> {
        match self.take() {
            (_, Token::Text(text)) => Ok(text),
            (at, _) => {
                Err(refused(at, format!("`{name}` takes a literal text"), format!("write `{name}('…')`")))
            }
        }
    }

    fn method(&mut self, of: Node, name: &str, at: usize) -> Result<Node, Refused> {
        let comprehension = match name {
            "all" => Some(Comprehension::All),
            "exists" => Some(Comprehension::Exists),
            "exists_one" => Some(Comprehension::ExistsOne),
            "filter" => Some(Comprehension::Filter),
            "map" => Some(Comprehension::Map),
            _ => None,
        };
        if let Some(comprehension) = comprehension {
            return self.comprehension(of, comprehension, at);
        }
        if let Some(part) = part(name) {
            let offset = if self.eat(")") { 0 } else { self.offset(name)? };
            return self.node(Expr::Part(part, Box::new(of.expr), offset), of.depth);
        }
        match name {
            "size" => {
                self.expect(")")?;
                self.node(Expr::Size(Box::new(of.expr)), of.depth)
            }
            "matches" => {
                let pattern = self.literal("matches")?;
                self.expect(")")?;
                let pattern = Pattern::new(&pattern).map_err(|(message, fix)| refused(at, message, fix))?;
                self.uses.loose_pattern |= !pattern.anchored();
                self.uses.patterns = self.uses.patterns.saturating_add(pattern.size());
                self.node(Expr::Matches(Box::new(of.expr), Box::new(pattern)), of.depth)
            }
            "contains" | "startsWith" | "endsWith" => {
                let inner = self.only_argument()?;
                let test = match name {
                    "contains" => TextTest::Contains,
                    "startsWith" => TextTest::StartsWith,
                    _ => TextTest::EndsWith,
                };
                let below = of.depth.max(inner.depth);
                self.node(Expr::Text2(test, Box::new([of.expr, inner.expr])), below)
            }
            _ => Err(unknown_function(name, at)),
        }
    }

    fn offset(&mut self, name: &str) -> Result<i32, Refused> {
        let at = self.peek().0;
        let text = self.literal(name)?;
        self.expect(")")?;
        let minutes = |text: &str| {
            let (sign, rest) = text
                .strip_prefix('+')
                .map(|rest| (1, rest))
                .or_else(|| text.strip_prefix('-').map(|rest| (-1, rest)))?;
            let (hours, minutes) = rest.split_once(':')?;
            if hours.len() != 2
                || minutes.len() != 2
                || rest.bytes().any(|byte| byte != b':' && !byte.is_ascii_digit())
            {
                return None;
            }
            let (hours, minutes): (i32, i32) = (hours.parse().ok()?, minutes.parse().ok()?);
            (hours <= 14 && minutes < 60)
                .then(|| hours.saturating_mul(60).saturating_add(minutes).saturating_mul(sign))
        };
        if text == "UTC" || text == "Z" {
            return Ok(0);
        }
        minutes(&text).ok_or_else(|| {
            refused(
                at,
                format!("`{}` is not a fixed offset", text.escape_debug()),
                "write `+02:00`; names of time zones are not known here",
            )
        })
    }

    fn comprehension(&mut self, of: Node, kind: Comprehension, at: usize) -> Result<Node, Refused> {
        if self.variable.is_some() {
            return Err(refused(
                at,
                "a comprehension inside another one",
                "use one level, or split the rule",
            ));
        }
        let (place, token) = self.take();
        let name = match token {
            Token::Name(name)
                if !super::ROOTS.iter().any(|(root, _)| *root == name)
                    && !["true", "false", "null", "in"].contains(&name.as_str()) =>
            {
                name
            }
            other => {
                let message = format!("{} cannot name an element", named(&other));
                return Err(refused(place, message, "write `list.all(x, x > 0)`"));
            }
        };
        self.expect(",")?;
        self.variable = Some(name);
        let body = self.expression(0)?;
        self.variable = None;
        self.expect(")")?;
        let below = of.depth.max(body.depth);
        self.node(Expr::Each(kind, Box::new([of.expr, body.expr])), below)
    }
}

fn unknown_function(name: &str, at: usize) -> Refused {
    let known = "has, size, contains, startsWith, endsWith, matches, all, exists, exists_one, filter, map, int, double, string, timestamp, getHours and its kin";
    refused(at, format!("`{name}` is not a function of conditions"), format!("use one of {known}"))
}

fn part(name: &str) -> Option<Part> {
    Some(match name {
        "getFullYear" => Part::FullYear,
        "getMonth" => Part::Month,
        "getDate" => Part::Date,
        "getDayOfMonth" => Part::DayOfMonth,
        "getDayOfWeek" => Part::DayOfWeek,
        "getHours" => Part::Hours,
        "getMinutes" => Part::Minutes,
        "getSeconds" => Part::Seconds,
        _ => return None,
    })
}

fn binary(token: &Token, pair: Box<[Expr; 2]>) -> Expr {
    let Token::Sign(sign) = token else { return Expr::In(pair) };
    match *sign {
        "==" => Expr::Compare(Compare::Equal, pair),
        "!=" => Expr::Compare(Compare::Unequal, pair),
        "<" => Expr::Compare(Compare::Less, pair),
        "<=" => Expr::Compare(Compare::LessOrEqual, pair),
        ">" => Expr::Compare(Compare::Greater, pair),
        ">=" => Expr::Compare(Compare::GreaterOrEqual, pair),
        "+" => Expr::Arithmetic(Arithmetic::Add, pair),
        "-" => Expr::Arithmetic(Arithmetic::Subtract, pair),
        "*" => Expr::Arithmetic(Arithmetic::Multiply, pair),
        "/" => Expr::Arithmetic(Arithmetic::Divide, pair),
        _ => Expr::Arithmetic(Arithmetic::Remainder, pair),
    }
}

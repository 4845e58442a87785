//! Short ways to write policies and calls.

use placet_core::{Covered, Effect, HOOK_PROGRAM, Kind, Risk, Step, Time};
use placet_policy::{Call, Claims, Explanation, Outcome, Place, Policy};
use serde_json::{Map, Value, json};

use crate::place::{self, ROOT};

/// A call with everything a test may want to set.
#[derive(Debug, Clone)]
pub(crate) struct Ask {
    pub(crate) kind: Kind,
    pub(crate) tool: String,
    pub(crate) arguments: Value,
    pub(crate) steps: Vec<Step>,
    pub(crate) agent: String,
    pub(crate) source: String,
    pub(crate) session: String,
    pub(crate) context: Value,
    pub(crate) risk: Option<Risk>,
    pub(crate) on_behalf_of: Option<String>,
    pub(crate) group: Option<String>,
    /// The folders of the agent, where the call came from the hook program.
    pub(crate) roots: Option<Vec<String>>,
    /// Whether the hook program can run it confined, and may.
    pub(crate) confines: bool,
    /// What the agent's reports come to.
    pub(crate) covered: Covered,
}

pub(crate) fn ask(tool: &str, arguments: Value) -> Ask {
    Ask {
        kind: Kind::Action,
        tool: tool.to_owned(),
        arguments,
        steps: Vec::new(),
        agent: "bot".to_owned(),
        source: "rest".to_owned(),
        session: "s".to_owned(),
        context: json!({}),
        risk: None,
        on_behalf_of: None,
        group: None,
        roots: None,
        confines: false,
        covered: Covered::Unknown,
    }
}

pub(crate) fn of_kind(kind: Kind) -> Ask {
    Ask { kind, ..ask("", json!({})) }
}

pub(crate) fn plan(steps: &[(&str, Value)]) -> Ask {
    let steps = steps
        .iter()
        .enumerate()
        .map(|(number, (action, arguments))| Step {
            id: number.to_string(),
            action: (*action).to_owned(),
            description: String::new(),
            arguments: arguments.as_object().cloned(),
            optional: None,
        })
        .collect();
    Ask { steps, ..of_kind(Kind::Plan) }
}

impl Ask {
    /// The same call, as the hook program tells of it.
    pub(crate) fn placed(self) -> Self {
        self.placed_in(ROOT)
    }

    pub(crate) fn placed_in(self, folder: &str) -> Self {
        let context = Value::Object(place::context(&self.tool, &self.arguments, folder));
        Self { context, source: HOOK_PROGRAM.to_owned(), roots: Some(vec![ROOT.to_owned()]), ..self }
    }

    /// The same of an agent that is marked for confined calls, and a hook program that can confine this one.
    pub(crate) fn confinable(self) -> Self {
        Self { confines: true, ..self.placed() }
    }

    pub(crate) fn with<T>(&self, then: impl FnOnce(&Call<'_>) -> T) -> T {
        let empty = Map::new();
        let action = self.kind == Kind::Action;
        then(&Call {
            kind: self.kind,
            tool: action.then_some(self.tool.as_str()),
            arguments: action.then(|| self.arguments.as_object().unwrap_or(&empty)),
            steps: &self.steps,
            agent: &self.agent,
            source: &self.source,
            time: Time::from_micros(1_794_700_000_000_000),
            claims: Claims {
                session: &self.session,
                context: self.context.as_object().unwrap_or(&empty),
                risk: self.risk,
                on_behalf_of: self.on_behalf_of.as_deref(),
                group: self.group.as_deref(),
            },
            place: self.roots.as_ref().map(|roots| {
                let context = self.context.as_object().unwrap_or(&empty);
                Place { roots, context, confines: self.confines }
            }),
            covered: self.covered,
        })
    }

    pub(crate) fn under(&self, policy: &Policy) -> Outcome {
        self.with(|call| policy.evaluate(call))
    }

    pub(crate) fn explained(&self, policy: &Policy) -> Explanation {
        self.with(|call| policy.explain(call))
    }
}

/// A policy from its text after the version line.
#[track_caller]
pub(crate) fn policy(text: &str) -> Policy {
    match Policy::parse(&format!("version = 1\n{text}")) {
        Ok(policy) => policy,
        Err(errors) => panic!("{errors}\n{text}"),
    }
}

/// One rule after another: name, effect, and the rest.
#[track_caller]
pub(crate) fn rules(list: &[(&str, &str, &str)]) -> Policy {
    policy(&rules_text(list))
}

pub(crate) fn rules_text(list: &[(&str, &str, &str)]) -> String {
    list.iter()
        .map(|(name, effect, rest)| format!("[[rule]]\nname = '{name}'\neffect = '{effect}'\n{rest}\n"))
        .collect()
}

pub(crate) const ALLOW: Effect = Effect::Allow;
pub(crate) const HOLD: Effect = Effect::Hold;
pub(crate) const DENY: Effect = Effect::Deny;

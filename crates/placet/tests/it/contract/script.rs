//! The format of a scenario, as in `tests/contract/README.md`. Anything else is an error in the file.

use placet_core::{DecisionWord, Kind};
use serde::Deserialize;
use serde_json::{Map, Value};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct File {
    #[serde(rename = "about")]
    _about: String,
    pub(crate) scenarios: Vec<Scenario>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Scenario {
    pub(crate) name: String,
    #[serde(default)]
    pub(crate) policy: Option<String>,
    pub(crate) steps: Vec<Step>,
}

#[derive(Debug, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum Step {
    Hold(Hold),
    Ask {
        r#as: String,
        call: Map<String, Value>,
        #[serde(default)]
        keys: Keys,
        refused: Option<String>,
    },
    Claim {
        of: String,
        claimant: String,
        r#as: Option<String>,
        refused: Option<String>,
    },
    Cancel {
        reason: Option<String>,
    },
    Pending {
        count: Option<usize>,
    },
    Decide(Deciding),
    Revoke {},
    Kill {},
    Start {},
    Stub {
        routes: Vec<Route>,
        otherwise: Option<Answer>,
    },
    Expect(Expect),
    NotYet {
        of: String,
    },
    Record {
        is: Value,
    },
    Requests {
        count: usize,
    },
    Same {
        of: [String; 2],
    },
    Calls {
        method: String,
        path: String,
        count: usize,
    },
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Hold {
    pub(crate) r#as: String,
    pub(crate) call: Map<String, Value>,
    #[serde(default)]
    pub(crate) keys: Keys,
    pub(crate) fails: Option<String>,
    pub(crate) outage_budget: Option<f64>,
    pub(crate) on_outage: Option<String>,
    pub(crate) token: Option<String>,
    pub(crate) at: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Keys {
    pub(crate) strong: Option<String>,
    pub(crate) weak: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Deciding {
    pub(crate) decision: DecisionWord,
    pub(crate) reason: Option<String>,
    pub(crate) arguments: Option<Map<String, Value>>,
    pub(crate) answer: Option<Value>,
    pub(crate) tool: Option<String>,
    #[serde(default)]
    pub(crate) first: bool,
    pub(crate) refused: Option<String>,
}

#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Route {
    pub(crate) method: String,
    pub(crate) path: String,
    #[serde(flatten)]
    pub(crate) answer: Answer,
}

#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) r#type: String,
    pub(crate) body: Value,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Expect {
    pub(crate) of: OneOrMore,
    pub(crate) status: Status,
    pub(crate) ran: Vec<Value>,
    pub(crate) edited: Option<bool>,
    pub(crate) reason: Option<String>,
    pub(crate) answer: Option<Value>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(crate) enum OneOrMore {
    One(String),
    More(Vec<String>),
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(crate) enum Status {
    Is(String),
    OneOf { one_of: Vec<String> },
    Are(Vec<String>),
}

/// A create call of the kind `action`.
pub(crate) fn create(call: Map<String, Value>) -> placet_core::Create {
    let mut body = call;
    body.insert("kind".to_owned(), Kind::Action.as_str().into());
    serde_json::from_value(Value::Object(body)).expect("the fields of a create call")
}

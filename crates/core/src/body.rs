//! The four kinds of request and their own fields, as they are shown, hashed and executed.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::Kind;

/// One kind's own fields. Serialised without a tag: this is the `body` of the digest.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Body {
    /// Run this tool with these arguments.
    Action(Action),
    /// Ordered steps.
    Plan(Plan),
    /// A question.
    Input(Input),
    /// Yes or no.
    Confirmation(Confirmation),
}

/// Run this tool with these arguments.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Action {
    /// Name of the tool.
    pub tool: String,
    /// What it is called with.
    pub arguments: Map<String, Value>,
    /// JSON Schema that replacement arguments must fit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments_schema: Option<Value>,
}

/// Ordered steps, each approvable.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// What the plan is about.
    pub title: String,
    /// The steps in the proposed order.
    pub steps: Vec<Step>,
    /// Whether reviewers may edit and reorder steps.
    pub can_modify: bool,
    /// The agent's own estimate, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub estimated_duration: Option<String>,
}

/// One step of a plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Step {
    /// Unique within the plan. Decisions name steps by it, never by position.
    #[cfg_attr(feature = "openapi", schema(min_length = 1, max_length = 200))]
    pub id: String,
    /// What will be done.
    #[cfg_attr(feature = "openapi", schema(min_length = 1, max_length = 200))]
    pub action: String,
    /// In the agent's words.
    #[cfg_attr(feature = "openapi", schema(max_length = 8192))]
    pub description: String,
    /// With what.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments: Option<Map<String, Value>>,
    /// Whether the plan works without this step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub optional: Option<bool>,
}

/// A question.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Input {
    /// The question.
    pub question: String,
    /// What kind of answer is wanted.
    pub input: InputSpec,
    /// Whether an empty answer (`null`) is refused.
    pub required: bool,
    /// A suggestion for the reviewer. Never used as an answer by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<Value>,
}

/// What kind of answer is wanted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct InputSpec {
    /// The type of the answer.
    #[serde(rename = "type")]
    pub kind: InputType,
    /// Smallest number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<f64>))]
    pub min: Option<serde_json::Number>,
    /// Largest number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<f64>))]
    pub max: Option<serde_json::Number>,
    /// The choices.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Vec<InputOption>>, min_items = 1, max_items = 200))]
    pub options: Option<Vec<String>>,
}

/// One choice.
#[cfg(feature = "openapi")]
#[derive(utoipa::ToSchema)]
#[schema(min_length = 1, max_length = 200)]
pub(crate) struct InputOption(#[expect(dead_code, reason = "describes a text")] String);

/// The type of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum InputType {
    /// Free text.
    Text,
    /// A number, perhaps bounded.
    Number,
    /// One of the options.
    Choice,
    /// Any of the options, each at most once.
    MultiChoice,
    /// A calendar date, `YYYY-MM-DD`.
    Date,
    /// `{name, media_type, content_base64}`.
    File,
}

/// Yes or no, with labels.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Confirmation {
    /// What is asked.
    pub message: String,
    /// More about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<String>,
    /// The word on the yes button.
    pub confirm_label: String,
    /// The word on the no button.
    pub cancel_label: String,
}

impl Body {
    /// Which kind this is.
    pub const fn kind(&self) -> Kind {
        match self {
            Self::Action(_) => Kind::Action,
            Self::Plan(_) => Kind::Plan,
            Self::Input(_) => Kind::Input,
            Self::Confirmation(_) => Kind::Confirmation,
        }
    }

    /// Reads stored fields of a known kind.
    pub fn from_value(kind: Kind, value: Value) -> Result<Self, serde_json::Error> {
        Ok(match kind {
            Kind::Action => Self::Action(serde_json::from_value(value)?),
            Kind::Plan => Self::Plan(serde_json::from_value(value)?),
            Kind::Input => Self::Input(serde_json::from_value(value)?),
            Kind::Confirmation => Self::Confirmation(serde_json::from_value(value)?),
        })
    }

    /// The tool of an action.
    pub fn tool(&self) -> Option<&str> {
        match self {
            Self::Action(action) => Some(&action.tool),
            _ => None,
        }
    }

    /// The proposed arguments of an action.
    pub const fn arguments(&self) -> Option<&Map<String, Value>> {
        match self {
            Self::Action(action) => Some(&action.arguments),
            _ => None,
        }
    }
}

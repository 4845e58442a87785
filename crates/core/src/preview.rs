//! What a reviewer sees beside the plain values: a typed preview, and warnings. Plain data; the gate makes it.

use serde::{Deserialize, Serialize};

/// What will happen, in the form that suits the call. Every text in it is drawn by [`crate::show`]: a line end is
/// `\\n`, a backslash is doubled, and nothing is hidden.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum Preview {
    /// A command line, taken apart.
    Shell {
        /// The text that the shell will be given.
        command: String,
        /// Whether the analysis cannot tell what the command does. Then `commands` is a best effort, and a person
        /// must read it.
        opaque: bool,
        /// Why it is opaque.
        why: Option<String>,
        /// The commands in order.
        commands: Vec<ShellCommand>,
        /// The working directory, if an argument names one.
        cwd: Option<String>,
        /// The working directory as the agent says it, unchecked. Only where no argument may name another one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        claimed_cwd: Option<String>,
    },
    /// One or more SQL statements.
    Sql {
        /// The text, whole.
        statement: String,
        /// What changes most, such as `DELETE` or `DROP DATABASE`.
        kind: String,
        /// The tables that are named.
        tables: Vec<String>,
        /// Whether every part that changes or deletes rows has a WHERE of its own that is not constant.
        #[serde(rename = "where")]
        filtered: bool,
        /// How many statements there are.
        statements: u32,
    },
    /// A change to a file.
    Diff {
        /// The file.
        path: String,
        /// The lines in order.
        lines: Vec<DiffLine>,
        /// Whether there are more lines than are shown here.
        truncated: bool,
    },
    /// A call to another server.
    Http {
        /// The method.
        method: String,
        /// The address, whole.
        url: String,
        /// The host in the address.
        host: String,
        /// Names and values.
        headers: Vec<(String, String)>,
        /// What is sent.
        body: Option<String>,
    },
    /// An e-mail.
    Email {
        /// Who gets it.
        to: Vec<String>,
        /// Who gets a copy.
        cc: Vec<String>,
        /// Who gets a copy without the others knowing.
        bcc: Vec<String>,
        /// The subject.
        subject: String,
        /// The text.
        body: String,
    },
    /// Money changes hands.
    Money {
        /// How much, digit for digit as it will be sent.
        amount: String,
        /// Of what.
        currency: String,
        /// Who gets it.
        to: String,
        /// Further arguments that name an account, by name and value. They do not say whose account it is.
        #[serde(default)]
        accounts: Vec<(String, String)>,
        /// What it is for.
        reference: Option<String>,
    },
    /// Steps in order.
    Plan {
        /// The steps that will run.
        steps: Vec<PlanStep>,
    },
    /// A question to a person.
    Question {
        /// The question.
        question: String,
    },
    /// Yes or no.
    Confirmation {
        /// What is asked.
        message: String,
        /// More about it.
        details: Option<String>,
    },
    /// No special preview: show the fields. Readers treat unknown types as this one.
    #[default]
    #[serde(other)]
    Json,
}

impl Preview {
    /// The word on the wire.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Shell { .. } => "shell",
            Self::Sql { .. } => "sql",
            Self::Diff { .. } => "diff",
            Self::Http { .. } => "http",
            Self::Email { .. } => "email",
            Self::Money { .. } => "money",
            Self::Plan { .. } => "plan",
            Self::Question { .. } => "question",
            Self::Confirmation { .. } => "confirmation",
            Self::Json => "json",
        }
    }
}

/// One command of a command line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ShellCommand {
    /// The words after quote removal.
    pub words: Vec<String>,
    /// Files that the shell opens for it.
    pub redirects: Vec<ShellRedirect>,
    /// What stands between the command before and this one: `&&`, `||`, `;`, `|` or `&`. A line end is `;`.
    #[cfg_attr(feature = "openapi", schema(required = true))]
    pub joined: Option<String>,
}

/// A file that the shell opens.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ShellRedirect {
    /// Such as `>`, `>>`, `<` or `2>`.
    pub op: String,
    /// The file.
    pub target: String,
}

/// One line of a change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct DiffLine {
    /// A space (stays), `+` (comes), `-` (goes), `@` (a heading) or `\` (a remark, such as a missing line end).
    pub op: String,
    /// The line without its end.
    pub text: String,
}

/// One step of a plan that will run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct PlanStep {
    /// Its name within the plan.
    pub id: String,
    /// What will be done.
    pub action: String,
    /// In the agent's words.
    pub description: String,
    /// What it does, from action and arguments alone.
    pub effect: String,
    /// Whether the plan makes sense without it.
    pub optional: bool,
}

/// A warning.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Warning {
    /// What kind of thing.
    pub code: WarningCode,
    /// Where, as in the fields; empty for the whole request.
    pub pointer: String,
    /// In a sentence.
    pub text: String,
}

/// Kinds of warnings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum WarningCode {
    /// Characters that do not show, or move others.
    HiddenCharacters,
    /// A word with letters of several scripts that look alike.
    MixedScript,
    /// A value that is longer than a screen.
    Long,
    /// More values than a person reads.
    Many,
    /// Values inside values inside values.
    Deep,
    /// A number that is hard to read.
    HugeNumber,
    /// A command line that cannot be taken apart.
    OpaqueShell,
    /// SQL or a patch that cannot be taken apart.
    Opaque,
    /// Rows are changed or deleted without a real condition.
    EveryRow,
    /// Policy treats it as reading, but it does more.
    Contradiction,
    /// A character that is drawn over another one.
    Overlay,
    /// What was asked has been erased.
    Erased,
    /// A code that this reader does not know.
    #[serde(other)]
    Other,
}

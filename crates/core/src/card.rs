//! The card: the one view of a request that every place draws. Plain data; the gate makes it.
//!
//! Every text in it is drawn by [`crate::show`], so each can be shown as it is. Sections and `rest` together have
//! each leaf of what a yes would run exactly once.

use serde::{Deserialize, Serialize};

use crate::{DiffLine, Digest, DisplayField, ShellCommand};

/// What a person reads before a decision. A yes that is made from it carries its digest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Card {
    /// What will happen, in one sentence that names object, amount and target. Made from the tool and the arguments
    /// that will run, never from the agent's words.
    pub sentence: String,
    /// SHA-256 over the version of this format, sentence, sections and rest. Similar requests of the past are not in
    /// it.
    pub digest: Digest,
    /// What has a form of its own, in the order in which it is drawn.
    pub sections: Vec<CardSection>,
    /// Everything else: the leaves that no section shows.
    pub rest: Vec<DisplayField>,
    /// Leaves to look at twice, with the reason in words: what policy held, and what may deceive.
    pub flagged: Vec<CardFlag>,
    /// How many leaves are not on this card. A card with any cannot be approved.
    pub hidden: u32,
}

/// The card of a line of a list. Nothing is approved from a line alone.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CardLine {
    /// What will happen, in one sentence.
    pub sentence: String,
    /// How many leaves the line does not show.
    pub hidden: u32,
}

/// What a record has of the card: the whole card where one request is read, and its line in lists and streams.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum RecordCard {
    /// The whole card.
    Whole(Box<Card>),
    /// One line of it.
    Line(CardLine),
}

impl RecordCard {
    /// The whole card, if the record has it.
    pub fn whole(&self) -> Option<&Card> {
        match self {
            Self::Whole(card) => Some(card),
            Self::Line(_) => None,
        }
    }

    /// What will happen, in one sentence.
    pub fn sentence(&self) -> &str {
        match self {
            Self::Whole(card) => &card.sentence,
            Self::Line(line) => &line.sentence,
        }
    }
}

/// A part of the card.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CardSection {
    /// Its type and content.
    #[serde(flatten)]
    pub body: SectionBody,
    /// A heading, where the type alone does not say what it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The step of a plan that it belongs to, counted from 1 in the order in which the steps will run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<u32>,
    /// The leaves whose whole value can be read in it, as JSON pointers on the record.
    pub pointers: Vec<String>,
}

/// A leaf to look at twice.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CardFlag {
    /// Where; empty for the whole request.
    pub pointer: String,
    /// Why, in a sentence.
    pub why: String,
}

/// The content of a section by its type. Readers draw an unknown type by listing the values at its pointers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum SectionBody {
    /// A command line, taken apart.
    Command {
        /// The text that the shell will be given, or the words of the program.
        command: String,
        /// Whether the analysis cannot tell what it does. Then `commands` is a best effort.
        opaque: bool,
        /// Why it is opaque.
        why: Option<String>,
        /// The commands in order.
        commands: Vec<ShellCommand>,
        /// The working directory, if an argument names one.
        cwd: Option<String>,
        /// The working directory as the agent says it, unchecked.
        claimed_cwd: Option<String>,
    },
    /// A change to one or more files.
    Diff {
        /// The file.
        path: String,
        /// What happens to it: `create`, `overwrite`, `edit`, `delete` or `change` where that is not known.
        change: String,
        /// The lines in order.
        lines: Vec<DiffRow>,
        /// Whether there are more lines than are here.
        truncated: bool,
    },
    /// SQL statements.
    Sql {
        /// The text, whole.
        statement: String,
        /// What changes most, such as `DELETE`.
        kind: String,
        /// The tables that are named.
        tables: Vec<String>,
        /// Whether every part that changes rows has a WHERE of its own that is not constant.
        #[serde(rename = "where")]
        filtered: bool,
        /// How many statements there are.
        statements: u32,
    },
    /// Money changes hands.
    Money {
        /// How much, digit for digit as it will be sent.
        amount: String,
        /// Of what.
        currency: String,
        /// Who gets it.
        to: String,
        /// Further arguments that name an account, by name and value.
        accounts: Vec<(String, String)>,
        /// What it is for.
        reference: Option<String>,
    },
    /// An e-mail or a message in a chat.
    Message {
        /// `email` or `chat`.
        medium: String,
        /// Who gets it: addresses, people, or a room.
        to: Vec<String>,
        /// Who gets a copy.
        cc: Vec<String>,
        /// Who gets a copy without the others knowing.
        bcc: Vec<String>,
        /// The subject.
        subject: Option<String>,
        /// The text.
        body: String,
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
    /// A change to a Kubernetes cluster.
    Kubernetes {
        /// Such as `delete`, `apply` or `scale`.
        verb: String,
        /// Such as `deployment`.
        resource: String,
        /// Its name.
        name: Option<String>,
        /// Its namespace.
        namespace: Option<String>,
        /// The cluster, as the arguments name it.
        cluster: Option<String>,
        /// What is applied.
        manifest: Option<String>,
    },
    /// A list of alike objects.
    Table {
        /// The names of the columns.
        columns: Vec<String>,
        /// The cells of each row. A cell that is not there is null.
        rows: Vec<Vec<Option<String>>>,
    },
    /// Nested values.
    Tree {
        /// Objects, lists and values in order.
        nodes: Vec<TreeNode>,
    },
    /// One long text, or one in a known role, such as a question.
    Text {
        /// The text.
        text: String,
    },
    /// A picture.
    Image {
        /// Such as `image/png`.
        media_type: String,
        /// Its size in bytes.
        bytes: u32,
        /// The bytes in Base64.
        data: String,
    },
    /// A file that is handed over.
    File {
        /// Its name.
        name: String,
        /// Such as `application/pdf`.
        media_type: Option<String>,
        /// Its size in bytes.
        bytes: u32,
        /// The bytes in Base64, or the text.
        data: String,
    },
    /// A step of a plan. The sections of its arguments follow, with the same `step`.
    Step {
        /// Its name within the plan.
        id: String,
        /// The tool, or the agent's words.
        action: String,
        /// In the agent's words.
        description: String,
        /// What it does, from action and arguments alone.
        sentence: String,
        /// Whether the plan makes sense without it.
        optional: bool,
    },
    /// A type that this reader does not know.
    #[serde(other)]
    Other,
}

/// One line of a change, with its numbers before and after.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct DiffRow {
    /// The line itself.
    #[serde(flatten)]
    pub line: DiffLine,
    /// Its number before, where known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub old: Option<u32>,
    /// Its number after, where known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub new: Option<u32>,
}

/// One line of a tree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct TreeNode {
    /// How deep it stands, from 0.
    pub depth: u32,
    /// Its key, or its number in a list.
    pub key: String,
    /// Its value; null for an object or a list, whose content follows.
    pub text: Option<String>,
}

//! One call: what the name of its tool and the shape of its arguments tell, and what the sentence may say.

use placet_core::{Preview, WarningCode};
use serde_json::{Map, Value};

use super::{
    args::{Args, Name},
    deed, diff, files,
    kube::Kubernetes,
    money, out, plain, reader, shell,
    shown::ShownValue,
    sql,
    text::{self, clip, quoted, sentence},
};

/// A recognised call.
enum KnownCall<'a> {
    Shell(shell::Shell<'a>),
    Sql(sql::Sql<'a>),
    Change(diff::Change<'a>),
    Files(files::Files<'a>),
    Money(money::Money<'a>),
    Email(out::Email<'a>),
    Message(out::Message<'a>),
    Http(out::Http<'a>),
    Deed(deed::Deed<'a>),
}

/// A recognised call, with the parts that were not understood.
pub(super) struct Recognised<'a> {
    tool: String,
    known: KnownCall<'a>,
    /// Arguments that are not understood.
    unknown: Vec<&'a str>,
    /// The values that its preview is to show whole.
    whole: Vec<ShownValue>,
}

impl<'a> Recognised<'a> {
    fn new(tool: &str, known: KnownCall<'a>, args: Args<'a>) -> Self {
        Self { tool: clip(tool, 60), known, unknown: args.unknown(), whole: args.whole }
    }

    /// What the call does, in one sentence. It has a verb only if tool and arguments are all known. What is not known
    /// comes first, where it is never cut off.
    fn effect(&self) -> String {
        let limit = match (self.unknown.as_slice(), self.known.opaque()) {
            ([], None) => String::new(),
            ([], Some(())) => "unclear, cannot be taken apart: ".to_owned(),
            (names, None) => format!("unclear ({}): ", text::names(names)),
            (names, Some(())) => format!("unclear ({}), cannot be taken apart: ", text::names(names)),
        };
        let does = if self.is_said() {
            self.known.effect(self.unknown.is_empty())
        } else {
            format!("call {}: {}", self.tool, self.known.facts())
        };
        sentence(&format!("{limit}{does}"))
    }

    /// Whether the sentence may have the verb. A tool that runs a text runs it whatever the other arguments are. For
    /// other tools an unknown argument may reverse the meaning.
    fn is_said(&self) -> bool {
        match &self.known {
            KnownCall::Shell(known) => known.is_sure(),
            KnownCall::Sql(known) => known.is_sure(),
            KnownCall::Change(_) => true,
            KnownCall::Files(_) | KnownCall::Message(_) | KnownCall::Deed(_) => self.unknown.is_empty(),
            KnownCall::Money(known) => known.is_sure() && self.unknown.is_empty(),
            KnownCall::Email(known) => known.is_sure() && self.unknown.is_empty(),
            KnownCall::Http(known) => known.is_sure() && self.unknown.is_empty(),
        }
    }

    pub(super) fn preview(self, stated_cwd: Option<&str>) -> (Preview, Vec<ShownValue>) {
        let said = self.is_said();
        let preview = match self.known {
            KnownCall::Shell(known) => known.preview(stated_cwd.filter(|_| self.unknown.is_empty())),
            KnownCall::Sql(known) => known.preview(),
            KnownCall::Change(known) => known.preview(),
            KnownCall::Money(known) if said => known.preview(),
            KnownCall::Email(known) if said => known.preview(),
            KnownCall::Http(known) if said => known.preview(),
            _ => Preview::Json,
        };
        (preview, self.whole)
    }

    /// The warnings of the call itself, each with its argument.
    pub(super) fn warnings(&self) -> Vec<(WarningCode, String, String)> {
        let mut out = Vec::new();
        match &self.known {
            KnownCall::Shell(known) => out.extend(known.opaque().map(|why| {
                let text = format!("Only a person can say what this command line does: {why}.");
                (WarningCode::OpaqueShell, known.key.to_owned(), text)
            })),
            KnownCall::Sql(known) => {
                out.extend(known.opaque().map(|why| {
                    let text = format!("This SQL cannot be taken apart: {why}.");
                    (WarningCode::Opaque, known.key.to_owned(), text)
                }));
                out.extend(known.rows().map(|rows| {
                    (
                        WarningCode::EveryRow,
                        known.key.to_owned(),
                        format!("Rows are changed or deleted, {rows}."),
                    )
                }));
            }
            KnownCall::Change(known) => out.extend(known.opaque().map(|key| {
                let text = "This patch cannot be taken apart: read the text itself.".to_owned();
                (WarningCode::Opaque, key.to_owned(), text)
            })),
            _ => {}
        }
        out
    }

    /// Whether it does more than read, as far as known.
    pub(super) fn acts(&self) -> bool {
        match &self.known {
            KnownCall::Sql(known) => known.changes(),
            KnownCall::Http(known) => known.sends(),
            // A reader with an amount in its arguments is still a reader.
            KnownCall::Money(known) => known.is_sure(),
            KnownCall::Email(known) => known.is_sure(),
            KnownCall::Deed(known) => known.weight() != deed::Weight::Reads,
            KnownCall::Shell(_) | KnownCall::Change(_) | KnownCall::Files(_) | KnownCall::Message(_) => true,
        }
    }

    /// The change to a Kubernetes cluster, if the call is one and all of its arguments are known.
    pub(crate) fn kubernetes(&self) -> Option<Kubernetes> {
        match &self.known {
            KnownCall::Deed(known) if self.unknown.is_empty() => known.kubernetes(),
            _ => None,
        }
    }

    /// How bad it is among the steps of a plan; less is worse.
    fn rank(&self) -> u8 {
        match &self.known {
            KnownCall::Shell(known) => known.rank().min(2),
            KnownCall::Sql(known) if known.opaque().is_some() || known.rank() < 9 => 0,
            KnownCall::Sql(known) => {
                if known.changes() {
                    1
                } else {
                    3
                }
            }
            KnownCall::Files(known) => u8::from(!known.deletes()),
            KnownCall::Money(_) => 0,
            KnownCall::Deed(known) => match known.weight() {
                deed::Weight::Grave => 0,
                deed::Weight::Acts => 1,
                deed::Weight::Reads => 3,
            },
            _ => 1,
        }
    }
}

/// Recognises a call by its tool's name and the shape of its arguments.
pub(super) fn recognise<'a>(tool: &str, arguments: &'a Map<String, Value>) -> Option<Recognised<'a>> {
    let name = Name::new(tool);
    // A shape that has all of the arguments before one that has some.
    let mut args = Args::new(arguments);
    let deed = deed::Deed::read(&name, &mut args);
    let deed = deed.map(|deed| Recognised::new(tool, KnownCall::Deed(deed), args));
    if deed.as_ref().is_some_and(|deed| deed.unknown.is_empty()) {
        return deed;
    }
    macro_rules! first {
        ($($variant:ident: $kind:ty),+ $(,)?) => {
            $({
                let mut args = Args::new(arguments);
                if let Some(known) = <$kind>::read(&name, &mut args) {
                    return Some(Recognised::new(tool, KnownCall::$variant(known), args));
                }
            })+
        };
    }
    first!(
        Shell: shell::Shell<'a>,
        Sql: sql::Sql<'a>,
        Change: diff::Change<'a>,
        Files: files::Files<'a>,
        Money: money::Money<'a>,
        Email: out::Email<'a>,
        Message: out::Message<'a>,
        Http: out::Http<'a>,
    );
    // Last, so that nothing with a known name is taken for a payment.
    let mut args = Args::new(arguments);
    let money = money::Money::read_shape(&name, &mut args);
    money.map(|money| Recognised::new(tool, KnownCall::Money(money), args)).or(deed)
}

impl KnownCall<'_> {
    fn effect(&self, sure: bool) -> String {
        match self {
            Self::Shell(known) => known.effect(sure),
            Self::Sql(known) => known.effect(),
            Self::Change(known) => known.effect(),
            Self::Files(known) => known.effect(),
            Self::Money(known) => known.effect(),
            Self::Email(known) => known.effect(),
            Self::Message(known) => known.effect(),
            Self::Http(known) => known.effect(),
            Self::Deed(known) => known.effect(),
        }
    }

    /// What it is about, without the verb.
    fn facts(&self) -> String {
        match self {
            Self::Shell(known) => known.facts(),
            Self::Sql(known) => known.facts(),
            Self::Change(known) => known.facts(),
            Self::Files(known) => known.facts(),
            Self::Money(known) => known.facts(),
            Self::Email(known) => known.facts(),
            Self::Message(known) => known.facts(),
            Self::Http(known) => known.facts(),
            Self::Deed(known) => known.facts(),
        }
    }

    /// A part that cannot be taken apart.
    fn opaque(&self) -> Option<()> {
        match self {
            Self::Shell(known) => known.opaque().map(drop),
            Self::Sql(known) => known.opaque().map(drop),
            Self::Change(known) => known.opaque().map(drop),
            _ => None,
        }
    }
}

/// What a call does, in one sentence.
pub(super) fn effect_of(tool: &str, arguments: &Map<String, Value>) -> String {
    match recognise(tool, arguments) {
        Some(call) => call.effect(),
        None => sentence(&plain(&format!("Call {}", clip(tool, 100)), arguments)),
    }
}

/// A call of which only the name is known.
fn plain(call: &str, arguments: &Map<String, Value>) -> String {
    if arguments.is_empty() {
        format!("{call} without arguments")
    } else {
        format!("{call} with {}", plain::facts(arguments))
    }
}

/// What a step of a plan does. Its action is a tool, or words of the agent, which are shown in quotes.
pub(super) fn effect_of_step(action: &str, arguments: Option<&Map<String, Value>>) -> String {
    let none = Map::new();
    let arguments = arguments.unwrap_or(&none);
    if is_tool(action) {
        effect_of(action, arguments)
    } else {
        sentence(&plain(&quoted(&clip(action, 100)), arguments))
    }
}

/// How bad a step may be; less is worse.
pub(super) fn step_rank(action: &str, arguments: Option<&Map<String, Value>>) -> u8 {
    let name = Name::new(action);
    let grave = [
        "delete",
        "drop",
        "destroy",
        "remove",
        "purge",
        "truncate",
        "erase",
        "wipe",
        "terminate",
        "kill",
        "revoke",
        "reset",
        "overwrite",
        "shutdown",
        "disable",
        "grant",
        "pay",
        "payment",
        "transfer",
        "refund",
        "charge",
        "deploy",
        "force",
        "publish",
        "exec",
        "execute",
        "run",
        "sudo",
    ];
    let none = Map::new();
    let known = recognise(action, arguments.unwrap_or(&none)).map(|call| call.rank());
    match known {
        _ if name.has(&grave) => known.unwrap_or(0).min(1),
        Some(rank) => rank,
        None if !is_tool(action) => 1,
        None if name.begins(reader::READERS) => 3,
        None => 2,
    }
}

/// Cuts a finished sentence.
pub(super) fn clip_drawn(drawn: &str, most: usize) -> String {
    if drawn.chars().count() <= most {
        return drawn.to_owned();
    }
    drawn.chars().take(most.saturating_sub(1)).chain(['…']).collect()
}

pub(super) fn is_tool(name: &str) -> bool {
    (1..=200).contains(&name.len())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_./:-".contains(&byte))
}

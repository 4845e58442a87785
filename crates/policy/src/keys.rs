//! Every key a policy file may have, once: the reader checks against these tables and the reference is made from them.

/// A key: its name, the form of its value, what it means.
pub(crate) type Key = (&'static str, &'static str, &'static str);

/// At the top of the file.
pub(crate) const TOP: &[Key] = &[
    ("version", "`1`", "The format of the file. Required."),
    ("name", "text", "A name for people."),
    (
        "extends",
        "list of `\"preset:NAME\"`",
        "Includes the rules of these presets, with their names prefixed by `NAME/`, and the tables that they use. A preset's `[defaults]` are not included.",
    ),
    (
        "switches",
        "list of names",
        "Switches that the operator turns on: entries of `shell = { allow = […] }` with that `switch`, in this file and in the presets it extends. On the command line: `preset:coding-agent+network-reads`.",
    ),
    ("defaults", "table", "Values that hold if no rule says otherwise."),
    (
        "paths",
        "lists by name",
        "Files by name, for `touches` and `above` in rules: `.env` anywhere, `~/.ssh` in a home folder, `/etc/shadow` there alone; `*` and `?` inside a segment.",
    ),
    ("needs", "tables by name", "The approvals that a request needs, under a name that rules can use."),
    ("escalation", "tables by name", "The people who are asked after the deadline."),
    (
        "rule",
        "list of tables",
        "The rules. Their order does not matter for the effect: deny beats hold beats allow.",
    ),
    (
        "cosmetic",
        "list of tables",
        "Arguments that change only the text on the screen. Grants and trust do not compare them. Those of presets are included.",
    ),
];

/// In `[defaults]`.
pub(crate) const DEFAULTS: &[Key] = &[
    (
        "effect",
        "`\"hold\"` or `\"deny\"`",
        "The verdict for calls that no rule matches. Default `\"hold\"`; never allow.",
    ),
    (
        "risk",
        "risk",
        "Risk of calls that no rule matches, and of hold and deny rules that name none. Default `\"medium\"`.",
    ),
    ("expires_in", "duration", "Time for deciding."),
    ("claim_within", "duration", "Time for claiming after approval."),
    ("needs", "name or table", "The needs of rules that name none. Default: one reviewer."),
    ("hold_at_risk", "risk", "From this risk on nothing is allowed without a person. Default `\"high\"`."),
];

/// In `[needs.NAME]`.
pub(crate) const NEEDS: &[Key] = &[
    ("people", "1 to 20", "How many people. Default 1."),
    ("team", "text", "Their team; any team when absent."),
    (
        "any",
        "list of `{ all = [ { people, team } ] }`",
        "Instead of `people` and `team`: one of these must be met, each seat by another person. A seat may stand alone, without `all`.",
    ),
    ("all", "list of `{ people, team }`", "Short for `any` with one alternative."),
    ("four_eyes", "boolean", "The person who owns, ordered or edited the request cannot approve it."),
    (
        "step_up",
        "`\"code\"`",
        "Each approver types a short code shown only on the detail view. Always required at critical risk.",
    ),
];

/// A seat inside `any` or `all`.
pub(crate) const SEAT: &[Key] = &[
    ("people", "1 to 20", "How many people. Default 1."),
    ("team", "text", "Their team; any team when absent."),
];

/// In `[escalation.NAME]`.
pub(crate) const ESCALATION: &[Key] = &[
    ("needs", "name or table", "The needs from then on. Required."),
    ("expires_in", "duration", "Time for deciding. Required."),
    ("then", "name", "The escalation after this one."),
];

/// In `[[rule]]`: what it looks at.
pub(crate) const RULE_MATCH: &[Key] = &[
    (
        "tool",
        "glob or list",
        "The tool's name, exactly or by glob: `*` is any run of characters, `?` one. Case-sensitive.",
    ),
    (
        "tool_begins",
        "word or list",
        "The first word of the tool's own name, without its server: `get` of `get_user`, `getUser`, `x/GET-user`. Whole words, in any case.",
    ),
    (
        "tool_has",
        "word or list",
        "Any word of the tool's own name, in any case, also split (`deLete`, `de_lete`). `*` at the beginning looks inside words.",
    ),
    (
        "server",
        "glob or list",
        "The server part of the tool's name: `mcp__SERVER__TOOL`, or the part before the first `/` or `:`.",
    ),
    ("agent", "glob or list", "The authenticated agent."),
    ("kind", "word or list", "`action`, `plan`, `input`, `confirmation`. Only an action can be allowed."),
    ("source", "glob or list", "The door of the request, such as `rest`."),
    ("session", "glob or list", "The agent's session. A claim: only in hold and deny rules."),
    (
        "lineage",
        "glob or list",
        "Any element of `context.lineage`, the chain of agents. A claim: only in hold and deny rules.",
    ),
    (
        "coverage",
        "word or list",
        "The report of the agent's adapters: `complete`, `partial` (something runs where Placet does not see it) or `unknown` (nothing was reported). A claim: only in hold and deny rules.",
    ),
    (
        "args",
        "table of path = matcher",
        "The arguments; all must match. A path is dotted (`to.iban`, `files[0]`, `files[*].path`) or a JSON pointer (`/to/iban`). `**` is every value at any depth, `**.*amount*|total` every value under such keys.",
    ),
    (
        "only",
        "list",
        "allow: the only arguments that the call may have. One more, and the rule does not apply.",
    ),
    (
        "under",
        "`\"@workspace\"`",
        "allow: the call happens in the folders that a person opened to the agent: the folder it runs in, every file it names, and git's repository, as the hook program resolved them. Or the name of a list in `[paths]` whose entries begin with `/` or `~/`: the call names such files and nothing else, by no command. Over every other door it never applies.",
    ),
    (
        "touches",
        "name of `[paths]`, or list",
        "hold, deny: an argument that names files, or any word of a command, names a file of the list, something in a folder of it, or a link to one.",
    ),
    (
        "above",
        "name of `[paths]`, or list",
        "hold, deny: the same for folders that have a file of the list below them, such as a home folder.",
    ),
    ("when", "text", "A condition in CEL, for tests that matchers cannot express."),
];

/// In `[[rule]]`: what it does.
pub(crate) const RULE_EFFECT: &[Key] = &[
    ("name", "text", "Required and unique: letters, digits, `.`, `_`, `-`."),
    ("effect", "`\"allow\"`, `\"hold\"`, `\"deny\"`", "Required."),
    (
        "risk",
        "risk",
        "`low`, `medium`, `high` or `critical`. Default: `low` in allow rules, `[defaults] risk` in others.",
    ),
    ("reason", "text", "The reason, for people; at most 500 characters."),
    (
        "reads_only",
        "boolean",
        "allow: the calls of this rule only read. A call that it matches waits if its arguments have a command, SQL that changes data, a method or a body.",
    ),
    (
        "confine",
        "`\"workspace\"`",
        "allow: the calls of this rule may run only confined, by `placet run`. Only the hook program of an agent that is marked for it (`placet agent confine`) gets such a permit; every other call waits. `under` then checks the folder alone.",
    ),
    (
        "otherwise",
        "boolean",
        "allow, with `confine`: the rule applies only if no other rule lets the call pass, and only for a caller that can confine it.",
    ),
    (
        "unless_confined",
        "boolean",
        "hold: the rule does not hold a call that another rule lets pass confined.",
    ),
    (
        "unless_allowed",
        "name of an allow rule",
        "hold: the rule does not hold a call that this rule of the same file lets pass, without confinement. Every other hold and deny rule still counts.",
    ),
    ("needs", "name or table", "hold: the approvals that the request needs."),
    ("expires_in", "duration", "hold: time for deciding."),
    (
        "on_expiry",
        "`\"deny\"` or `{ escalate = NAME }`",
        "hold: the effect when the time for deciding is over. Default `\"deny\"`; never allow.",
    ),
    ("claim_within", "duration", "allow, hold: time for claiming."),
    (
        "decisions",
        "list of `approve`, `edit`, `deny`, `respond`",
        "hold: the decisions that people can choose; `deny` always is one.",
    ),
    ("pending_cap", "1 to 10000", "hold: how many requests of one agent may wait at once."),
    (
        "trust_after",
        "1 to 1000",
        "hold: after this number of approvals by people, the same call needs no person any more. Not at high or critical risk.",
    ),
    (
        "template",
        "list of JSON pointers",
        "With `trust_after`: the arguments that must be equal. Without it, all of them. Not for free-form commands.",
    ),
];

/// In `[[cosmetic]]`.
pub(crate) const COSMETIC: &[Key] = &[
    ("tool", "name or list", "The tools, each by its whole name. Required."),
    ("agent", "glob or list", "The authenticated agents. Default: all."),
    (
        "arguments",
        "name or list",
        "Top-level arguments without effect, such as `description`. Names of arguments with a command, a path, a target or text to write are refused, and so are names that a rule for the tool looks at. A list or table as a value is still compared. Required.",
    ),
];

/// What a matcher may ask of a value.
pub(crate) const MATCHERS: &[Key] = &[
    ("equals", "any value", "The same value; `1` and `1.0` are the same."),
    ("in", "list", "One of these values."),
    ("prefix", "text", "A text that begins with this. For paths use `under`, for URLs `host_in`."),
    ("min", "number", "This or more."),
    ("max", "number", "This or less."),
    ("above", "number", "More than this."),
    ("below", "number", "Less than this."),
    (
        "under",
        "absolute path or list",
        "A path in this folder, compared by segments. Relative paths, `..`, `~`, `$`, percent escapes, backslashes and look-alikes are an error. `@workspace` stands for the folders that a person opened to the agent: there the path that the hook program resolved counts. Over every other door it never matches.",
    ),
    (
        "host_in",
        "host or list",
        "An http or https URL of this host; `*.example.com` for its subdomains. User names, unusual addresses and any text that two programs could read differently are an error.",
    ),
    (
        "matches",
        "regular expression",
        "Runs in linear time. In allow rules it must be anchored with `^` and `$`.",
    ),
    ("shell", "table", "A command line, parsed into its commands; see the guide to shell patterns."),
    ("max_length", "1 to 100000", "A text of at most this number of bytes; for a list of words, their sum."),
    ("exists", "boolean", "Whether the path exists; the only matcher for which a missing value is no error."),
    ("not", "matcher", "The opposite. An error stays an error."),
];

/// In an entry of `shell = { allow = […] }`.
pub(crate) const SHELL_ALLOW: &[Key] = &[
    ("exact", "list of words", "The whole command, word for word. No other key may stand beside it."),
    ("program", "word or list", "The program, without a path."),
    ("subcommand", "text or list", "The words right after it, such as `remote get-url`."),
    ("flags", "list", "Flags without a value. `-#` is a number, such as `-20`."),
    ("values", "list", "Flags that take the next word, or `--name=value`."),
    ("attached", "boolean", "The program also takes `-n5` for `-n 5`. Default `false`."),
    ("optional", "list", "Flags that may have a value attached, such as `--color=always`."),
    (
        "operands",
        "`\"any\"`, `\"none\"` or `{ under = […] }`",
        "The words beside the flags. Default `\"none\"`.",
    ),
    ("max_operands", "number", "The largest number of them."),
    ("text", "boolean", "Every word is text, whatever it looks like, as for `echo`. Default `false`."),
    ("switch", "name", "The entry counts only where the policy has this name in `switches`."),
];

/// In an entry of `shell = { mention = […] }`.
pub(crate) const SHELL_MENTION: &[Key] = &[
    ("program", "glob or list", "The program, at any path and behind any wrapper."),
    ("subcommand", "text", "The word right after it. Behind a flag it may be any word."),
    ("flags", "list", "Every one of them must be there; `-f|--force` are spellings of one."),
    ("args", "list of globs", "Every one of them must match a word."),
    ("feeds", "list of globs", "Programs that its output reaches by a pipe or a substitution."),
    ("words", "list of paths", "Paths; the command must name one of them anywhere."),
];

/// The closest known key to one that is not, for the fix.
pub(crate) fn closest<'k>(wrong: &str, known: impl Iterator<Item = &'k str>) -> Option<&'k str> {
    known
        .map(|key| (distance(wrong, key), key))
        .filter(|(distance, key)| *distance <= 2.max(key.len() / 3))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, key)| key)
}

/// How many letters must be added, dropped or changed to turn one word into the other.
fn distance(left: &str, right: &str) -> usize {
    let right: Vec<char> = right.chars().take(64).collect();
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (index, letter) in left.chars().take(64).enumerate() {
        let mut diagonal = index;
        let mut before = index.saturating_add(1);
        let mut next = vec![before];
        for (other, above) in right.iter().zip(row.iter().skip(1)) {
            let changed = diagonal.saturating_add(usize::from(*other != letter));
            diagonal = *above;
            before = changed.min(above.saturating_add(1)).min(before.saturating_add(1));
            next.push(before);
        }
        row = next;
    }
    row.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelt_key_is_met_with_the_closest_one() {
        let known = || RULE_EFFECT.iter().map(|(key, ..)| *key);
        assert_eq!(closest("expires", known()), Some("expires_in"));
        assert_eq!(closest("efect", known()), Some("effect"));
        assert_eq!(closest("completely-else", known()), None);
        assert_eq!(distance("kitten", "sitting"), 3);
    }
}

//! Where a call happens: the folder and the paths it names, as the program in front of the agent resolved them, and the
//! folders that a person opened to that agent.

mod keys;

use std::{collections::BTreeSet, rc::Rc};

use serde_json::{Map, Value};

use self::keys::Key;
use crate::{
    files::Files,
    shell::{self, Analysis},
    trust::is_shell_tool,
    wild,
    work::{Tri, Trouble, WorkBudget},
};

/// What a rule writes for the folders of the agent.
pub const WORKSPACE: &str = "@workspace";

/// The folders of an agent, and where the call was found to happen. Only the hook program resolves links, so only its calls
/// have one.
#[derive(Debug, Clone, Copy)]
pub struct Place<'a> {
    /// The folders that a person opened to the agent.
    pub roots: &'a [String],
    /// What the hook program found: `cwd`, `moved`, `paths` from each text to what it leads to, and `git`.
    pub context: &'a Map<String, Value>,
    /// Whether the hook program can run this call confined, and may.
    pub confines: bool,
}

/// What a call names on the file system.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Named {
    /// The argument that sends a command to another folder, or the folder that the command itself goes to.
    pub folder: Option<String>,
    /// The command itself goes there: whoever resolves it says so, in `moved`.
    pub moved: bool,
    /// Every text that may lead to a file, as it stands in the call.
    pub texts: BTreeSet<String>,
    /// Those among them that must not be folders: the program would open what lies in one, links included.
    pub files: BTreeSet<String>,
    /// The programs that a command runs. Git obeys the configuration of the folder it is in.
    pub programs: BTreeSet<String>,
}

/// Tools that take a patch, which names its files in its own text.
const PATCH_TOOLS: &[&str] = &["apply_patch", "patch", "apply_diff"];
/// Longest text under another name that is taken for a path.
const OTHER: usize = 400;
/// How deep arguments are looked into.
const DEEPEST: usize = 8;
/// Arguments that hold a command.
const COMMANDS: &[&str] = &["command", "cmd"];
/// Options whose value is a character and no path.
const DELIMITERS: [(&str, &str); 4] = [("cut", "-d"), ("sort", "-t"), ("column", "-s"), ("paste", "-d")];
/// Most texts of one call.
const MOST: usize = 200;

/// What a call names, for whoever resolves it; nothing if that cannot be told, as for a command that only a shell can read.
pub fn named(tool: &str, arguments: &Map<String, Value>) -> Option<Named> {
    let analysis = |value: &Value| match value {
        Value::String(text) => Ok(Rc::new(shell::analyse(text))),
        Value::Array(words) => {
            let words: Option<Vec<&str>> = words.iter().map(Value::as_str).collect();
            words.map(|words| Rc::new(shell::analyse_argv(&words))).ok_or(UNREADABLE)
        }
        _ => Err(UNREADABLE),
    };
    collect(tool, arguments, analysis).ok()
}

const UNREADABLE: Trouble = Trouble::Doubtful("nobody can tell which files the call names");

/// One thing in the arguments that has to do with files.
enum NamedValue<'a> {
    /// A text that names a file or a pattern for names, and whether the tool reads what lies there.
    Text(&'a str, bool),
    /// A command.
    Command(&'a Value),
    /// The folder that a command runs in.
    Folder(&'a Value),
    /// A text under any other name, and whether it stands inside another argument.
    Other(&'a str, bool),
    /// Something that names files in a way nobody knows.
    Odd,
}

/// Shows everything in the arguments that has to do with files, at any depth.
fn visit<'a>(
    tool: &str,
    arguments: &'a Map<String, Value>,
    see: &mut impl FnMut(NamedValue<'a>) -> Result<(), Trouble>,
) -> Result<(), Trouble> {
    let command = COMMANDS.iter().any(|key| arguments.contains_key(*key));
    let patches = PATCH_TOOLS.contains(&tool);
    if is_shell_tool(tool) && !command {
        see(NamedValue::Odd)?;
    }
    for (key, value) in arguments {
        if patches {
            let mut files = value.as_str().into_iter().flat_map(patched).peekable();
            if files.peek().is_none() && !(Key::of(tool, key).is_file() || value.is_boolean()) {
                see(NamedValue::Odd)?;
            }
            files.try_for_each(|file| see(NamedValue::Text(file, true)))?;
        }
        if COMMANDS.contains(&key.as_str()) && !patches {
            see(NamedValue::Command(value))?;
        } else if command && keys::is_folder(key) {
            see(NamedValue::Folder(value))?;
            if !value.is_null() && !keys::is_folder_of(tool, key) {
                see(NamedValue::Odd)?;
            }
        } else {
            inner(tool, key, value, DEEPEST, see)?;
        }
    }
    Ok(())
}

fn inner<'a>(
    tool: &str,
    key: &str,
    value: &'a Value,
    depth: usize,
    see: &mut impl FnMut(NamedValue<'a>) -> Result<(), Trouble>,
) -> Result<(), Trouble> {
    let about = Key::of(tool, key);
    match value {
        Value::String(text) if about.is_file() => see(NamedValue::Text(text, about == Key::Contents)),
        Value::String(text) if about != Key::Text => {
            see(NamedValue::Other(text, depth < DEEPEST && !keys::is_label(key)))
        }
        Value::Array(_) | Value::Object(_) if depth == 0 => see(NamedValue::Odd),
        Value::Array(list) => {
            list.iter().try_for_each(|item| inner(tool, key, item, depth.saturating_sub(1), see))
        }
        Value::Object(map) => {
            if about.is_file() {
                see(NamedValue::Odd)?;
            }
            map.iter().try_for_each(|(key, item)| inner(tool, key, item, depth.saturating_sub(1), see))
        }
        Value::Bool(_) | Value::Number(_) if about.is_file() => see(NamedValue::Odd),
        _ => Ok(()),
    }
}

/// The files that a patch names, in the two formats that agents use.
fn patched(patch: &str) -> impl Iterator<Item = &str> {
    const HEADS: [&str; 8] = [
        "*** Add File: ",
        "*** Update File: ",
        "*** Delete File: ",
        "*** Move to: ",
        "--- ",
        "+++ ",
        "rename from ",
        "rename to ",
    ];
    patch.lines().filter_map(|line| {
        let (head, name) = HEADS.iter().find_map(|head| Some((*head, line.strip_prefix(head)?)))?;
        let name = name.split('\t').next().unwrap_or(name).trim_end();
        let prefixed = matches!(head, "--- " | "+++ ");
        let plain = name.strip_prefix("a/").or_else(|| name.strip_prefix("b/")).filter(|_| prefixed);
        Some(plain.unwrap_or(name)).filter(|name| !(prefixed && *name == "/dev/null"))
    })
}

fn collect<'a>(
    tool: &str,
    arguments: &'a Map<String, Value>,
    mut analysis: impl FnMut(&'a Value) -> Result<Rc<Analysis>, Trouble>,
) -> Result<Named, Trouble> {
    let mut named = Named::default();
    visit(tool, arguments, &mut |seen| {
        match seen {
            NamedValue::Text(text, _) => named.file(text)?,
            // A single word inside another argument is a path to some tool, whatever it is called.
            NamedValue::Other(text, true) if is_word(text) => named.file(text)?,
            NamedValue::Command(value) => named.command(&*analysis(value)?)?,
            NamedValue::Folder(Value::Null) | NamedValue::Other(..) => {}
            // Two of them could mean two folders.
            NamedValue::Folder(Value::String(folder)) if named.folder.is_none() => {
                named.folder = Some(folder.clone());
            }
            NamedValue::Folder(_) | NamedValue::Odd => return Err(UNREADABLE),
        }
        if named.texts.len() > MOST { Err(Trouble::LongList) } else { Ok(()) }
    })?;
    Ok(named)
}

/// Whether a text may be a path under a name that says nothing of files.
fn is_word(text: &str) -> bool {
    !text.is_empty() && text.len() <= OTHER && !text.contains(char::is_whitespace)
}

/// Shows every text of a call that may name files, also where only a shell could read the command, and whether what lies there is
/// read. `others`: those under names that say nothing of files too.
pub(crate) fn each_text<'a>(
    tool: &str,
    arguments: &'a Map<String, Value>,
    work: &WorkBudget<'a>,
    others: bool,
    look: &mut impl FnMut(&str, bool) -> Result<(), Trouble>,
) -> Result<(), Trouble> {
    visit(tool, arguments, &mut |seen| match seen {
        NamedValue::Text(text, reads) => look(text, reads),
        // A single word is a path to some tool, whatever its argument is called.
        NamedValue::Other(text, _) if others && is_word(text) => look(text, false),
        NamedValue::Folder(Value::String(text)) => look(text, true),
        NamedValue::Command(value @ (Value::String(_) | Value::Array(_))) => {
            let analysis = work.analysis(value)?;
            let mut words = analysis.each_word().map_err(|()| Trouble::Work)?;
            words.try_for_each(|(word, reads)| look(word, reads))
        }
        NamedValue::Command(_) | NamedValue::Folder(_) | NamedValue::Other(..) | NamedValue::Odd => Ok(()),
    })
}

impl Named {
    /// Whether git runs, which obeys the configuration of the folder it is in. `gh` runs it to find the repository.
    pub fn asks_git(&self) -> bool {
        ["git", "gh"].iter().any(|program| self.programs.contains(*program))
    }

    /// A text that names a file, or all files that fit it.
    fn file(&mut self, text: &str) -> Result<(), Trouble> {
        for one in wild::alternatives(text).ok_or(UNREADABLE)? {
            if one != text && leads_elsewhere(text, &one) {
                return Err(UNREADABLE);
            }
            self.texts.insert(one);
        }
        // Whoever resolves it follows a plain way up.
        let climbs = |part: &str| part != ".." && wild::could_climb(part);
        if wild::is_wild(text) && text.split('/').any(climbs) {
            return Err(UNREADABLE);
        }
        self.texts.insert(text.to_owned());
        Ok(())
    }

    fn command(&mut self, analysis: &Analysis) -> Result<(), Trouble> {
        let commands = analysis.commands().map_err(|_| UNREADABLE)?;
        let moved = shell::moved(commands).map_err(|_| UNREADABLE)?;
        if let Some(folder) = moved.folder {
            // Two of them could mean two folders.
            if self.folder.replace(folder.to_owned()).is_some() {
                return Err(UNREADABLE);
            }
            self.moved = true;
        }
        for command in moved.commands {
            let argv = shell::without_folder(&command.argv);
            let Some((program, words)) = argv.split_first() else { continue };
            self.programs.insert(program.clone());
            // Numbers, branches and addresses of an interface are no files.
            let files = !shell::WORDS_ONLY.contains(&program.as_str()) && program != "gh";
            let patterns = shell::patterns_at(argv.iter().map(String::as_str));
            for (at, word) in (1..).zip(words).filter(|_| files) {
                if !patterns.contains(&at) {
                    self.word(program, word)?;
                }
            }
            let opened = command.redirects.iter().filter(|redirect| !redirect.is_free());
            self.texts.extend(opened.map(|redirect| redirect.target.clone()));
        }
        Ok(())
    }

    fn word(&mut self, program: &str, word: &str) -> Result<(), Trouble> {
        // Some programs take it for a file with more arguments.
        if word.starts_with('@') && program != "git" {
            return Err(UNREADABLE);
        }
        if !word.starts_with('-') {
            let read = wild::alternatives(word).unwrap_or_default();
            if read.iter().any(|one| one != word && leads_elsewhere(word, one)) {
                return Err(UNREADABLE);
            }
            self.texts.insert(word.to_owned());
            if program == "diff" {
                self.files.insert(word.to_owned());
            }
            return Ok(());
        }
        let delimiter =
            DELIMITERS.iter().any(|(of, flag)| *of == program && word.strip_prefix(flag) == Some("/"));
        match word.split_once('=') {
            Some((_, value)) if leads_away(value) => self.texts.insert(value.to_owned()),
            None if leads_away(word) && !delimiter => return Err(UNREADABLE),
            _ => false,
        };
        Ok(())
    }
}

/// Whether one reading of a text begins elsewhere than the text, or climbs.
fn leads_elsewhere(text: &str, one: &str) -> bool {
    let begins = |text: &str| text.starts_with(['/', '~']).then(|| text.chars().next());
    begins(text) != begins(one) || one.split('/').any(wild::could_climb)
}

/// Whether a word can lead out of the folder it is read in. A link inside can as well, but then the word is a path.
fn leads_away(word: &str) -> bool {
    word.contains('/') || word.starts_with('~') || word.contains("..")
}

impl<'a> Place<'a> {
    /// The folder of the agent that holds this path.
    fn root(&self, path: &str, work: &WorkBudget<'_>) -> Result<Option<&'a str>, Trouble> {
        work.spend(path.len().saturating_add(self.roots.len().saturating_mul(20)))?;
        if !is_resolved(path) {
            return Err(Trouble::Unplaced);
        }
        Ok(self.roots.iter().find(|root| lies_in(path, root)).map(String::as_str))
    }

    /// Whether what a text leads to lies in the agent's folders. A text that was not resolved is an error.
    pub(crate) fn holds(&self, text: &str, work: &WorkBudget<'_>) -> Result<bool, Trouble> {
        work.spend(text.len() / 16)?;
        let path = self.context.get("paths").and_then(|paths| paths.get(text)?.as_str());
        Ok(self.root(path.ok_or(Trouble::Unplaced)?, work)?.is_some())
    }

    /// Whether the call happens in the agent's folders: the folder it runs in, everything it names, and git's own repository.
    pub(crate) fn holds_call<'v>(
        &self,
        tool: &str,
        arguments: &'v Map<String, Value>,
        work: &WorkBudget<'v>,
    ) -> Result<bool, Trouble> {
        let folder = self.context.get("cwd").and_then(Value::as_str).ok_or(Trouble::Unplaced)?;
        // Without it nobody followed the links in the folder's name either.
        if !self.context.get("paths").is_some_and(Value::is_object) {
            return Err(Trouble::Unplaced);
        }
        let Some(root) = self.root(folder, work)? else { return Ok(false) };
        let named = collect(tool, arguments, |value| work.analysis(value))?;
        // Of an older hook program, which did not follow it there, the folder and the paths would be others.
        let followed = self.context.get("moved").and_then(Value::as_str);
        if named.moved && followed != named.folder.as_deref() {
            return Err(Trouble::Unplaced);
        }
        for text in &named.texts {
            if !self.holds(text, work)? {
                return Ok(false);
            }
        }
        if named.asks_git() { self.is_quiet(root) } else { Ok(true) }
    }

    /// The folder of the agent in which the whole call happens; nothing if some of it happens elsewhere.
    pub(crate) fn holding<'v>(
        &self,
        tool: &str,
        arguments: &'v Map<String, Value>,
        work: &WorkBudget<'v>,
    ) -> Result<Option<&'a str>, Trouble> {
        if !self.holds_call(tool, arguments, work)? {
            return Ok(None);
        }
        let folder = self.context.get("cwd").and_then(Value::as_str).ok_or(Trouble::Unplaced)?;
        let Some(root) = self.root(folder, work)? else { return Ok(None) };
        // All in this one, and not one of its files in another one.
        let paths = self.context.get("paths").and_then(Value::as_object).into_iter().flat_map(Map::values);
        Ok(paths.filter_map(Value::as_str).all(|path| lies_in(path, root)).then_some(root))
    }

    /// Whether the call runs in the agent's folders. That is enough of one that runs confined: it reaches no others.
    fn holds_folder(&self, work: &WorkBudget<'_>) -> Result<bool, Trouble> {
        let folder = self.context.get("cwd").and_then(Value::as_str).ok_or(Trouble::Unplaced)?;
        Ok(self.root(folder, work)?.is_some())
    }

    /// Whether git would start no other program here, and read no other repository than the one of the agent's folder.
    fn is_quiet(&self, root: &str) -> Result<bool, Trouble> {
        let git = self.context.get("git").ok_or(Trouble::Unplaced)?;
        let runs = git.get("runs").and_then(Value::as_array).ok_or(Trouble::Unplaced)?;
        let repository = match git.get("repository") {
            Some(Value::Null) => return Ok(runs.is_empty()),
            Some(Value::String(repository)) => repository,
            _ => return Err(Trouble::Unplaced),
        };
        // From the top of a larger one git shows what lies outside of the folder.
        Ok(runs.is_empty() && lies_in(root, repository) && lies_in(repository, root))
    }
}

/// Whether a path is a whole one, as the hook program resolves it.
fn is_resolved(path: &str) -> bool {
    path.starts_with('/') && !path.split('/').any(|segment| segment == "..")
}

/// Whether one resolved path is the other, or lies in it.
fn lies_in(path: &str, folder: &str) -> bool {
    let mut segments = path.split('/').filter(|segment| !segment.is_empty());
    folder.split('/').filter(|segment| !segment.is_empty()).all(|wanted| segments.next() == Some(wanted))
}

/// What a rule that asks for the workspace says of a call.
pub(crate) fn inside<'v>(
    tool: Option<&str>,
    arguments: &'v Map<String, Value>,
    confined: bool,
    work: &WorkBudget<'v>,
) -> Tri {
    let (Some(tool), Some(place)) = (tool, work.place()) else { return Tri::Error(Trouble::Unplaced) };
    let held = if confined { place.holds_folder(work) } else { place.holds_call(tool, arguments, work) };
    Tri::from_result(held)
}

/// What a rule that asks for the files of a list says of a call: that it names such files, and nothing else, and runs no command.
pub(crate) fn among<'v>(
    tool: Option<&str>,
    arguments: &'v Map<String, Value>,
    files: &Files,
    work: &WorkBudget<'v>,
) -> Tri {
    let (Some(tool), Some(place)) = (tool, work.place()) else { return Tri::Error(Trouble::Unplaced) };
    let all = || {
        let named = collect(tool, arguments, |value| work.analysis(value))?;
        if named.texts.is_empty() || named.folder.is_some() || !named.programs.is_empty() {
            return Ok(false);
        }
        for text in &named.texts {
            let path = place.context.get("paths").and_then(|paths| paths.get(text)?.as_str());
            let path = path.filter(|path| is_resolved(path)).ok_or(Trouble::Unplaced)?;
            work.spend(path.len())?;
            if !files.has_exactly(path) {
                return Ok(false);
            }
        }
        Ok(true)
    };
    Tri::from_result(all())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn texts(tool: &str, arguments: &Value) -> Option<Vec<String>> {
        Some(named(tool, arguments.as_object().unwrap())?.texts.into_iter().collect())
    }

    #[test]
    fn every_argument_and_word_that_may_lead_to_a_file_is_named() {
        let some = |list: &[&str]| Some(list.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>());
        assert_eq!(texts("Read", &json!({"file_path": "/a/b", "limit": 5})), some(&["/a/b"]));
        assert_eq!(
            texts("Grep", &json!({"pattern": "/x/", "path": "src", "glob": "*.rs"})),
            some(&["*.rs", "src"])
        );
        assert_eq!(texts("Glob", &json!({"pattern": "../**"})), some(&["../**"]));
        assert_eq!(texts("read_many_files", &json!({"paths": ["a", "b"]})), some(&["a", "b"]));
        let bash = |command: &str| texts("Bash", &json!({"command": command}));
        assert_eq!(bash("cat a.txt < /etc/hosts 2>/dev/null"), some(&["/etc/hosts", "a.txt"]));
        assert_eq!(bash("grep -n --include=../x 'a b' src | head -5"), some(&["../x", "src"]));
        assert_eq!(bash("grep -n '/x/' src; rg @a"), some(&["src"]));
        assert_eq!(bash("echo /etc; tr / -"), some(&[]));
        assert_eq!(bash("cut -d/ -f1 x"), some(&["x"]));
        assert_eq!(bash("find . -newer /x -name '*.rs'"), some(&["*.rs", ".", "/x"]));
        assert_eq!(texts("shell", &json!({"command": ["cat", "a"], "workdir": "b"})), some(&["a"]));
    }

    #[test]
    fn what_nobody_can_read_names_nothing_for_certain() {
        for (tool, arguments) in [
            ("Bash", json!({"command": "cat $X"})),
            ("Bash", json!({"command": "cat *.txt"})),
            ("Bash", json!({"command": "grep -f/etc/shadow x"})),
            ("Bash", json!({"command": 5})),
            ("Bash", json!({})),
            ("Bash", json!({"command": ["cat", 5]})),
            ("run_shell_command", json!({"command": "ls", "directory": "/a", "dir_path": "/b"})),
            ("bash", json!({"command": "ls", "workdir": ["/a"]})),
            ("bash", json!({"command": "ls", "cwd": "/a"})),
            ("Bash", json!({"command": "ls", "workdir": "/a"})),
            ("Glob", json!({"pattern": ".{.,}/*"})),
            ("Glob", json!({"pattern": "{/etc,x}/*"})),
            ("Read", json!({"file_path": {"a": 1}})),
            ("Read", json!({"paths": ["a", 1]})),
            ("Bash", json!({"command": "ls $(id)"})),
        ] {
            assert_eq!(named(tool, arguments.as_object().unwrap()), None, "{tool} {arguments}");
        }
    }

    #[test]
    fn a_command_says_whether_git_runs_and_where() {
        let all = |arguments: Value| named("Bash", arguments.as_object().unwrap()).unwrap();
        assert!(all(json!({"command": "ls && git status"})).programs.contains("git"));
        assert!(!all(json!({"command": "echo git status"})).programs.contains("git"));
        assert_eq!(
            all(json!({"command": "diff -u a b | cat c"})).files,
            ["a".to_owned(), "b".to_owned()].into()
        );
        let gemini = json!({"command": "ls", "directory": "x"});
        let gemini = named("run_shell_command", gemini.as_object().unwrap()).unwrap();
        assert_eq!(gemini.folder.as_deref(), Some("x"));
        assert_eq!(named("LS", json!({"directory": "x"}).as_object().unwrap()).unwrap().folder, None);
    }
}

//! Against real shells: the words bash and dash execute are the words the strict view gives.
//!
//! Nothing real can run: `PATH` has recording stubs or nothing at all, bash's own built-ins are switched off, the folder is
//! empty and temporary, and only texts that the strict view calls literal are tried.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use placet_policy::shell::{Mode, Operator, Simple, analyse};

use crate::compositions::PASSING;
use crate::support::{Random, argvs};

/// Records every command bash cannot find, which is every command.
const RECORDER: &str = r#"
command_not_found_handle() { printf '%s\0' "$@" > "$RECORD/$BASHPID"; return "$CODE"; }
exec 3>/dev/null 4>/dev/null 5>/dev/null 6>/dev/null 7>/dev/null 8>/dev/null 9>/dev/null
for name in $(compgen -b); do
  case $name in printf|return|enable) ;; *) enable -n "$name" ;; esac
done
enable -n enable
"#;

const STUB: &str = "#!/bin/sh\nprintf '%s\\0' \"${0##*/}\" \"$@\" > \"$RECORD/$$\"\nexit \"$CODE\"\n";

/// Names that stay built-ins of the recording shells.
const UNSAFE_NAMES: &[&str] = &["printf", "return", "enable"];

pub(crate) struct Sandbox {
    home: tempfile::TempDir,
}

/// What was executed, in no order (a pipe has none), and which files exist afterwards.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Ran {
    argvs: Vec<Vec<String>>,
    files: BTreeSet<String>,
}

impl Sandbox {
    pub(crate) fn new() -> Self {
        let home = tempfile::tempdir().expect("a folder");
        fs::write(home.path().join("recorder"), RECORDER).expect("written");
        fs::create_dir(home.path().join("bin")).expect("made");
        Self { home }
    }

    fn run(&self, mut command: Command, text: &str, code: u8, inputs: &[String]) -> Ran {
        let (work, record) = (self.home.path().join("work"), self.home.path().join("record"));
        for folder in [&work, &record] {
            let _ = fs::remove_dir_all(folder);
            fs::create_dir(folder).expect("made");
        }
        for input in inputs {
            fs::write(work.join(input), "").expect("written");
        }
        let status = command
            .args(["-c", "--", text])
            .current_dir(&work)
            .env("RECORD", &record)
            .env("CODE", code.to_string())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .expect("the shell starts");
        assert!(status.code().is_some(), "{text:?} ended by a signal");
        // One file per command: commands of a pipe run at the same time.
        let mut argvs: Vec<Vec<String>> = entries(&record)
            .map(|path| {
                let bytes = fs::read(path).expect("read");
                let words = bytes.strip_suffix(&[0]).expect("a whole record").split(|byte| *byte == 0);
                words.map(|word| String::from_utf8_lossy(word).into_owned()).collect()
            })
            .collect();
        argvs.sort();
        let name = |path: PathBuf| path.file_name().expect("a name").to_string_lossy().into_owned();
        let files = entries(&work).map(name).collect();
        Ran { argvs, files }
    }

    pub(crate) fn bash(&self, text: &str, code: u8, inputs: &[String]) -> Ran {
        let mut command =
            Command::new(if Path::new("/bin/bash").exists() { "/bin/bash" } else { "/usr/bin/bash" });
        command.args(["--norc", "--noprofile"]).env_clear();
        command.env("PATH", "/nonexistent").env("BASH_ENV", self.home.path().join("recorder"));
        self.run(command, text, code, inputs)
    }

    fn dash(&self, text: &str, code: u8, inputs: &[String], programs: &BTreeSet<&str>) -> Ran {
        let bin = self.home.path().join("bin");
        for program in programs {
            write_stub(&bin.join(program));
        }
        let mut command = Command::new("/usr/bin/dash");
        command.env_clear().env("PATH", &bin);
        self.run(command, text, code, inputs)
    }
}

fn entries(folder: &Path) -> impl Iterator<Item = PathBuf> {
    fs::read_dir(folder).expect("read").map(|entry| entry.expect("read").path())
}

fn write_stub(path: &Path) {
    if !path.exists() {
        fs::write(path, STUB).expect("written");
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("set");
    }
}

/// What a shell would run if every command ended with this code.
pub(crate) fn expected(commands: &[Simple], code: u8) -> Ran {
    let mut ran = Ran { argvs: Vec::new(), files: BTreeSet::new() };
    let mut status = 0;
    let mut running = true;
    for command in commands {
        running = match command.operator {
            Some(Operator::Pipe) => running,
            Some(Operator::And) => status == 0,
            Some(Operator::Or) => status != 0,
            None | Some(Operator::Semicolon | Operator::Newline) => true,
        };
        if running {
            status = code;
            ran.argvs.push(command.argv.clone());
            ran.files.extend(command.redirects.iter().filter(|r| !r.is_free()).map(|r| r.target.clone()));
        }
    }
    ran.files.extend(inputs(commands));
    ran.argvs.sort();
    ran
}

fn inputs(commands: &[Simple]) -> Vec<String> {
    let all = commands.iter().flat_map(|command| &command.redirects);
    all.filter(|r| r.mode == Mode::Read && !r.is_free()).map(|r| r.target.clone()).collect()
}

/// Texts that could reach a real file or a built-in that had to stay are not run.
pub(crate) fn can_run(commands: &[Simple]) -> bool {
    let plain = |name: &str| {
        !name.contains('/') && !name.is_empty() && name != "." && name != ".." && name.len() < 200
    };
    commands.iter().all(|command| {
        plain(&command.argv[0])
            && !UNSAFE_NAMES.contains(&command.argv[0].as_str())
            && command.redirects.iter().all(|r| r.is_free() || plain(&r.target))
    }) && commands.iter().map(|command| command.argv.iter().map(String::len).sum::<usize>()).sum::<usize>()
        < 3_000
}

/// Runs the text with every command succeeding and again with every command failing. False if it is not for running.
pub(crate) fn bash_agrees(sandbox: &Sandbox, text: &str) -> bool {
    let analysis = analyse(text);
    let Ok(commands) = analysis.commands() else { return false };
    if !can_run(commands) {
        return false;
    }
    for code in [0, 1] {
        let real = sandbox.bash(text, code, &inputs(commands));
        assert_eq!(real, expected(commands, code), "bash and the strict view differ on {text:?}");
    }
    true
}

/// A literal command line in random spelling, with the words it must come out as.
pub(crate) fn literal_line(random: &mut Random, programs: &[&str]) -> (String, Vec<Vec<String>>) {
    const PLAIN: &[&str] = &[
        "a", "-l", "--x=y", "b.c", "d/e", "HEAD~1", "x^", "1", "22", "%H", "+%Y", "a:b", "@", "c#d", "e,f",
        "-", "--", "k=v", "_",
    ];
    const QUOTED: &[&str] = &[
        "a b", "$(x)", "`x`", "*", "?", "[a]", "{a,b}", "~", ";", "&&", "|", ">f", "<", "#c", "", "x\ny",
        "é", "\t", "(", ")", "=x", "if", "$x", "2",
    ];
    const OPERATORS: &[&str] =
        &["; ", ";", " && ", "&&", " || ", " | ", "|", "\n", " ;\n", " &&\n\n", " |\n  ", " # c ' \" $(\n"];
    const REDIRECTS: &[&str] =
        &[" >/dev/null", " 2>&1", " >out", " 2>>err", " <in", ">o2", " 1>&2", " < 'i n'"];
    let mut text = String::new();
    let mut all = Vec::new();
    for index in 0..=random.below(4) {
        if index > 0 {
            text.push_str(random.pick(OPERATORS));
        }
        let program = random.pick(programs);
        text.push_str(if random.below(5) == 0 { "\"" } else { "" });
        let quoted = text.ends_with('"');
        text.push_str(program);
        text.push_str(if quoted { "\"" } else { "" });
        let mut argv = vec![program.to_owned()];
        for _ in 0..random.below(5) {
            text.push_str(random.pick(&[" ", "  ", "\t", " \t ", " \\\n", " \\\n\t"]));
            let mut word = String::new();
            let mut start = true;
            for _ in 0..=random.below(3) {
                match random.below(5) {
                    4 => {
                        let (piece, value) = random.pick(&[
                            ("\\;", ";"),
                            ("\\(", "("),
                            ("\\ ", " "),
                            ("\\*", "*"),
                            ("\\|", "|"),
                            ("\\\\", "\\"),
                            ("\\$x", "$x"),
                            ("\\'", "'"),
                            ("\\\"", "\""),
                            ("\\#", "#"),
                            ("\\~", "~"),
                            ("\"\\\"\"", "\""),
                            ("\"a\\\\|b\"", "a\\|b"),
                            ("\"\\$x\"", "$x"),
                            ("\"a$\"", "a$"),
                            ("\"$ a$|b$)$/\"", "$ a$|b$)$/"),
                        ]);
                        text.push_str(piece);
                        word.push_str(value);
                    }
                    0 => {
                        let piece = random.pick(QUOTED);
                        text.extend(["'", piece, "'"]);
                        word.push_str(piece);
                    }
                    1 => {
                        let piece = random.pick(&[
                            "a b",
                            "'",
                            "*",
                            ";",
                            "#",
                            "\\d",
                            "~",
                            "é\u{200b}",
                            "(",
                            "x\ny",
                            "",
                        ]);
                        text.extend(["\"", piece, "\""]);
                        word.push_str(piece);
                    }
                    _ => {
                        let piece = random.pick(PLAIN);
                        // Inside a word these would be the first character after nothing, or after `=` or `:`.
                        let piece = if start { piece } else { piece.trim_start_matches(['~', '=', '^']) };
                        text.push_str(piece);
                        word.push_str(piece);
                    }
                }
                start = false;
            }
            argv.push(word);
        }
        if random.below(4) == 0 {
            // Digits right before a redirection would be its descriptor.
            text.push_str(if text.ends_with(|c: char| c.is_ascii_digit()) { " " } else { "" });
            text.push_str(random.pick(REDIRECTS));
        }
        all.push(argv);
    }
    if random.below(6) == 0 {
        text.push_str(random.pick(&[" <<'END'", " << \"END\" >/dev/null", " <<-'END'", " <<END"]));
        text.push('\n');
        // A text that is expanded must have nothing to expand.
        let literal: &[&str] = &["", "a b\n", "\tc; d\n\n", "don't\n", "END x\n"];
        let bodies = if text.ends_with("<<END\n") { literal } else { &["", "$(x) `y` \\\n", "\"\nrm\n"] };
        text.push_str(random.pick(bodies));
        text.push_str("END");
        text.push_str(random.pick(&["", "\n", "\n\n"]));
    }
    (text, all)
}

#[test]
fn literal_lines_in_any_spelling_come_out_as_their_words_and_bash_agrees() {
    let sandbox = Sandbox::new();
    let mut random = Random(42);
    let programs = ["git", "ls", "echo", "true", "test", "cd", "x", "a-b", "if2"];
    let mut ran = 0;
    for round in 0..4_000 {
        let (text, words) = literal_line(&mut random, &programs);
        assert_eq!(argvs(&text).as_ref(), Some(&words), "{text:?}: {:?}", analyse(&text).commands());
        // Every text is read; every tenth is also executed, for time.
        if round % 10 == 0 && bash_agrees(&sandbox, &text) {
            ran += 1;
        }
    }
    println!("{ran} generated lines executed by bash as read");
    assert!(ran > 300, "{ran}");
}

#[test]
fn what_the_preset_lets_pass_is_what_bash_executes() {
    let sandbox = Sandbox::new();
    let mut ran = 0;
    for (index, text) in PASSING.iter().enumerate() {
        let next = PASSING[(index + 7) % PASSING.len()];
        for text in [
            (*text).to_owned(),
            format!("{text} 2>&1 | {next}"),
            format!("{text} && {next} || {text}\n{next} # c"),
        ] {
            ran += usize::from(bash_agrees(&sandbox, &text));
        }
    }
    assert!(ran > 130, "{ran}");
}

#[test]
fn edge_cases_of_reading_agree_with_bash() {
    let sandbox = Sandbox::new();
    for text in [
        "a#b",
        "a #b\nc",
        "a ''#b",
        "a b;#c\nd",
        "a;b;",
        "a 2>f",
        "a 2 >f",
        "a x2>f",
        "a '2'>f",
        "a \"\"2>f",
        "a>f b",
        "a >f>g",
        "a 2>&1 b",
        "a 2>&1|b",
        "a 2>&1;b",
        "a 1>&2 2>f",
        "a <f b",
        "a 0<f",
        "a >>f >>f",
        "a '' \"\"",
        "a 'x'y\"z\"",
        "'a' b",
        "\"a\" b",
        "a\tb",
        "a  b ",
        " a",
        "\n\na\n\nb\n",
        "a &&\nb",
        "a ||\n\nb",
        "a |\nb",
        "a && # c\nb",
        "a |#c\nb",
        "a&&#c\n#d\n\nb",
        "a>f#x",
        "a>>f</dev/null",
        "a HEAD~1",
        "a x~y",
        "a x^",
        "a a=b",
        "a --a=b",
        "a %1",
        "a @",
        "a +x",
        "a -",
        "a --",
        "a :",
        ": a",
        "a ,",
        "a .",
        "a ./b",
        "a \"\\d\\.\"",
        "a '\\d'",
        "a \"'\" '\"'",
        "'if' x",
        "echo if",
        "a ; b\nc && d | e || f",
        "a \"x\ny\" 'z\nw'",
        "a 'é' \"\u{202e}\"",
        "a \"#\" '#'",
        "a x'#'y",
        "a 9>f",
        "a 3>&1",
        "a 'b' # don't",
        "a # \"\nb",
        "a>/dev/null",
        "a </dev/null|b",
        "a 2>/dev/null>f",
        "a \\\n b",
        "a \\\n# b\nc",
        "a x$ y",
        "a x$\nb",
        "a \\'b\\' \\\"",
        "a <<'E'\n$(b)\nE",
        "a <<'E' b >f\n$(b)\nE\nc d",
        "a <<\"E\" && b\nx\nE\n",
        "a <<E | b <<'F'\n1\nE\n$2\nF\nc",
        "a <<-E\n\tx\n\tE\nb",
        "a <<E &&\nx\nE\nb",
        "a <<E # c\nx\nE\nb",
        "a 3<<E\nx\nE",
        "a <<E;b\nx\nE",
        "a <<E\nE",
        "a <<E\n E\nE",
    ] {
        assert!(bash_agrees(&sandbox, text), "not run: {text:?} {:?}", analyse(text).commands());
    }
}

#[test]
fn dash_executes_the_same_words() {
    if !Path::new("/usr/bin/dash").exists() {
        println!("no dash here");
        return;
    }
    let sandbox = Sandbox::new();
    let mut random = Random(43);
    let programs = ["git", "ls", "grep", "head", "x", "a-b"];
    let stubs: BTreeSet<&str> = programs.into_iter().collect();
    // The stubs are scripts of the same shell; `printf` is its built-in.
    let mut ran = 0;
    for _ in 0..150 {
        let (text, _) = literal_line(&mut random, &programs);
        let analysis = analyse(&text);
        let Ok(commands) = analysis.commands() else { continue };
        if can_run(commands) {
            let real = sandbox.dash(&text, 0, &inputs(commands), &stubs);
            assert_eq!(real, expected(commands, 0), "dash and the strict view differ on {text:?}");
            ran += 1;
        }
    }
    assert!(ran > 100, "{ran}");
}

#[test]
fn the_harness_sees_a_difference() {
    let sandbox = Sandbox::new();
    let analysis = analyse("a b; c");
    let commands = analysis.commands().expect("flat");
    assert_ne!(sandbox.bash("a b; d", 0, &[]), expected(commands, 0));
    assert_ne!(sandbox.bash("a b; c > f", 0, &[]), expected(commands, 0));
    assert_ne!(sandbox.bash("a $(echo b); c", 0, &[]), expected(commands, 0));
    assert_ne!(sandbox.bash("a b && c", 1, &[]), expected(commands, 1));
}

#[test]
fn a_message_that_cat_prints_is_the_word_that_bash_and_dash_give_the_program() {
    let bodies = [
        "Fix it\n\n- a\n- b",
        "see (this [one](two)) and $(rm -rf x) ${y}\n\n",
        "don't \"do\" #3",
        "don't (really)",
        "Use `x` (not \"y\") and it's \\ done (#3)",
        "",
        "  indented\n\ttab\n\nCo-Authored-By: A <a@b.test>",
        "E\nEO\nEOFX",
    ];
    for body in bodies {
        let document = if body.is_empty() { String::new() } else { format!("{body}\n") };
        let text = format!("git commit -q -m \"$(cat <<'EOF'\n{document}EOF\n)\"");
        let analysis = analyse(&text);
        let [commit] = analysis.commands().expect("literal") else { panic!("{text}") };
        for shell in ["bash", "dash"] {
            let script = format!("git() {{ printf '%s\\0' git \"$@\"; }}\n{text}");
            let output = Command::new(shell).args(["-c", "--", &script]).stdin(Stdio::null()).output();
            let output = output.expect("the shell starts").stdout;
            let words: Vec<_> = output.split(|byte| *byte == 0).map(String::from_utf8_lossy).collect();
            assert_eq!(words.split_last().expect("words").1, commit.argv, "{shell}: {text}");
        }
    }
    for text in [
        "rm -m \"$(cat <<'EOF'\nx\nEOF\n)\"",
        "git commit -m \"x$(cat <<'EOF'\nx\nEOF\n)\"",
        "git commit \"$(cat <<'EOF'\nx\nEOF\n)\"",
    ] {
        assert!(analyse(text).is_opaque(), "{text}");
    }
}

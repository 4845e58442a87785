//! `placet run`: a command in the confinement of `placet-confine`. Nothing here starts a thread: namespaces need one alone.

use std::{
    ffi::OsStr,
    io::Write as _,
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::Context as _;
use placet_confine::{FAILED, Limits, Profile, VERSION};
use serde::Deserialize;

use crate::cli::RunArgs;

pub(crate) mod marks;
#[cfg(target_os = "linux")]
mod records;

use marks::Marks;

/// Toolchains and settings of a home folder that builds and tests read.
const SHOW: [&str; 30] = [
    "~/.cargo",
    "~/.rustup",
    "~/.pyenv",
    "~/.rbenv",
    "~/.nvm",
    "~/.volta",
    "~/.fnm",
    "~/.asdf",
    "~/.sdkman",
    "~/.jenv",
    "~/.goenv",
    "~/go",
    "~/.deno",
    "~/.bun",
    "~/.dotnet",
    "~/.nuget/packages",
    "~/.m2/repository",
    "~/.gradle/wrapper",
    "~/.local/bin",
    "~/.local/lib",
    "~/.local/share/uv",
    "~/.local/share/mise",
    "~/.local/share/pnpm",
    "~/.local/share/fnm",
    "~/.local/pipx",
    "~/miniconda3",
    "~/.gitconfig",
    "~/.config/git/config",
    "~/.config/git/ignore",
    "~/.nix-profile",
];
/// What the preset holds an edit of, and a build must be able to make.
const MADE_BY_BUILDS: [&str; 21] = [
    ".git",
    "makefile",
    "gnumakefile",
    "*.mk",
    "justfile",
    ".justfile",
    "taskfile.yml",
    "taskfile.yaml",
    "rakefile",
    "site-packages",
    "sitecustomize.py",
    "usercustomize.py",
    "*.pth",
    ".yarn",
    ".pnp.*",
    ".cargo",
    ".gitattributes",
    ".tool-versions",
    "crontab",
    ".login",
    ".jshintrc.js",
];
/// Folders with too many files of others to search them for secrets.
const SKIP: [&str; 4] = ["node_modules", "target", "__pycache__", ".venv"];
/// Variables that usually hold secrets.
const DROP: [&str; 16] = [
    "*_TOKEN",
    "*_SECRET",
    "*_KEY",
    "*_PASSWORD",
    "*_PASSWD",
    "*_CREDENTIALS",
    "*_AUTH",
    "AWS_*",
    "AZURE_*",
    "GOOGLE_APPLICATION_CREDENTIALS",
    "KUBECONFIG",
    "DOCKER_HOST",
    "DATABASE_URL",
    "PGPASSWORD",
    "GPG_AGENT_INFO",
    "NPM_CONFIG_*AUTH*",
];

/// The lists of files that a preset has.
#[derive(Debug, Deserialize)]
struct Preset {
    paths: PresetPaths,
}

#[derive(Debug, Deserialize)]
struct PresetPaths {
    secrets: Vec<String>,
    obeyed: Vec<String>,
}

/// Runs the command, and ends as it did.
pub(crate) fn run(args: &RunArgs) -> ExitCode {
    #[cfg(target_os = "linux")]
    if args.records || args.clear.is_some() {
        return records::run(args).unwrap_or_else(|error| refuse(&format!("{error:#}")));
    }
    match confined(args) {
        Ok(code) => code,
        Err(error) => refuse(&format!("{error:#}. Nothing was run")),
    }
}

fn refuse(sentence: &str) -> ExitCode {
    let _ = writeln!(std::io::stderr(), "placet run: {sentence}");
    ExitCode::from(FAILED)
}

fn confined(args: &RunArgs) -> anyhow::Result<ExitCode> {
    if args.ask {
        // Whoever asks does so by typing this: the hook of the agent holds it for a person, and hands over what was approved.
        anyhow::bail!("`--ask` is answered by the hook of your agent, and no hook saw this command");
    }
    if let Some(mark) = &args.prove {
        return prove(args, mark);
    }
    let profile = match &args.profile {
        Some(text) => Profile::read(text)?,
        None => of_this_folder()?,
    };
    // Before anything runs: the mark says that this run is the one that was allowed, and only the first one is.
    if let (Some(mark), false) = (&profile.mark, args.print_profile) {
        let marks = args
            .marks
            .as_deref()
            .context("the profile has a mark, and `--marks` does not say where it is")?;
        Marks::at(marks).take(mark).context("this run was not allowed, or was begun before")?;
    }
    if args.print_profile {
        let _ = writeln!(std::io::stdout(), "{}", serde_json::to_string_pretty(&profile)?);
        return Ok(ExitCode::SUCCESS);
    }
    #[cfg(target_os = "linux")]
    return Ok(ExitCode::from(match placet_confine::run(&profile, &args.command) {
        Ok(code) => code,
        Err(problem) => placet_confine::failed(&problem),
    }));
    #[cfg(not(target_os = "linux"))]
    Err(placet_confine::Problem::Unsupported.into())
}

/// Shows that the agent ran what it was handed. The mark is taken if a command can be confined here, inside whatever the agent itself
/// runs in.
fn prove(args: &RunArgs, mark: &str) -> anyhow::Result<ExitCode> {
    let marks = Marks::at(args.marks.as_deref().context("`--prove` needs `--marks`")?);
    marks.reach(mark)?;
    #[cfg(target_os = "linux")]
    if placet_confine::probe().works {
        marks.take_reached(mark)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The profile of a call that was allowed confined to these folders.
pub(crate) fn profile_for(
    workspace: &[String],
    cwd: &Path,
    request: &str,
    mark: &str,
    seconds: u64,
) -> anyhow::Result<Profile> {
    let home = std::env::var_os("HOME").map(PathBuf::from).context("`HOME` is not set")?;
    let root = workspace.iter().map(PathBuf::from).find(|root| cwd.starts_with(root));
    let root = root.context("the call is not in a folder that is open to the agent")?;
    let mut profile = preset_profile(root, cwd.to_path_buf(), &home)?;
    profile.read_only.extend(searched(&profile.workspace, std::env::var_os("PATH").as_deref())?);
    profile.limits.seconds = seconds.clamp(1, profile.limits.seconds);
    profile.request = Some(request.to_owned());
    profile.mark = Some(mark.to_owned());
    profile.check()?;
    Ok(profile)
}

/// Folders of the workspace in which programs are looked for: what a confined command writes there, another one would run free.
fn searched(workspace: &[PathBuf], path: Option<&OsStr>) -> anyhow::Result<Vec<String>> {
    let mut folders = Vec::new();
    let Some(path) = path.filter(|path| !path.is_empty()) else { return Ok(folders) };
    for entry in std::env::split_paths(path) {
        if entry.as_os_str().is_empty() || entry.is_relative() {
            anyhow::bail!("`PATH` has a folder that depends on where one is: `{}`", entry.display());
        }
        let real = std::fs::canonicalize(&entry).unwrap_or_else(|_| entry.clone());
        for folder in [entry, real] {
            if workspace.iter().any(|root| folder.starts_with(root)) {
                let folder = folder.into_os_string().into_string();
                folders.push(folder.map_err(|_| anyhow::anyhow!("a folder of `PATH` is not UTF-8"))?);
            }
        }
    }
    Ok(folders)
}

/// The profile of the coding preset for the folder we are in, or for the repository around it.
fn of_this_folder() -> anyhow::Result<Profile> {
    let cwd =
        std::env::current_dir().and_then(std::fs::canonicalize).context("the folder cannot be found out")?;
    let root = cwd.ancestors().find(|folder| folder.join(".git").exists()).unwrap_or(&cwd).to_path_buf();
    let home = std::env::var_os("HOME").map(PathBuf::from).context("`HOME` is not set")?;
    let profile = preset_profile(root, cwd, &home)?;
    profile.check()?;
    Ok(profile)
}

fn preset_profile(root: PathBuf, cwd: PathBuf, home: &Path) -> anyhow::Result<Profile> {
    let text = placet_policy::preset("coding-agent").context("there is no preset `coding-agent`")?;
    let preset: Preset = toml::from_str(text).context("the preset `coding-agent` has no lists of files")?;
    let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    let read_only =
        preset.paths.obeyed.into_iter().filter(|name| !MADE_BY_BUILDS.contains(&name.as_str())).collect();
    Ok(Profile {
        version: VERSION,
        workspace: vec![root],
        cwd,
        home: home.to_path_buf(),
        show: owned(&SHOW),
        read_only,
        hidden: preset.paths.secrets,
        skip: owned(&SKIP),
        hosts: Vec::new(),
        drop_env: owned(&DROP),
        limits: Limits::default(),
        kept: None,
        request: None,
        mark: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_of_the_workspace_in_which_programs_are_looked_for_stay_as_they_are() {
        let workspace = [PathBuf::from("/w/p")];
        let of = |path: &str| searched(&workspace, Some(path.as_ref()));
        assert_eq!(
            of("/usr/bin:/w/p/.venv/bin:/w/pq:/w/p").unwrap(),
            ["/w/p/.venv/bin", "/w/p/.venv/bin", "/w/p", "/w/p"]
        );
        for relative in ["bin:/usr/bin", ".:/usr/bin", "/usr/bin:", "/usr/bin::/bin"] {
            assert!(of(relative).is_err(), "{relative}");
        }
        assert!(searched(&workspace, None).unwrap().is_empty());
    }

    #[test]
    fn the_presets_names_make_a_valid_profile() {
        let profile = preset_profile("/w/p".into(), "/w/p".into(), Path::new("/home/ada")).unwrap();
        profile.check().unwrap();
        assert!(
            profile.hidden.contains(&".env".to_owned()) && profile.read_only.contains(&".claude".to_owned())
        );
        assert!(!profile.read_only.contains(&"makefile".to_owned()));
        assert_eq!(Profile::read(&profile.to_argument().unwrap()).unwrap(), profile);
    }
}

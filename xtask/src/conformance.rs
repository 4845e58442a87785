//! `cargo xtask conformance`: runs tests and clients of other projects against Placet. By hand, because they need a
//! checkout.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::str::FromStr;

use anyhow::{Context, Result, bail, ensure};
use clap::{Args, Subcommand, ValueEnum};
use serde_json::json;

use crate::evidence::{self, Profile, Variant};
use crate::process::{Workspace, succeed};
use crate::python::Pool;

#[derive(Args)]
pub(crate) struct ConformanceArgs {
    #[command(subcommand)]
    target: Target,
}

#[derive(Subcommand)]
enum Target {
    /// The API tests and the decorator of google/adk-python-community, against the door for its clients
    Community(Checkout),
    /// `hitl.py` and `send_event.py` of disler/claude-code-hooks-multi-agent-observability, against the door for them;
    /// then 200 answers while the agent's listener is away, and 50 kills between answer and delivery
    Events(Checkout),
    /// The kit of a2aproject/a2a-tck, against the approval desk and through the proxy: its branch `1.0-dev` or `0.3.x`, whichever
    /// is checked out
    A2a(Checkout),
    /// Every operation of the OpenAPI document as schemathesis makes its calls up, with the keys of an agent, a reviewer and an
    /// admin
    Openapi(Examples),
    /// The google-adk adapter with older versions of google-adk, each in an environment of its own
    Adk(Versions),
    /// The approval tests of adk-deepagents, with our functions in place of the framework's
    Deepagents(Checkout),
    /// The decorator tests of google/adk-python-community, with our decorator in place of theirs
    Decorator(Checkout),
}

#[derive(Args)]
struct Versions {
    /// Versions of google-adk; the ones that changed how calls pause, unless given
    #[arg(value_name = "VERSION")]
    versions: Vec<String>,
}

#[derive(Args)]
struct Examples {
    /// How many calls are made up for each operation, beside those at the limits of its schema
    #[arg(long, default_value_t = 100)]
    examples: u32,
}

#[derive(Args)]
struct Checkout {
    /// A folder with that project's sources; nothing is written there
    #[arg(long, value_name = "DIR")]
    checkout: PathBuf,
}

/// The tests of another project, by the name of their subcommand, and a checkout of it: `a2a=DIR`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Kit {
    name: KitName,
    checkout: PathBuf,
}

#[derive(Clone, Copy, Debug, PartialEq, ValueEnum)]
enum KitName {
    Community,
    Events,
    A2a,
    Deepagents,
    Decorator,
}

impl FromStr for Kit {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let names = || KitName::value_variants().iter().filter_map(ValueEnum::to_possible_value);
        let expected = || {
            let names: Vec<String> = names().map(|name| name.get_name().to_owned()).collect();
            format!("give a name and a folder, like `a2a=../a2a-tck`; the names are {}", names.join(", "))
        };
        let (name, checkout) = text.split_once('=').ok_or_else(expected)?;
        let name = KitName::from_str(name, false).map_err(|_| expected())?;
        let checkout = PathBuf::from(checkout);
        if !checkout.is_dir() {
            return Err(format!("`{}` is not a folder", checkout.display()));
        }
        Ok(Self { name, checkout })
    }
}

pub(crate) fn run(workspace: &Workspace, args: &ConformanceArgs) -> Result<ExitCode> {
    let kit = |name, checkout: &Checkout| Kit { name, checkout: checkout.checkout.clone() };
    let kit = match &args.target {
        Target::Community(checkout) => kit(KitName::Community, checkout),
        Target::Events(checkout) => kit(KitName::Events, checkout),
        Target::A2a(checkout) => kit(KitName::A2a, checkout),
        Target::Deepagents(checkout) => kit(KitName::Deepagents, checkout),
        Target::Decorator(checkout) => kit(KitName::Decorator, checkout),
        Target::Adk(versions) => {
            let placet = evidence::build(workspace, Profile::Dev, Variant::Product)?;
            adk(workspace, &placet, &versions.versions)?;
            return Ok(ExitCode::SUCCESS);
        }
        Target::Openapi(args) => {
            let placet = evidence::build(workspace, Profile::Dev, Variant::Product)?;
            openapi(workspace, &placet, args.examples)?;
            return Ok(ExitCode::SUCCESS);
        }
    };
    run_kit(workspace, &kit)?;
    Ok(ExitCode::SUCCESS)
}

/// Runs one kit from its checkout.
pub(crate) fn run_kit(workspace: &Workspace, kit: &Kit) -> Result<()> {
    let checkout = &kit.checkout;
    match kit.name {
        KitName::Community => community(workspace, checkout),
        KitName::Events => events(workspace, checkout),
        KitName::A2a => a2a(workspace, checkout),
        KitName::Deepagents => swapped(workspace, "deepagents.py", checkout),
        KitName::Decorator => swapped(workspace, "adk_community.py", checkout),
    }
}

/// Their file unchanged, with our fixture and our decorator tests appended: the last fixture of a name wins.
fn community(workspace: &Workspace, checkout: &Path) -> Result<()> {
    let theirs = checkout.join("tests/unittests/services/test_hitl_approval_api.py");
    let theirs = fs::read_to_string(&theirs).with_context(|| {
        format!("{} is not a checkout of google/adk-python-community", checkout.display())
    })?;
    let placet = evidence::build(workspace, Profile::Dev, Variant::Product)?;
    let folder = workspace.target.join("conformance/community");
    fs::create_dir_all(&folder)?;
    let whole = format!("{}[hitl,test]", checkout.canonicalize()?.display());
    // greenlet: their own tests need it for SQLAlchemy, and their list of packages leaves it out.
    let python = Pool::new(workspace)?.install("conformance-community", &[&whole, "greenlet"])?;
    let test = folder.join("test_community.py");
    fs::write(&test, format!("{theirs}\n\n{}", include_str!("conformance/community.py")))?;
    let mut pytest = Command::new(&python);
    pytest
        .args(["-m", "pytest", "-v", "-s", "-p", "no:cacheprovider", "-W", "ignore"])
        .arg(&test)
        .current_dir(&folder);
    succeed(pytest.env("PLACET_BIN", placet))
}

/// Their scripts unchanged, driven by ours.
fn events(workspace: &Workspace, checkout: &Path) -> Result<()> {
    ensure!(
        checkout.join(".claude/hooks/utils/hitl.py").exists(),
        "{} is not a checkout of disler/claude-code-hooks-multi-agent-observability",
        checkout.display()
    );
    let placet = evidence::build(workspace, Profile::Dev, Variant::Product)?;
    let folder = workspace.target.join("conformance/events");
    fs::create_dir_all(&folder)?;
    let imported = ["websockets>=13", "requests", "python-dotenv", "anthropic"];
    let python = Pool::new(workspace)?.install("conformance-events", &imported)?;
    let mut driver = Command::new(&python);
    driver.arg("-c").arg(include_str!("conformance/events.py")).current_dir(&folder);
    succeed(driver.env("PLACET_BIN", placet).env("CHECKOUT", checkout.canonicalize()?))
}

/// Their kit unchanged, in a copy, because it writes its reports into its own folder.
fn a2a(workspace: &Workspace, checkout: &Path) -> Result<()> {
    let (version, runs): (_, &[&str]) =
        match ["tests/compatibility", "tests/mandatory"].map(|suite| checkout.join(suite).is_dir()) {
            [true, _] => ("1.0", &["desk-1.0", "proxy-1.0"]),
            [_, true] => ("0.3", &["desk-0.3"]),
            _ => bail!("{} is not a checkout of a2aproject/a2a-tck", checkout.display()),
        };
    let placet = evidence::build(workspace, Profile::Dev, Variant::Product)?;
    let folder = workspace.target.join(format!("conformance/a2a-{version}"));
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    fs::create_dir_all(folder.parent().context("a folder to copy to")?)?;
    succeed(Command::new("cp").arg("-R").arg(checkout).arg(&folder))?;
    let wanted = folder.join("pyproject.toml");
    let words = ["-r", &wanted.to_string_lossy()];
    let python = Pool::new(workspace)?.install(&format!("conformance-a2a-{version}"), &words)?;
    // The agent behind the proxy, on the official SDK.
    let sdk = workspace.root.join("sdk/python");
    let tests = format!("PYTHONPATH={}", sdk.join("tests").display());
    let program = Pool::new(workspace)?.prepare("a2a_v10", &sdk)?;
    let program = program.to_string_lossy();
    let main = "from support.serve import main; main()";
    let agent = json!(["env", tests, program, "-W", "ignore", "-c", main, "a2a_v10.sample", "0"]);
    for run in runs {
        let mut driver = Command::new(&python);
        driver.arg("-c").arg(include_str!("conformance/a2a.py")).arg(run).current_dir(&folder);
        succeed(driver.env("PLACET_BIN", &placet).env("AGENT", agent.to_string()))?;
    }
    Ok(())
}

/// The document, and its server, as schemathesis sees them.
pub(crate) fn openapi(workspace: &Workspace, placet: &Path, examples: u32) -> Result<()> {
    let python = Pool::new(workspace)?.install("conformance-openapi", &["schemathesis==4.32.5"])?;
    let mut driver = Command::new(python);
    driver.arg("-c").arg(include_str!("conformance/openapi.py")).arg(examples.to_string());
    succeed(driver.env("PLACET_BIN", placet))
}

/// Makes the environments itself: one for each version.
pub(crate) fn adk(workspace: &Workspace, placet: &Path, versions: &[String]) -> Result<()> {
    let folder = workspace.target.join("conformance/adk");
    fs::create_dir_all(&folder)?;
    let mut driver = Command::new("python3");
    driver.arg(workspace.root.join("sdk/python/conformance/adk_versions.py")).args(versions);
    succeed(driver.arg("--venvs").arg(&folder).env("PLACET_BIN", placet))
}

/// Their tests, imported from the checkout, with our functions in place of theirs.
fn swapped(workspace: &Workspace, script: &str, checkout: &Path) -> Result<()> {
    let sdk = workspace.root.join("sdk/python");
    let python = Pool::new(workspace)?.prepare("adk", &sdk)?;
    let mut driver = Command::new(python);
    driver.arg(sdk.join("conformance").join(script)).arg(checkout.canonicalize()?).current_dir(&sdk);
    succeed(&mut driver)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kit_is_a_known_name_and_a_folder_that_is_there() {
        let here = env!("CARGO_MANIFEST_DIR");
        let kit: Kit = format!("a2a={here}").parse().unwrap();
        assert_eq!(kit, Kit { name: KitName::A2a, checkout: here.into() });
        assert!("a3a=.".parse::<Kit>().unwrap_err().contains("community, events, a2a"));
        assert_eq!("a2a=/no/such/folder".parse::<Kit>().unwrap_err(), "`/no/such/folder` is not a folder");
        assert!("a2a".parse::<Kit>().is_err());
    }
}

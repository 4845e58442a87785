//! `placet policy import`: converts approval settings of other products to a policy, and lists everything that became
//! stricter.

use std::{fs::OpenOptions, io::Write as _};

use placet_policy::{ImportError, Imported, agentkit, deepagents, kagent};

use super::Source;
use crate::{
    cli::ImportArgs,
    exit::usage,
    output::{self, paint, safe},
};

/// Makes the policy and lists what differs.
pub(super) fn run(json: bool, args: &ImportArgs) -> anyhow::Result<u8> {
    type Import = fn(&str) -> Result<Imported, ImportError>;
    let chosen: [(&Option<String>, Import); 3] =
        [(&args.agentkit, agentkit), (&args.kagent, kagent), (&args.deepagents, deepagents)];
    let Some((file, import)) = chosen.into_iter().find_map(|(file, import)| Some((file.as_ref()?, import)))
    else {
        return Err(usage("name what to import: --agentkit FILE, --kagent FILE or --deepagents FILE"));
    };
    let source = Source::read(file)?;
    let imported = import(&source.text).map_err(|error| usage(format!("{}: {error}", source.label)))?;
    if let Some(path) = &args.output {
        // Never overwrites an existing file: it may be the policy in force.
        let file = OpenOptions::new().write(true).create_new(true).open(path);
        file.and_then(|mut file| file.write_all(imported.text.as_bytes()))
            .map_err(|error| usage(format!("`--output`: cannot write {}: {error}", path.display())))?;
    }
    if json {
        output::json(&imported)?;
        return Ok(0);
    }
    for note in &imported.notes {
        let from = paint(output::STRONG, &safe(&note.from));
        output::to_stderr(&format!("{from}: {}", safe(&note.message)));
        output::to_stderr(&paint(output::DIM, &format!("  because {}", safe(&note.why))));
    }
    if args.output.is_none() {
        output::line(imported.text.trim_end())?;
    }
    Ok(0)
}

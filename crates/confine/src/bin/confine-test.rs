//! The runner alone, for the tests of this crate: `placet run` without the rest of Placet.

use std::{ffi::OsString, io::Write as _, process::ExitCode};

/// What `placet run --records` and `--clear` do, without a question.
#[cfg(target_os = "linux")]
fn settle(verb: &str, folder: &str) -> ExitCode {
    let all = || {
        for run in placet_confine::left_runs(folder.as_ref())? {
            let changes = run.changes()?;
            let _ = writeln!(std::io::stdout(), "{} {:?} {:?}", run.name(), run.left(), changes);
            match verb {
                "keep" => run.keep(&changes)?,
                "keep-unseen" => run.keep(&[])?,
                "restore" => run.restore(&changes)?,
                _ => {}
            }
        }
        Ok(())
    };
    match all() {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            let told = match &problem {
                placet_confine::Problem::Left { told, .. } => told.join("\n"),
                problem => problem.to_string(),
            };
            let _ = writeln!(std::io::stdout(), "{told}");
            ExitCode::FAILURE
        }
    }
}

fn main() -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    let words: Vec<&str> = arguments.iter().filter_map(|word| word.to_str()).collect();
    match words[..] {
        #[cfg(target_os = "linux")]
        [placet_confine::STAGE, ..] => placet_confine::stage(&arguments[1..]),
        #[cfg(target_os = "linux")]
        ["run", "--profile", profile, "--", ..] => {
            let result = placet_confine::Profile::read(profile)
                .and_then(|profile| placet_confine::run(&profile, &arguments[4..]));
            ExitCode::from(result.unwrap_or_else(|problem| placet_confine::failed(&problem)))
        }
        #[cfg(target_os = "linux")]
        [verb @ ("records" | "keep" | "keep-unseen" | "restore"), folder] => settle(verb, folder),
        #[cfg(target_os = "linux")]
        ["probe"] => {
            let probe = placet_confine::probe();
            let _ = writeln!(std::io::stdout(), "{}", probe.sentences.join("\n"));
            ExitCode::from(u8::from(!probe.works))
        }
        _ => ExitCode::from(placet_confine::FAILED),
    }
}

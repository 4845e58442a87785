//! The runner alone, for the tests of this crate: `placet run` without the rest of Placet.

use std::{ffi::OsString, io::Write as _, process::ExitCode};

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
        ["probe"] => {
            let probe = placet_confine::probe();
            let _ = writeln!(std::io::stdout(), "{}", probe.sentences.join("\n"));
            ExitCode::from(u8::from(!probe.works))
        }
        _ => ExitCode::from(placet_confine::FAILED),
    }
}

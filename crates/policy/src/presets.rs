//! Policies that come with the program.

/// The text of the preset `default`.
pub const DEFAULT: &str = include_str!("../presets/default.toml");

const PRESETS: [(&str, &str); 5] = [
    ("default", DEFAULT),
    ("coding-agent", include_str!("../presets/coding-agent.toml")),
    ("payments", include_str!("../presets/payments.toml")),
    ("database", include_str!("../presets/database.toml")),
    ("kubernetes", include_str!("../presets/kubernetes.toml")),
];

const NAMES: [&str; 5] = ["default", "coding-agent", "payments", "database", "kubernetes"];

/// The text of a preset.
pub fn preset(name: &str) -> Option<&'static str> {
    PRESETS.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
}

/// The text of what is named so: `coding-agent`, or `coding-agent+network-reads` with that switch on. The error says what there is.
pub fn preset_as_named(name: &str) -> Result<String, String> {
    let (preset_name, switches) = name.split_once('+').unwrap_or((name, ""));
    let Some(text) = preset(preset_name) else {
        return Err(format!("there is no preset `{preset_name}`: there are {}", NAMES.join(", ")));
    };
    if switches.is_empty() {
        return Ok(text.to_owned());
    }
    // Quoted as JSON, which is TOML here: no name can end the text and go on with something else.
    let list: Vec<String> = switches.split('+').map(|name| format!("{name:?}")).collect();
    let line = format!("version = 1\nswitches = [{}]\n", list.join(", "));
    Ok(text.replacen("version = 1\n", &line, 1))
}

/// The names of the presets.
pub fn names() -> &'static [&'static str] {
    &NAMES
}

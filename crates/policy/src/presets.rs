//! Policies that come with the program.

const PRESETS: [(&str, &str); 5] = [
    ("default", include_str!("../presets/default.toml")),
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

/// The names of the presets.
pub fn names() -> &'static [&'static str] {
    &NAMES
}

//! Names of principals and teams: which are valid, and which look alike.

/// Whether a name is valid for a principal or a team: short, printable, without spaces.
pub fn valid_name(name: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"._@+-:/".contains(&byte);
    (1..=128).contains(&name.len())
        && name.bytes().all(allowed)
        && name.bytes().next().is_some_and(|byte| byte.is_ascii_alphanumeric())
}

/// Whether a text can name a tool.
pub fn valid_tool(name: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"_./:-".contains(&byte);
    (1..=200).contains(&name.len()) && name.bytes().all(allowed)
}

/// What a hurried reader sees: case, separators and look-alike characters make no difference.
pub fn skeleton(name: &str) -> String {
    let mut seen = String::with_capacity(name.len());
    for character in name.chars().filter(|character| !"._@+-:/".contains(*character)) {
        let drawn = match character.to_ascii_lowercase() {
            '0' => 'o',
            '1' | 'i' => 'l',
            other => other,
        };
        match (seen.chars().next_back(), drawn) {
            (Some('r'), 'n') => {
                seen.pop();
                seen.push('m');
            }
            (Some('v'), 'v') => {
                seen.pop();
                seen.push('w');
            }
            _ => seen.push(drawn),
        }
    }
    seen
}

/// Whether two names count as one person: they are equal or look alike.
pub fn alike(one: &str, other: &str) -> bool {
    one == other || skeleton(one) == skeleton(other)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn names_are_plain() {
        for good in ["ann", "billing-bot", "ann@example.com", "team/agent:1"] {
            assert!(valid_name(good), "{good}");
        }
        for bad in ["", " ann", "an n", "ann\u{202e}", "-x", "änn", &"x".repeat(129)] {
            assert!(!valid_name(bad), "{bad}");
        }
    }

    #[test]
    fn names_that_look_alike_are_alike() {
        for (one, other) in [
            ("ann", "Ann"),
            ("bob", "b0b"),
            ("arn", "am"),
            ("bill", "b1ll"),
            ("bill", "bi11"),
            ("wendy", "vvendy"),
            ("billing-bot", "billing.bot"),
            ("ann@example.com", "annexample-com"),
            ("ops/Ann", "opsann"),
        ] {
            assert!(alike(one, other) && alike(other, one), "{one} {other}");
        }
        for (one, other) in
            [("ann", "anna"), ("bot1", "bot2"), ("ann", "dan"), ("van", "wan"), ("rob", "r0n")]
        {
            assert!(!alike(one, other), "{one} {other}");
        }
    }

    proptest! {
        #[test]
        fn a_skeleton_is_the_skeleton_of_whatever_it_is_the_skeleton_of_in_any_case(name in "[A-Za-z0-9][A-Za-z0-9._@+:/-]{0,20}") {
            prop_assert_eq!(skeleton(&name), skeleton(&name.to_ascii_uppercase()));
            prop_assert_eq!(skeleton(&name), skeleton(&name.replace(['.', '-', '/'], "")));
        }
    }
}

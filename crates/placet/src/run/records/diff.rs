//! The difference between two texts, line by line.

/// Lines around a difference that are shown.
const AROUND: usize = 2;
/// Most pairs of lines that are compared. Longer texts are shown whole.
const MOST: usize = 4_000_000;

/// `- ` begins a line that is gone, `+ ` one that is new, and two spaces one that is in both.
pub(super) fn diff(before: &str, now: &str) -> Vec<String> {
    let (before, now) = (lines(before), lines(now));
    let alike = |(one, other): &(&&str, &&str)| one == other;
    let start = before.iter().zip(&now).take_while(alike).count();
    let (old, new) = (&before[start..], &now[start..]);
    let end = old.iter().rev().zip(new.iter().rev()).take_while(alike).count();
    let (old, new) = (&old[..old.len() - end], &new[..new.len() - end]);
    let mut lines: Vec<(char, &str)> = before[..start].iter().map(|line| (' ', *line)).collect();
    lines.extend(between(old, new));
    lines.extend(before[before.len() - end..].iter().map(|line| (' ', *line)));
    let is_near = |at: usize| {
        let near = &lines[at.saturating_sub(AROUND)..lines.len().min(at + AROUND + 1)];
        near.iter().any(|(sign, _)| *sign != ' ')
    };
    let shown = lines.iter().enumerate().filter(|(at, _)| is_near(*at));
    shown.map(|(_, (sign, line))| format!("{sign} {line}")).collect()
}

/// Not `str::lines`: that takes two kinds of line ends for one.
fn lines(text: &str) -> Vec<&str> {
    if text.is_empty() { Vec::new() } else { text.split('\n').collect() }
}

fn between<'a>(old: &[&'a str], new: &[&'a str]) -> Vec<(char, &'a str)> {
    if old.len().saturating_mul(new.len()) > MOST {
        let gone = old.iter().map(|line| ('-', *line));
        return gone.chain(new.iter().map(|line| ('+', *line))).collect();
    }
    // The longest common part of what follows each pair of lines.
    let width = new.len() + 1;
    let mut common = vec![0_u32; (old.len() + 1) * width];
    for i in (0..old.len()).rev() {
        for j in (0..new.len()).rev() {
            common[i * width + j] = if old[i] == new[j] {
                common[(i + 1) * width + j + 1] + 1
            } else {
                common[(i + 1) * width + j].max(common[i * width + j + 1])
            };
        }
    }
    let (mut i, mut j, mut lines) = (0, 0, Vec::new());
    while i < old.len() || j < new.len() {
        if i < old.len() && j < new.len() && old[i] == new[j] {
            lines.push((' ', old[i]));
            (i, j) = (i + 1, j + 1);
        } else if j == new.len()
            || (i < old.len() && common[(i + 1) * width + j] >= common[i * width + j + 1])
        {
            lines.push(('-', old[i]));
            i += 1;
        } else {
            lines.push(('+', new[j]));
            j += 1;
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_went_and_came_are_shown_with_two_around_them() {
        let before = "1\n2\n3\n4\n5\n6\n7\n8\n";
        assert_eq!(
            diff(before, "1\n2\n3\n4\nfive\n6\nmore\n7\n8\n"),
            ["  3", "  4", "- 5", "+ five", "  6", "+ more", "  7", "  8"]
        );
        assert_eq!(diff(before, before), [""; 0]);
        assert_eq!(diff("", "a\nb"), ["+ a", "+ b"]);
        assert_eq!(diff("a\nb", ""), ["- a", "- b"]);
        assert_eq!(diff("a\r\n", "a\n"), ["- a\r", "+ a", "  "]);
        assert_eq!(diff("a\nb\nc", "b\nc\nd"), ["- a", "  b", "  c", "+ d"]);
    }
}

//! Whether an answer fits the question: one check per input type, used for answers and for suggested defaults alike.

use data_encoding::BASE64;
use serde_json::Value;

use crate::{Input, InputType, Invalid, visible};

/// Longest text answer, in characters.
const TEXT_CHARS: usize = 16_384;
/// Largest file, in bytes. Encoded and wrapped it still fits the body limit.
pub const FILE_BYTES: usize = 128 * 1024;

/// Checks an answer against its question; `at` is the pointer to the answer in the caller's body.
pub fn check_answer(input: &Input, answer: &Value, at: &str) -> Result<(), Invalid> {
    let wrong = |message: String| Err(Invalid::new(at, message));
    if answer.is_null() {
        return if input.required { wrong("the question needs an answer".to_owned()) } else { Ok(()) };
    }
    let options = input.input.options.as_deref().unwrap_or_default();
    match input.input.kind {
        InputType::Text => match answer.as_str() {
            None => wrong("expected text".to_owned()),
            Some(text) if input.required && text.is_empty() => {
                wrong("the question needs an answer, not empty text".to_owned())
            }
            Some(text) if text.chars().count() > TEXT_CHARS => {
                wrong(format!("the text is longer than {TEXT_CHARS} characters"))
            }
            Some(_) => Ok(()),
        },
        InputType::Number => {
            let Some(number) = answer.as_f64().filter(|_| answer.is_number()) else {
                return wrong("expected a number".to_owned());
            };
            if let Some(min) = &input.input.min
                && min.as_f64().is_none_or(|min| number < min)
            {
                return wrong(format!("the number is below the minimum of {min}"));
            }
            if let Some(max) = &input.input.max
                && max.as_f64().is_none_or(|max| number > max)
            {
                return wrong(format!("the number is above the maximum of {max}"));
            }
            Ok(())
        }
        InputType::Choice => match answer.as_str() {
            Some(choice) if options.iter().any(|option| option == choice) => Ok(()),
            _ => wrong(format!("expected one of the {} options, spelled exactly", options.len())),
        },
        InputType::MultiChoice => {
            let Some(choices) = answer.as_array() else {
                return wrong("expected a list of options".to_owned());
            };
            if input.required && choices.is_empty() {
                return wrong("the question needs at least one option".to_owned());
            }
            for (index, choice) in choices.iter().enumerate() {
                let known =
                    choice.as_str().is_some_and(|choice| options.iter().any(|option| option == choice));
                if !known {
                    return Err(Invalid::new(
                        format!("{at}/{index}"),
                        "not one of the options, which must be spelled exactly",
                    ));
                }
                if choices.iter().take(index).any(|earlier| earlier == choice) {
                    return Err(Invalid::new(format!("{at}/{index}"), "the option is chosen twice"));
                }
            }
            Ok(())
        }
        InputType::Date => {
            let date = answer
                .as_str()
                .filter(|text| text.len() == 10)
                .and_then(|text| text.parse::<jiff::civil::Date>().ok());
            if date.is_some() { Ok(()) } else { wrong("expected a date such as 2026-11-15".to_owned()) }
        }
        InputType::File => check_file(answer, at),
    }
}

fn check_file(answer: &Value, at: &str) -> Result<(), Invalid> {
    let Some(file) = answer.as_object() else {
        return Err(Invalid::new(at, "expected a file: {name, media_type, content_base64}"));
    };
    if let Some(extra) =
        file.keys().find(|key| !["name", "media_type", "content_base64"].contains(&key.as_str()))
    {
        return Err(Invalid::new(format!("{at}/{}", escape(extra)), "unknown field of a file"));
    }
    let text = |field: &str, most: usize| {
        file.get(field)
            .and_then(Value::as_str)
            .filter(|text| !text.is_empty() && text.len() <= most)
            .ok_or_else(|| {
                Invalid::new(
                    format!("{at}/{field}"),
                    format!("a file needs `{field}`: text of 1 to {most} bytes"),
                )
            })
    };
    let name = text("name", 255)?;
    if name.contains(['/', '\\', '\0']) || name == "." || name == ".." {
        return Err(Invalid::new(format!("{at}/name"), "a file name cannot contain path separators"));
    }
    // People read the name when they save or list the file, so it must show what it is.
    if !name.chars().all(visible) || name.trim() != name {
        return Err(Invalid::new(
            format!("{at}/name"),
            "a file name cannot contain control, reordering or invisible characters, nor begin or end with a space",
        ));
    }
    if !is_media_type(text("media_type", 127)?) {
        return Err(Invalid::new(
            format!("{at}/media_type"),
            "expected a media type such as `text/plain` or `text/plain; charset=utf-8`",
        ));
    }
    // An empty file is a file, so its content may be empty text.
    let content = file.get("content_base64").and_then(Value::as_str);
    match content.map(|content| BASE64.decode(content.as_bytes())) {
        Some(Ok(bytes)) if bytes.len() <= FILE_BYTES => Ok(()),
        Some(Ok(_)) => Err(Invalid::new(
            format!("{at}/content_base64"),
            format!("the file is larger than {FILE_BYTES} bytes"),
        )),
        _ => Err(Invalid::new(format!("{at}/content_base64"), "expected padded standard base64")),
    }
}

/// `type/subtype`, then parameters: plain ASCII, as it goes into a header.
fn is_media_type(text: &str) -> bool {
    let token = |part: &str| {
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$&^_.+-*'%`|~".contains(&byte);
        !part.is_empty() && part.bytes().all(allowed)
    };
    let value = |part: &str| {
        let quoted = part.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
        let plain = |byte: u8| (b' '..=b'~').contains(&byte) && byte != b'"' && byte != b'\\';
        token(part) || quoted.is_some_and(|inside| inside.bytes().all(plain))
    };
    let mut parts = text.split(';');
    let essence = parts.next().and_then(|essence| essence.trim_end_matches(' ').split_once('/'));
    essence.is_some_and(|(kind, subtype)| token(kind) && token(subtype))
        && parts.all(|parameter| {
            parameter.trim_matches(' ').split_once('=').is_some_and(|(name, is)| token(name) && value(is))
        })
}

/// Escapes one segment of a JSON pointer.
pub(crate) fn escape(segment: &str) -> String {
    segment.replace('~', "~0").replace('/', "~1")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::InputSpec;

    fn question(spec: Value, required: bool) -> Input {
        let input: InputSpec = serde_json::from_value(spec).unwrap();
        Input { question: "?".to_owned(), input, required, default: None }
    }

    fn fits(spec: Value, answer: Value) -> bool {
        check_answer(&question(spec, true), &answer, "/answer").is_ok()
    }

    #[test]
    fn every_type_takes_its_own_answer_and_refuses_the_others() {
        let file = json!({"name":"a.txt","media_type":"text/plain","content_base64":"aGk="});
        let samples = [
            (json!({"type":"text"}), json!("hello")),
            (json!({"type":"number"}), json!(4.5)),
            (json!({"type":"choice","options":["red","blue"]}), json!("red")),
            (json!({"type":"multi_choice","options":["red","blue"]}), json!(["blue"])),
            (json!({"type":"date"}), json!("2026-11-15")),
            (json!({"type":"file"}), file),
        ];
        for (row, (spec, _)) in samples.iter().enumerate() {
            for (column, (_, answer)) in samples.iter().enumerate() {
                // A date and a choice are text too, so text takes them.
                let expected = row == column || (row == 0 && answer.is_string());
                assert_eq!(fits(spec.clone(), answer.clone()), expected, "{spec} <- {answer}");
            }
        }
    }

    #[test]
    fn numbers_are_bounded_on_both_sides_inclusively() {
        let spec = json!({"type":"number","min":1,"max":10});
        for (answer, expected) in [
            (json!(1), true),
            (json!(10), true),
            (json!(0.999), false),
            (json!(10.001), false),
            (json!("5"), false),
        ] {
            assert_eq!(fits(spec.clone(), answer.clone()), expected, "{answer}");
        }
    }

    #[test]
    fn a_required_question_refuses_null_and_emptiness() {
        assert!(!fits(json!({"type":"text"}), Value::Null));
        assert!(!fits(json!({"type":"text"}), json!("")));
        assert!(!fits(json!({"type":"multi_choice","options":["a"]}), json!([])));
        assert!(check_answer(&question(json!({"type":"text"}), false), &Value::Null, "").is_ok());
    }

    #[test]
    fn multi_choice_refuses_strangers_and_repetitions_by_position() {
        let input = question(json!({"type":"multi_choice","options":["a","b"]}), true);
        assert_eq!(check_answer(&input, &json!(["a", "c"]), "/answer").unwrap_err().pointer, "/answer/1");
        assert_eq!(check_answer(&input, &json!(["a", "a"]), "/answer").unwrap_err().pointer, "/answer/1");
    }

    #[test]
    fn files_are_bounded_and_cannot_name_paths() {
        let file =
            |name: &str, content: String| json!({"name":name,"media_type":"x/y","content_base64":content});
        assert!(fits(json!({"type":"file"}), file("a", BASE64.encode(&vec![0; FILE_BYTES]))));
        assert!(!fits(json!({"type":"file"}), file("a", BASE64.encode(&vec![0; FILE_BYTES + 1]))));
        assert!(!fits(json!({"type":"file"}), file("../a", String::new())));
        assert!(!fits(json!({"type":"file"}), file("a", "not base64!".to_owned())));
    }

    #[test]
    fn the_name_and_the_type_of_a_file_read_as_they_are() {
        let file = |name: &str, media_type: &str| json!({"name": name, "media_type": media_type, "content_base64": ""});
        for name in ["report.pdf", "grün 漢字.txt", "a b.c"] {
            assert!(fits(json!({"type":"file"}), file(name, "x/y")), "{name:?}");
        }
        for name in [
            "a\nb",
            "a\u{1b}[31m",
            "inv\u{202e}fdp.exe",
            "a\u{200b}b",
            "a\u{2066}b",
            "a\u{e0041}",
            " a",
            "a\u{a0}b",
        ] {
            assert!(!fits(json!({"type":"file"}), file(name, "x/y")), "{name:?}");
        }
        for good in
            ["text/plain", "text/plain; charset=utf-8", "application/vnd.a+json;v=\"1, 2\"", "image/*"]
        {
            assert!(fits(json!({"type":"file"}), file("a", good)), "{good:?}");
        }
        for bad in [
            "text",
            "/plain",
            "text/",
            "text/plain\r\nX-Evil: 1",
            "text/pl\u{202e}ain",
            "text/plain;",
            "text/plain; a",
            "text /plain",
            "text/plain; a=\"b\nc\"",
            "text/plain; a=b c",
            "te\u{0}xt/plain",
            "tëxt/plain",
        ] {
            assert!(!fits(json!({"type":"file"}), file("a", bad)), "{bad:?}");
        }
    }

    #[test]
    fn impossible_dates_are_refused() {
        for bad in ["2026-02-30", "2026-11-15T00:00:00", "15.11.2026", ""] {
            assert!(!fits(json!({"type":"date"}), json!(bad)), "{bad}");
        }
    }
}

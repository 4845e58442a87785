//! Colour themes of the observability dashboard: the two calls it makes, bounded.

use axum::{
    body::Body,
    extract::{FromRequestParts as _, RawQuery, State as AxumState},
    response::{IntoResponse as _, Response},
};
use data_encoding::HEXLOWER;
use http::{HeaderValue, Request, StatusCode, header};
use placet_gate::{DocumentOutcome, NewDocument};
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};

use super::{Fault, body, read};
use crate::{State, call::Caller, problem::Problem};

/// Largest body of a theme, and how many themes there are at most.
const LARGEST: usize = 64 * 1024;
const MOST: u32 = 200;
/// What a theme is called among the documents of doors.
const KIND: &str = "events.theme";

const COLOURS: [&str; 24] = [
    "primary",
    "primaryHover",
    "primaryLight",
    "primaryDark",
    "bgPrimary",
    "bgSecondary",
    "bgTertiary",
    "bgQuaternary",
    "textPrimary",
    "textSecondary",
    "textTertiary",
    "textQuaternary",
    "borderPrimary",
    "borderSecondary",
    "borderTertiary",
    "accentSuccess",
    "accentWarning",
    "accentError",
    "accentInfo",
    "shadow",
    "shadowLg",
    "hoverBg",
    "activeBg",
    "focusRing",
];

const NAMED: [&str; 11] =
    ["transparent", "black", "white", "red", "green", "blue", "yellow", "cyan", "magenta", "gray", "grey"];

/// `GET /api/themes`: public ones, or those of one author.
pub(super) async fn list(
    AxumState(state): AxumState<State>,
    caller: Result<Caller, Problem>,
    RawQuery(query): RawQuery,
) -> Result<Response, Fault> {
    let Caller(actor) = caller?;
    let themes =
        state.gate.event_documents(&actor, KIND).await.map_err(|error| Fault::gate(&state, error))?;
    let query = query.unwrap_or_default();
    let author = query.split('&').find_map(|pair| pair.strip_prefix("authorId="));
    let mut shown: Vec<Value> = themes.iter().filter_map(|text| serde_json::from_str(text).ok()).collect();
    shown.retain(|theme: &Value| match author {
        Some(author) => theme["authorId"] == *author,
        None => theme["isPublic"] == true,
    });
    Ok(read::json(json!({"success": true, "data": shown}).to_string()))
}

/// `POST /api/themes`.
pub(super) async fn create(
    AxumState(state): AxumState<State>,
    request: Request<Body>,
) -> Result<Response, Fault> {
    let (mut parts, sent) = request.into_parts();
    let Caller(actor) = Caller::from_request_parts(&mut parts, &state).await?;
    state.gate.reads_events(&actor).map_err(|error| Fault::gate(&state, error))?;
    let bytes = body::read(&parts.headers, sent, LARGEST, &state).await?;
    let Ok(Value::Object(theme)) = serde_json::from_slice::<Value>(&bytes) else {
        return Ok(answer(
            StatusCode::BAD_REQUEST,
            &json!({"success": false, "error": "Invalid request body"}),
        ));
    };
    let now = state.gate.now().millis();
    let theme = match checked(&theme, now) {
        Ok(theme) => theme,
        Err(errors) => {
            let refused = json!({"success": false, "error": "Validation failed", "validationErrors": errors});
            return Ok(answer(StatusCode::BAD_REQUEST, &refused));
        }
    };
    let body = Value::Object(theme.clone()).to_string().into();
    let new = NewDocument { kind: KIND, name: text(&theme, "name"), body };
    let stored = state.gate.add_event_document(&actor, new, MOST).await;
    Ok(match stored.map_err(|error| Fault::gate(&state, error))? {
        DocumentOutcome::Stored => answer(
            StatusCode::CREATED,
            &json!({"success": true, "data": theme, "message": "Theme created successfully"}),
        ),
        DocumentOutcome::NameTaken => {
            let taken = error("name", "A theme with this name already exists", "DUPLICATE");
            answer(
                StatusCode::BAD_REQUEST,
                &json!({"success": false, "error": "Theme name already exists", "validationErrors": [taken]}),
            )
        }
        DocumentOutcome::TooMany => answer(
            StatusCode::BAD_REQUEST,
            &json!({"success": false, "error": format!("there are {MOST} themes, which is the limit")}),
        ),
    })
}

fn answer(status: StatusCode, body: &Value) -> Response {
    let json = [(header::CONTENT_TYPE, HeaderValue::from_static("application/json"))];
    (status, json, body.to_string()).into_response()
}

fn error(field: &str, message: &str, code: &str) -> Value {
    json!({"field": field, "message": message, "code": code})
}

fn text(theme: &Map<String, Value>, name: &str) -> String {
    theme.get(name).and_then(Value::as_str).unwrap_or_default().trim().to_owned()
}

/// A theme as it is stored, with nothing in it that was not looked at; or all that is wrong with it.
fn checked(theme: &Map<String, Value>, now: u64) -> Result<Map<String, Value>, Vec<Value>> {
    let mut errors = Vec::new();
    let name: String = text(theme, "name")
        .to_lowercase()
        .chars()
        .filter(|letter| letter.is_ascii_lowercase() || letter.is_ascii_digit() || "-_".contains(*letter))
        .take(100)
        .collect();
    if name.is_empty() {
        errors.push(error("name", "Theme name is required", "REQUIRED"));
    }
    let display: String = text(theme, "displayName").chars().take(100).collect();
    if display.is_empty() {
        errors.push(error("displayName", "Display name is required", "REQUIRED"));
    }
    let none = Map::new();
    let given = theme.get("colors").and_then(Value::as_object).unwrap_or(&none);
    let mut colours = Map::new();
    for key in COLOURS {
        match given.get(key).and_then(Value::as_str).filter(|colour| !colour.is_empty()) {
            None => {
                errors.push(error(&format!("colors.{key}"), &format!("Color {key} is required"), "REQUIRED"));
            }
            Some(colour) if is_colour(colour) => {
                colours.insert(key.to_owned(), colour.into());
            }
            Some(_) => errors.push(error(
                &format!("colors.{key}"),
                &format!("Invalid color format for {key}"),
                "INVALID_COLOR",
            )),
        }
    }
    if !errors.is_empty() {
        return Err(errors);
    }
    let tags = theme.get("tags").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
    let tags: Vec<String> = tags
        .map(|tag| tag.trim().chars().take(50).collect::<String>())
        .filter(|tag| !tag.is_empty())
        .take(20)
        .collect();
    let optional = |name: &str| {
        let text: String = text(theme, name).chars().take(100).collect();
        if text.is_empty() { Value::Null } else { text.into() }
    };
    let checked = json!({
        "id": HEXLOWER.encode(&Sha256::digest(name.as_bytes())[..8]),
        "name": name,
        "displayName": display,
        "description": text(theme, "description").chars().take(500).collect::<String>(),
        "colors": colours,
        "isPublic": theme.get("isPublic").is_some_and(|public| *public == true),
        "authorId": optional("authorId"),
        "authorName": optional("authorName"),
        "createdAt": now,
        "updatedAt": now,
        "tags": tags,
    });
    match checked {
        Value::Object(checked) => Ok(checked),
        _ => Err(errors),
    }
}

/// `#rgb`, `#rrggbb`, `rgb(…)`, `rgba(…)` or one of a few names.
fn is_colour(text: &str) -> bool {
    if let Some(hex) = text.strip_prefix('#') {
        return [3, 6].contains(&hex.len()) && hex.bytes().all(|byte| byte.is_ascii_hexdigit());
    }
    if NAMED.contains(&text.to_lowercase().as_str()) {
        return true;
    }
    let inner = text.strip_prefix("rgba(").or_else(|| text.strip_prefix("rgb("));
    let Some(parts) = inner.and_then(|inner| inner.strip_suffix(')')) else { return false };
    let parts: Vec<&str> = parts.split(',').map(str::trim).collect();
    let number =
        |text: &&str| (1..=3).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
    let share =
        |text: &str| text.len() <= 8 && text.parse::<f64>().is_ok_and(|share| (0.0..=1.0).contains(&share));
    match parts.as_slice() {
        [colours @ .., alpha] if colours.len() == 3 => colours.iter().all(number) && share(alpha),
        colours => colours.len() == 3 && colours.iter().all(number),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_are_colours_and_nothing_else() {
        for good in
            ["#fff", "#A0b1C2", "rgb(1, 2,3)", "rgba(0,0,0,0.5)", "rgba(0,0,0,.5)", "transparent", "Grey"]
        {
            assert!(is_colour(good), "{good}");
        }
        for bad in [
            "",
            "#ffff",
            "#ggg",
            "rgb(1,2)",
            "rgb(1,2,3,4,5)",
            "url(x)",
            "rgba(0,0,0,2)",
            "red;",
            "expression(1)",
        ] {
            assert!(!is_colour(bad), "{bad}");
        }
    }
}

//! Themes: the two calls that the dashboard of this door makes.

use super::*;

fn theme(name: &str) -> Value {
    let keys = [
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
    let colours: serde_json::Map<String, Value> =
        keys.iter().map(|key| ((*key).to_owned(), json!("#0a0b0c"))).collect();
    json!({"name": name, "displayName": "A theme", "colors": colours, "isPublic": true, "tags": ["x"]})
}

#[test]
fn a_theme_is_checked_stored_and_listed() {
    on_sqlite(async |server| {
        let local = server.nobody();
        assert_eq!(
            local.get("/api/themes?isPublic=true").await.expect(200),
            json!({"success": true, "data": []})
        );
        let made = local.post("/api/themes", theme("My Theme!")).await.expect(201);
        assert_eq!((&made["success"], &made["data"]["name"]), (&json!(true), &json!("mytheme")));
        let mut private = theme("hidden");
        private["isPublic"] = json!(false);
        local.post("/api/themes", private).await.expect(201);
        let listed = local.get("/api/themes?isPublic=true").await.expect(200);
        assert_eq!(listed, json!({"success": true, "data": [made["data"]]}));
        let twice = local.post("/api/themes", theme("mytheme")).await.expect(400);
        assert_eq!(
            (&twice["success"], &twice["validationErrors"][0]["code"]),
            (&json!(false), &json!("DUPLICATE"))
        );
        let mut bad = theme("other");
        bad["colors"]["shadow"] = json!("url(https://evil.example)");
        bad["colors"]["hoverBg"] = Value::Null;
        bad["displayName"] = json!("");
        let refused = local.post("/api/themes", bad).await.expect(400);
        let fields: Vec<_> = refused["validationErrors"]
            .as_array()
            .expect("a list")
            .iter()
            .map(|error| error["field"].as_str().expect("a field"))
            .collect();
        assert_eq!(fields, ["displayName", "colors.shadow", "colors.hoverBg"]);
        assert_eq!(
            local.post_bytes("/api/themes", "[]").await.expect(400)["error"],
            json!("Invalid request body")
        );
        assert_eq!(local.post_bytes("/api/themes", "x".repeat(100_000)).await.status, 413);
    });
}

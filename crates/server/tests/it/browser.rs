//! A browser in which somebody signed in: its cookie, its key, and what pages of ours send along.

use std::sync::Arc;

use placet_testkit::{Answer, Http, Server, Signer};
use serde_json::json;

pub(crate) const PASSWORD: &str = "correct horse battery";

/// A browser in which somebody signed in.
#[derive(Clone)]
pub(crate) struct Browser {
    pub(crate) anybody: Http,
    pub(crate) cookie: String,
    pub(crate) csrf: String,
    pub(crate) origin: String,
    pub(crate) signer: Arc<Signer>,
}

impl Browser {
    fn of(server: &Server, answer: Answer, signer: Arc<Signer>) -> Self {
        let cookie = cookie(&answer).expect("a cookie");
        let body = answer.expect(200);
        signer.signed_in(&body);
        let csrf = body["csrf"].as_str().expect("a token").to_owned();
        Self { anybody: server.nobody(), cookie, csrf, origin: server.url(), signer }
    }

    /// Signs in with a link.
    pub(crate) async fn by_link(server: &Server, http: &Http, token: &str) -> Self {
        let signer = Arc::<Signer>::default();
        let answer = http.post("/v1/session/link", json!({"token": token, "key": signer.key()})).await;
        Self::of(server, answer, signer)
    }

    /// Signs in with a password.
    pub(crate) async fn by_password(server: &Server, name: &str, password: &str) -> Self {
        let signer = Arc::<Signer>::default();
        let body = json!({"name": name, "password": password, "key": signer.key()});
        Self::of(server, server.nobody().post("/v1/session", body).await, signer)
    }

    /// With the cookie alone, as every other port of this host gets it.
    pub(crate) fn bare(&self) -> Http {
        self.anybody.clone().with("cookie", &self.cookie)
    }

    /// With the cookie and a signature.
    pub(crate) fn signed(&self) -> Http {
        self.bare().signed(&self.signer)
    }

    /// As our own page calls.
    pub(crate) fn page(&self) -> Http {
        self.stolen().signed(&self.signer)
    }

    /// Everything that our own page sends but the signature: what whoever saw a call has.
    pub(crate) fn stolen(&self) -> Http {
        self.bare()
            .with("origin", &self.origin)
            .with("placet-csrf", &self.csrf)
            .with("sec-fetch-site", "same-origin")
    }

    pub(crate) async fn id(&self) -> String {
        self.page().get("/v1/session").await.expect(200)["session"]["id"].as_str().expect("an id").to_owned()
    }
}

/// The cookie that an answer gives, as it is sent back.
pub(crate) fn cookie(answer: &Answer) -> Option<String> {
    answer.header("set-cookie")?.split(';').next().map(str::to_owned)
}

pub(crate) async fn person(server: &Server, name: &str, roles: &[&str]) {
    server.admin().put(&format!("/v1/people/{name}"), json!({ "roles": roles })).await.expect(200);
}

pub(crate) async fn token(server: &Server, name: &str) -> String {
    let made = server.admin().post(&format!("/v1/people/{name}/link"), json!({})).await.expect(201);
    let url = made["url"].as_str().expect("an address");
    url.strip_prefix("/sign-in/").expect("its path").to_owned()
}

pub(crate) async fn signed_in(server: &Server, name: &str, roles: &[&str]) -> Browser {
    person(server, name, roles).await;
    let token = token(server, name).await;
    Browser::by_link(server, &server.nobody(), &token).await
}

pub(crate) async fn with_password(server: &Server, name: &str, roles: &[&str]) -> Browser {
    let browser = signed_in(server, name, roles).await;
    let set = browser.page().put("/v1/session/password", json!({ "new": PASSWORD })).await;
    assert_eq!(set.status, 204, "{}", set.body);
    browser
}

/// What comes of a link, for whoever does not go on with it.
pub(crate) async fn use_link(http: &Http, token: &str) -> Answer {
    http.post("/v1/session/link", json!({"token": token, "key": Signer::default().key()})).await
}

/// The same of a password.
pub(crate) async fn use_password(http: &Http, name: &str, password: &str) -> Answer {
    let body = json!({"name": name, "password": password, "key": Signer::default().key()});
    http.post("/v1/session", body).await
}

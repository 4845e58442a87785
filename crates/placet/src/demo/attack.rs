//! `placet demo attack`: a row of attacks on a real server. Each must fail, or the story does.

use std::collections::BTreeMap;

use anyhow::{Context as _, bail, ensure};
use placet_client::{Claimant, Client, CreateOptions, Decide, Error, Report};
use placet_core::{Create, Kind, Record, RequestId, State};
use serde_json::{Map, Value, json};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

use super::stage::{Stage, Tone};

/// The public part of a key of a browser: the base point of P-256. The thief has only the cookie, so nothing is signed.
const BROWSER: [&str; 2] =
    ["axfR8uEsQkf4vOblY6RA8ncDfYEt6zOg9KE5RdiYwpY", "T-NC4v4af5uO5-tKfA-eFivOM1drMV7Oy7ZAaDe_UfU"];
/// The most that an answer may have.
const ANSWER: u64 = 64 * 1024;

/// Plays it.
pub(super) async fn play(stage: &mut Stage) -> anyhow::Result<()> {
    let mut attacks = Attacks { stage, failed: 0 };
    Box::pin(attacks.play()).await?;
    let failed = attacks.failed;
    let counts = BTreeMap::from([("attacks", failed), ("worked", 0)]);
    stage.say(Tone::Plain, &format!("\n{failed} attacks, and none worked.")).await?;
    stage
        .end("attack", &counts, &[
            "History: the requests that were attacked, each decided by a person, run at most once.",
            "Ledger: what was refused left no decision and no permit.",
            "docs/operators.md says what Placet does not protect from: a program that runs as the same user.",
        ])
        .await
}

struct Attacks<'a> {
    stage: &'a mut Stage,
    failed: u64,
}

impl Attacks<'_> {
    async fn play(&mut self) -> anyhow::Result<()> {
        let ann = self.stage.person("ann").await?;
        let (robot, key) = self.stage.agent("billing-bot").await?;
        let (other, _) = self.stage.agent("helper-bot").await?;
        self.stage.head("Attacks").await?;
        self.stage.say(Tone::Plain, "A stolen or hostile agent tries to get a payment through. Each line is a real call to this server.\n").await?;

        let asked = ask(&robot, "job-1", 100).await?;
        self.attack("The agent approves its own request").await?;
        self.refused(&["forbidden"], robot.decide(asked.id, &Decide::approve(&asked)).await).await?;
        self.still(&robot, asked.id, State::Pending).await?;

        self.attack("The key of another agent decides it").await?;
        self.refused(&["forbidden", "not_found"], other.decide(asked.id, &Decide::approve(&asked)).await)
            .await?;
        self.still(&robot, asked.id, State::Pending).await?;

        self.attack("The agent claims a permit before anybody decided").await?;
        self.refused(&["not_approved", "still_pending", "not_claimable"], robot.claim(asked.id).await)
            .await?;

        self.attack("The same job is sent again with another amount").await?;
        self.refused(&["idempotency_key_reused"], ask(&robot, "job-1", 9_999).await).await?;

        self.stale(&ann, &robot).await?;
        let edited = ann.decide(asked.id, &edit(&asked, 90)).await?;
        ensure!(edited.state == State::Approved, "one person is enough here: {edited:?}");
        self.permits(&robot, &other, asked.id).await?;

        self.attack("A no is asked again until somebody says yes").await?;
        let again = ask(&robot, "job-2", 500).await?;
        ann.decide(again.id, &Decide::deny(&again, "not this month")).await?;
        let repeated = ask(&robot, "job-2", 500).await?;
        ensure!(repeated.id == again.id && repeated.state == State::Denied, "the no must stay: {repeated:?}");
        self.held("the same job gets the same no").await?;

        self.cookie(&key).await
    }

    /// A yes to what was shown before an edit. Two people must agree on 20,000.
    async fn stale(&mut self, ann: &Client, robot: &Client) -> anyhow::Result<()> {
        self.attack("A yes to a page that is out of date").await?;
        let ben = self.stage.person("ben").await?;
        let asked = ask(robot, "job-3", 20_000).await?;
        let edited = ann.decide(asked.id, &edit(&asked, 15_000)).await?;
        ensure!(edited.state == State::Pending, "two people are needed here: {edited:?}");
        self.refused(
            &["stale_digest", "stale_version"],
            ben.decide(asked.id, &Decide::approve(&asked)).await,
        )
        .await?;
        self.still(robot, asked.id, State::Pending).await?;
        ben.decide(asked.id, &Decide::deny(&edited, "not this month")).await.map(drop).map_err(Into::into)
    }

    /// The permit: for one run, of what was approved, by its holder.
    async fn permits(&mut self, robot: &Client, other: &Client, id: RequestId) -> anyhow::Result<()> {
        self.attack("Another agent takes the permit").await?;
        self.refused(&["forbidden", "not_found"], other.claim(id).await).await?;

        self.attack("The agent runs the arguments that it sent").await?;
        let claimed = robot.claim_as(id, &Claimant::new()?).await?;
        ensure!(claimed.arguments.get("amount") == Some(&json!(90)), "{:?}", claimed.arguments);
        self.held("the permit is for 90, which ann approved, not for 100").await?;

        self.attack("A second process takes the permit as well").await?;
        self.refused(&["already_claimed"], robot.claim_as(id, &Claimant::new()?).await).await?;

        let done = robot.report(id, &claimed.permit, &Report::succeeded()).await?;
        ensure!(done.state == State::Succeeded, "{done:?}");
        self.attack("The used permit is replayed").await?;
        let replayed = robot.report(id, &claimed.permit, &Report::failed("run me again")).await;
        match replayed {
            Err(error) => self.refused::<Record>(&[], Err(error)).await?,
            Ok(record) => {
                ensure!(record.state == State::Succeeded, "the outcome must stay: {record:?}");
                self.held("the first report stays").await?;
            }
        }
        self.attack("The used permit is claimed again").await?;
        self.refused(
            &["already_claimed", "already_reported", "not_claimable", "not_approved"],
            robot.claim(id).await,
        )
        .await
    }

    /// A cookie without the key of its browser.
    async fn cookie(&mut self, key: &str) -> anyhow::Result<()> {
        self.attack("A thief has the cookie of a signed-in person").await?;
        let link = self.stage.admin.person_link("you").await?;
        let (_, token) = link.url.split_once("/sign-in/").context("a link")?;
        let [x, y] = BROWSER;
        let body = json!({"token": token, "key": {"x": x, "y": y}});
        let signed_in = http(&self.stage.url, "POST", "/v1/session/link", "", &body).await?;
        ensure!(signed_in.status == 200, "the person signs in: {} {}", signed_in.status, signed_in.body);
        let cookie = signed_in.cookie.context("a cookie")?;
        for (method, path) in [("GET", "/v1/requests"), ("GET", "/v1/ledger"), ("POST", "/v1/freeze")] {
            let stolen =
                http(&self.stage.url, method, path, &format!("Cookie: {cookie}\r\n"), &json!({})).await?;
            ensure!(
                stolen.status == 401 || stolen.status == 403,
                "{method} {path} answered {}: {}",
                stolen.status,
                stolen.body
            );
            if path == "/v1/requests" {
                let code = stolen.body.get("code").and_then(Value::as_str).unwrap_or("refused").to_owned();
                self.held(&format!(
                    "refused ({} {code}): calls are signed by the browser's own key",
                    stolen.status
                ))
                .await?;
            }
        }
        self.attack("A page of another site sends a decision").await?;
        let header = format!("Cookie: {cookie}\r\nOrigin: https://evil.example\r\n");
        let sent = http(&self.stage.url, "POST", "/v1/freeze", &header, &json!({"all": true})).await?;
        ensure!(sent.status == 401 || sent.status == 403, "another site was heard: {}", sent.status);
        self.held(&format!("refused ({})", sent.status)).await?;

        self.attack("The agent makes itself a reviewer").await?;
        let agent = Client::new(&self.stage.url, key)?;
        self.refused(&["forbidden"], agent.create_key(placet_core::Role::Reviewer, "me", None).await).await
    }

    async fn attack(&mut self, what: &str) -> anyhow::Result<()> {
        self.stage.say(Tone::Plain, what).await
    }

    /// The attack came to nothing.
    async fn held(&mut self, why: &str) -> anyhow::Result<()> {
        self.failed += 1;
        self.stage.say(Tone::Good, &format!("    {why}")).await
    }

    /// The call must be refused, for one of these reasons; any, if none is named.
    async fn refused<T: std::fmt::Debug>(
        &mut self,
        codes: &[&str],
        answer: Result<T, Error>,
    ) -> anyhow::Result<()> {
        match answer {
            Ok(worked) => bail!("the attack worked: {worked:?}"),
            Err(Error::Problem(problem)) if codes.is_empty() || codes.contains(&problem.code.as_str()) => {
                self.held(&format!("refused ({} {})", problem.status, problem.code)).await
            }
            Err(error) => bail!("the attack was refused for another reason than expected: {error:?}"),
        }
    }

    async fn still(&mut self, robot: &Client, id: RequestId, state: State) -> anyhow::Result<()> {
        let now = robot.get(id).await?;
        ensure!(now.state == state, "the request must still be {state}: {now:?}");
        Ok(())
    }
}

/// A payment of the agent, with a key for the job.
async fn ask(robot: &Client, job: &str, amount: u32) -> Result<Record, Error> {
    let mut create = Create::new(Kind::Action, "invoices");
    create.tool = Some("payments.transfer".to_owned());
    create.arguments = Some(Map::from_iter([
        ("to".to_owned(), json!("DE89370400440532013000")),
        ("amount".to_owned(), json!(amount)),
        ("currency".to_owned(), json!("EUR")),
    ]));
    let options = CreateOptions { idempotency_key: Some(job.to_owned()), ..CreateOptions::default() };
    robot.create(&create, options).await
}

/// Another amount.
fn edit(asked: &Record, amount: u32) -> Decide {
    let mut arguments = asked.arguments.clone().unwrap_or_default();
    arguments.insert("amount".to_owned(), json!(amount));
    Decide::edit(asked, arguments).with_reason("that is enough")
}

/// The answer to a plain call, as a program without our clients makes it.
struct PlainAnswer {
    status: u16,
    cookie: Option<String>,
    body: Value,
}

async fn http(
    url: &str,
    method: &str,
    path: &str,
    headers: &str,
    body: &Value,
) -> anyhow::Result<PlainAnswer> {
    let host = url.strip_prefix("http://").context("an address of this machine")?;
    let body = if method == "GET" { String::new() } else { body.to_string() };
    let call = format!(
        "{method} {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: {}\r\n{headers}\r\n{body}",
        body.len()
    );
    let mut stream = TcpStream::connect(host).await?;
    stream.write_all(call.as_bytes()).await?;
    let mut answer = String::new();
    stream.take(ANSWER).read_to_string(&mut answer).await?;
    let (head, body) = answer.split_once("\r\n\r\n").context("an answer with a head")?;
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).context("a status")?;
    let cookie = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        let cookie = name.eq_ignore_ascii_case("set-cookie").then(|| value.trim())?;
        Some(cookie.split(';').next().unwrap_or_default().to_owned())
    });
    Ok(PlainAnswer { status, cookie, body: serde_json::from_str(body).unwrap_or_default() })
}

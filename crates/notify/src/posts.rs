//! The channel that posts news over HTTP, for the doors whose followers ask for that.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use placet_egress::Http;
use placet_gate::{Attempt, AttemptResult, Channel, ChannelLimits, Due, Post, PostSource};

/// How many messages are on their way at once.
const AT_ONCE: usize = 64;
/// How long a lease is beyond the receiver's timeout: for reading what is posted, and for recording how it went.
const BESIDES: Duration = Duration::from_secs(5);

/// The channel of one door.
#[derive(Debug, Clone)]
pub struct Posts {
    http: Http,
    source: Arc<dyn PostSource>,
}

impl Posts {
    /// Posts what a door says, to where the client may connect.
    pub fn new(http: Http, source: Arc<dyn PostSource>) -> Self {
        Self { http, source }
    }

    async fn attempt(&self, due: &Due) -> AttemptResult {
        let post = match self.source.post(&due.delivery).await {
            Ok(post) => post,
            Err(result) => return result,
        };
        match self.send(&post).await {
            // It is recorded as delivered only now: a crash before that means that it is posted again.
            AttemptResult::Delivered => self.source.posted(&due.delivery, &post).await,
            other => other,
        }
    }

    async fn send(&self, post: &Post) -> AttemptResult {
        let Some(headers) = headers(post) else {
            return AttemptResult::Refused("its token or credentials cannot be sent in a header".to_owned());
        };
        // Redirects are not followed: their address was not checked.
        let body = Bytes::from(post.body.clone());
        match self.http.call(Method::POST, &post.url, headers, body, self.source.timeout()).await {
            Ok(answer) if answer.status().is_success() => AttemptResult::Delivered,
            Ok(answer) if answer.status() == StatusCode::GONE => {
                AttemptResult::Refused("it answers 410".to_owned())
            }
            Ok(answer) => AttemptResult::Failed(format!("it answers {}", answer.status().as_u16())),
            // Addresses may have secrets in them, and errors are logged.
            Err(error) => {
                let why = error.to_string().replace(&post.url, "its address");
                if error.is_final() { AttemptResult::Refused(why) } else { AttemptResult::Failed(why) }
            }
        }
    }
}

impl Channel for Posts {
    fn name(&self) -> &'static str {
        self.source.name()
    }

    fn limits(&self) -> ChannelLimits {
        ChannelLimits { at_once: AT_ONCE, lease: self.source.timeout().saturating_add(BESIDES) }
    }

    fn deliver<'a>(&'a self, due: &'a Due) -> Attempt<'a> {
        Box::pin(self.attempt(due))
    }
}

fn headers(post: &Post) -> Option<HeaderMap> {
    let mut headers = HeaderMap::new();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(post.media));
    headers
        .insert(header::USER_AGENT, HeaderValue::from_static(concat!("placet/", env!("CARGO_PKG_VERSION"))));
    for (name, value) in &post.headers {
        let mut value = HeaderValue::from_str(value).ok()?;
        value.set_sensitive(true);
        headers.insert(HeaderName::from_static(name), value);
    }
    Some(headers)
}

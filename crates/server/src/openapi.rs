//! Every route with its documentation, and the OpenAPI 3.1 document made from them.

use std::collections::BTreeMap;

use axum::response::Response;
use http::StatusCode;
use placet_core::{Create, Kind};
use utoipa::{
    Modify, OpenApi,
    openapi::{
        Content, Ref, RefOr, Required, Schema,
        path::{Operation, Parameter, ParameterBuilder, ParameterIn},
        response::ResponseBuilder,
        schema::{AnyOf, Discriminator, ObjectBuilder, OneOf, SchemaType, Type},
        security::{ApiKey, ApiKeyValue, Http, HttpAuthScheme, SecurityScheme},
    },
};
use utoipa_axum::{router::OpenApiRouter, routes};

use crate::{State, health, v1};

#[derive(OpenApi)]
#[openapi(
    info(title = "Placet", description = "Holds what an AI agent is about to do until the right person has said yes, lets exactly that happen once, and can prove it afterwards."),
    modifiers(&Key),
    security(("key" = []), ("session" = [])),
    tags(
        (name = "requests", description = "What agents ask, and how they wait"),
        (name = "decisions", description = "What reviewers say"),
        (name = "permits", description = "The single-use right to execute"),
        (name = "streams", description = "News as it happens"),
        (name = "ledger", description = "The append-only record"),
        (name = "policy", description = "What needs a person, and standing approvals"),
        (name = "session", description = "People who are signed in"),
        (name = "admin", description = "Keys and people"),
        (name = "health", description = "For operators"),
    )
)]
struct Document;

struct Key;

impl Modify for Key {
    fn modify(&self, document: &mut utoipa::openapi::OpenApi) {
        let components = document.components.get_or_insert_default();
        let mut scheme = Http::new(HttpAuthScheme::Bearer);
        scheme.description = Some("A key: `plk_<role>_<secret>`".to_owned());
        components.add_security_scheme("key", SecurityScheme::Http(scheme));
        let cookie = ApiKeyValue::with_description(
            "__Host-placet",
            "A person's session. The cookie alone is nobody's: every call is signed by the browser's own key, in the header `Placet-Proof: v1.<base64url of r and s>` over `placet/proof/v1`, method, path with query, hex SHA-256 of the body, session id and nonce, one line each; the nonce comes from `GET /v1/session` and the header `Placet-Nonce`. Calls that change something also need the header `Placet-CSRF` and this server's own `Origin`.",
        );
        components.add_security_scheme("session", SecurityScheme::ApiKey(ApiKey::Cookie(cookie)));
    }
}

/// All routes of Placet's own interface. The doors for clients of other gateways are not here: see `doors`.
pub(crate) fn routes() -> OpenApiRouter<State> {
    OpenApiRouter::with_openapi(Document::openapi())
        .routes(routes!(v1::requests::create, v1::requests::list))
        .routes(routes!(v1::export::export))
        .routes(routes!(v1::requests::get))
        .routes(routes!(v1::history::history))
        .routes(routes!(v1::decisions::decide))
        .routes(routes!(v1::decisions::decide_many))
        .routes(routes!(v1::permits::claim))
        .routes(routes!(v1::permits::report))
        .routes(routes!(v1::reviews::cancel))
        .routes(routes!(v1::reviews::revoke))
        .routes(routes!(v1::reviews::reassign))
        .routes(routes!(v1::reviews::resolve))
        .routes(routes!(v1::stream::stream))
        .routes(routes!(v1::ws::ws))
        .routes(routes!(v1::ledger::list))
        .routes(routes!(v1::ledger::status))
        .routes(routes!(v1::ledger::verify))
        .routes(routes!(v1::stats::stats))
        .routes(routes!(v1::me::pace))
        .routes(routes!(v1::summary::summary))
        .routes(routes!(v1::keys::create, v1::keys::list))
        .routes(routes!(v1::keys::revoke))
        .routes(routes!(v1::people::create, v1::people::list))
        .routes(routes!(v1::people::put, v1::people::remove))
        .routes(routes!(v1::people::link))
        .routes(routes!(v1::session::get, v1::session::sign_in, v1::session::sign_out))
        .routes(routes!(v1::session::sign_in_with_link))
        .routes(routes!(v1::session::set_password))
        .routes(routes!(v1::session::ws_ticket))
        .routes(routes!(v1::session::export_ticket))
        .routes(routes!(v1::session::list))
        .routes(routes!(v1::session::end))
        .routes(routes!(v1::policy::get, v1::policy::put))
        .routes(routes!(v1::policy::check))
        .routes(routes!(v1::policy::simulate))
        .routes(routes!(v1::policy::explain))
        .routes(routes!(v1::suggest::suggest))
        .routes(routes!(v1::policy::shadow, v1::policy::put_shadow, v1::policy::remove_shadow))
        .routes(routes!(v1::policy::version))
        .routes(routes!(v1::agents::list))
        .routes(routes!(v1::agents::put_roots))
        .routes(routes!(v1::agents::put_confine))
        .routes(routes!(v1::agents::put_coverage))
        .routes(routes!(v1::agents::forget_coverage))
        .routes(routes!(v1::freeze::create, v1::freeze::list))
        .routes(routes!(v1::freeze::lift))
        .routes(routes!(v1::ledger::confirm_restore))
        .routes(routes!(v1::grants::list))
        .routes(routes!(v1::grants::revoke))
        .routes(routes!(health::healthz))
        .routes(routes!(health::readyz))
        .routes(routes!(health::metrics))
        .routes(routes!(openapi))
}

/// The OpenAPI document as pretty JSON, as it stands in `api/openapi.json`.
pub fn document() -> String {
    let (_, mut document) = routes().split_for_parts();
    for (path, item) in &mut document.paths.paths {
        // Signing in and a link to do so are never repeated: each time is another one.
        let repeated =
            !["/v1/session", "/v1/session/link", "/v1/people/{name}/link"].contains(&path.as_str());
        if let Some(operation) = item.post.as_mut().filter(|_| repeated) {
            operation.parameters.get_or_insert_default().push(idempotency_key().into());
        }
        if let Some(operation) = &mut item.get {
            complete(path, operation, false);
        }
        for operation in [&mut item.post, &mut item.put, &mut item.delete].into_iter().flatten() {
            complete(path, operation, true);
        }
    }
    if let Some(components) = &mut document.components {
        by_kind(&mut components.schemas);
        either(&mut components.schemas, "ListPage");
    }
    let mut text = document.to_pretty_json().unwrap_or_default();
    text.push('\n');
    text
}

type Schemas = BTreeMap<String, RefOr<Schema>>;

/// A create is one of four: each kind has the common fields and its own, and must have some of them.
fn by_kind(schemas: &mut Schemas) {
    let Some(RefOr::T(Schema::Object(whole))) = schemas.remove("Create") else { return };
    let mut kinds = OneOf::new();
    let mut discriminator = Discriminator::new("kind");
    kinds.description.clone_from(&whole.description);
    for kind in Kind::ALL.iter().copied() {
        let mut one = whole.clone();
        one.description = Some(format!("The body of a create call that asks for the kind `{kind}`."));
        one.properties.retain(|field, _| Create::kind_of(field).is_none_or(|of| of == kind));
        let word = ObjectBuilder::new().schema_type(Type::String).enum_values(Some([kind.as_str()]));
        one.properties.insert("kind".to_owned(), word.into());
        for needed in Create::needed(kind) {
            one.required.push(needed.to_owned());
            // What must be there is not null.
            if let Some(field) = one.properties.get_mut(needed) {
                *field = present(field.clone());
            }
        }
        let name = format!("Create{}", title(kind.as_str()));
        let reference = Ref::from_schema_name(&name);
        discriminator.mapping.insert(kind.as_str().to_owned(), reference.ref_location.clone());
        kinds.items.push(reference.into());
        schemas.insert(name, Schema::Object(one).into());
    }
    kinds.discriminator = Some(discriminator);
    schemas.insert("Create".to_owned(), Schema::OneOf(kinds).into());
}

/// A field without its null.
fn present(field: RefOr<Schema>) -> RefOr<Schema> {
    let without = |kind: &mut SchemaType| {
        if let SchemaType::Array(types) = kind
            && let Some(only) = types.iter().find(|one| **one != Type::Null)
        {
            *kind = SchemaType::Type(only.clone());
        }
    };
    match field {
        RefOr::T(Schema::Object(mut object)) => {
            without(&mut object.schema_type);
            Schema::Object(object).into()
        }
        RefOr::T(Schema::Array(mut array)) => {
            without(&mut array.schema_type);
            Schema::Array(array).into()
        }
        RefOr::T(Schema::OneOf(sorts)) => {
            let mut named = sorts.items.into_iter().filter(|one| matches!(one, RefOr::Ref(_)));
            named.next().unwrap_or_default()
        }
        other => other,
    }
}

/// Both sorts at once are fine: a page without items is a page of either.
fn either(schemas: &mut Schemas, name: &str) {
    if let Some(RefOr::T(schema)) = schemas.get_mut(name)
        && let Schema::OneOf(sorts) = schema
    {
        let mut any = AnyOf::new();
        any.description.clone_from(&sorts.description);
        any.items.clone_from(&sorts.items);
        *schema = Schema::AnyOf(any);
    }
}

/// A word with a capital letter.
fn title(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

/// Adds what is the same everywhere and would be noise at every handler: every status that a call can be answered with, whatever
/// it is about. The tests of the server hold every answer that they get against this.
fn complete(path: &str, operation: &mut Operation, writes: bool) {
    let has = |wanted: fn(&Parameter) -> bool| {
        let parameters = operation.parameters.iter().flatten();
        parameters.into_iter().any(|parameter| matches!(parameter, RefOr::T(parameter) if wanted(parameter)))
    };
    let queried = has(|parameter| parameter.parameter_in == ParameterIn::Query);
    let keyed = has(|parameter| parameter.name == IDEMPOTENCY_KEY);
    let body = operation.request_body.is_some();
    let named = path.contains("{id}") || path.contains("{hash}");
    let responses = &mut operation.responses.responses;
    if path.starts_with("/v1/") {
        let common = [
            (true, "401", "no key or session, or one that is unknown, revoked or over"),
            (true, "403", "the role cannot do this; a foreign host or page; or, in a session, `csrf`"),
            (true, "429", "too many calls, waits or streams of this principal"),
            (true, "500", "the server failed; nothing was approved"),
            (true, "503", "busy, closing, or the database is away: try again after `Retry-After`"),
            (body, "400", "the body ended before it was complete"),
            (body, "408", "the body took too long to arrive"),
            (body, "415", "the body is not JSON"),
            (body, "422", "the body does not fit"),
            (keyed, "409", "the idempotency key was used with another body"),
            (keyed, "422", "the idempotency key does not fit"),
            (queried, "422", "the query does not fit"),
            (named, "404", "unknown, foreign or malformed"),
            (writes, "507", "the disk is full: nothing was written"),
        ];
        for (_, status, description) in common.into_iter().filter(|(applies, ..)| *applies) {
            let response = responses.entry(status.to_owned()).or_insert_with(|| problem(description));
            // Some say the same status in their own words as well.
            let RefOr::T(response) = response else { continue };
            if !response.content.contains_key(JSON) || response.content.get(JSON).is_some_and(is_other) {
                response
                    .content
                    .entry(PROBLEM.to_owned())
                    .or_insert_with(|| Content::new(Some(reference())).into());
            }
        }
    } else {
        operation.security = Some(Vec::new());
        responses
            .entry("403".to_owned())
            .or_insert_with(|| problem("a foreign host or page, or only for this machine"));
    }
    for response in responses.values_mut() {
        let RefOr::T(response) = response else { continue };
        if response.content.get(JSON).is_some_and(|content| !is_other(content))
            && let Some(content) = response.content.shift_remove(JSON)
        {
            response.content.insert(PROBLEM.to_owned(), content);
        }
    }
}

/// Whether a body is something else than a problem.
fn is_other(content: &RefOr<Content>) -> bool {
    !matches!(content, RefOr::T(content) if content.schema.as_ref() == Some(&reference()))
}

const IDEMPOTENCY_KEY: &str = "Idempotency-Key";
const JSON: &str = "application/json";
const PROBLEM: &str = "application/problem+json";

fn reference() -> RefOr<Schema> {
    RefOr::Ref(Ref::from_schema_name("ProblemDocument"))
}

fn problem(description: &str) -> RefOr<utoipa::openapi::Response> {
    ResponseBuilder::new()
        .description(description)
        .content(PROBLEM, Content::new(Some(reference())))
        .build()
        .into()
}

fn idempotency_key() -> Parameter {
    let schema = ObjectBuilder::new()
        .schema_type(SchemaType::Type(Type::String))
        .min_length(Some(1))
        .max_length(Some(255))
        .pattern(Some("^[!-~]+$"));
    ParameterBuilder::new()
        .name(IDEMPOTENCY_KEY)
        .parameter_in(ParameterIn::Header)
        .required(Required::False)
        .description(Some(
            "The same key with the same body gives the same result; with another body it is refused",
        ))
        .schema(Some(schema))
        .build()
}

/// This document.
#[utoipa::path(get, path = "/openapi.json", tag = "health", responses((status = 200, description = "OpenAPI 3.1", body = Object)))]
async fn openapi() -> Response {
    static TEXT: std::sync::OnceLock<serde_json::Value> = std::sync::OnceLock::new();
    let document = TEXT.get_or_init(|| serde_json::from_str(&document()).unwrap_or_default());
    v1::json(StatusCode::OK, document)
}

//! Reading events and documents out of Postgres.

use std::{collections::HashMap, sync::Arc};

use placet_core::{Request, RequestId, Time};
use tokio_postgres::{Row, types::Type};

use super::{
    readers::{Param, PostgresReaders, one, snapshot, typed},
    session::{number, read, request, requests},
};
use crate::{
    Channels, Delivery, EventWords, RecentEvents, SeenEvent, StoreError, StoredEvent,
    documents::DOCUMENTS,
    events::{SESSIONS, WAITING, WORDS},
    rows::{int, parse},
};

const COLUMNS: &str = "e.id, e.received_at, e.agent, e.request, e.body";
const LAST: &str = "SELECT coalesce(max(id), 0) FROM events";

fn stored(row: &Row) -> Result<StoredEvent, StoreError> {
    Ok(StoredEvent {
        id: number(row, 0)?,
        received_at: Time::from_micros(read(row, 1)?),
        agent: read(row, 2)?,
        request: read::<Option<&str>>(row, 3)?.map(parse).transpose()?,
        body: read::<&str>(row, 4)?.into(),
    })
}

impl PostgresReaders {
    /// Events with the requests they made, as those stand a moment later.
    async fn seen(&self, rows: &[Row]) -> Result<Vec<SeenEvent>, StoreError> {
        const BY_ID: &str = requests!("(SELECT seq, meta FROM requests WHERE id = ANY ($1)) r");
        let events = rows.iter().map(stored).collect::<Result<Vec<_>, _>>()?;
        let ids: Vec<String> =
            events.iter().filter_map(|event| event.request).map(|id| id.to_string()).collect();
        let found = if ids.is_empty() { Vec::new() } else { self.query(BY_ID, &[&ids]).await? };
        let found = found.iter().map(|row| request(row).map(|request| (request.id, Arc::new(request))));
        let found: HashMap<RequestId, Arc<Request>> = found.collect::<Result<_, _>>()?;
        let with = |event: StoredEvent| {
            let request = event.request.and_then(|id| found.get(&id).cloned());
            SeenEvent { event, request }
        };
        Ok(events.into_iter().map(with).collect())
    }

    pub(crate) async fn recent_events(&self, limit: u32) -> Result<RecentEvents, StoreError> {
        let all = format!(
            "SELECT {COLUMNS} FROM (
                 (SELECT id FROM events ORDER BY id DESC LIMIT $1)
                 UNION (SELECT w.id FROM requests r JOIN events w ON w.request = r.id
                        WHERE r.state = 'pending' AND r.deadline IS NOT NULL ORDER BY w.id LIMIT $2)) n
             JOIN events e ON e.id = n.id ORDER BY e.id"
        );
        let client = self.client().await?;
        let params = vec![
            (Box::new(i64::from(limit)) as Param<'_>, Type::INT8),
            (Box::new(i64::from(WAITING)) as Param<'_>, Type::INT8),
        ];
        let [last, rows] =
            snapshot(&client, vec![typed(&client, LAST, vec![]), typed(&client, &all, params)]).await?;
        drop(client);
        let last = number(one(&last)?, 0)?;
        Ok(RecentEvents { events: self.seen(&rows).await?, last })
    }

    pub(crate) async fn event(&self, id: u64) -> Result<Option<SeenEvent>, StoreError> {
        let rows =
            self.query(&format!("SELECT {COLUMNS} FROM events e WHERE e.id = $1"), &[&int(id)]).await?;
        Ok(self.seen(&rows).await?.pop())
    }

    pub(crate) async fn event_of(&self, request: RequestId) -> Result<Option<StoredEvent>, StoreError> {
        let find = format!("SELECT {COLUMNS} FROM events e WHERE e.request = $1");
        let rows = self.query(&find, &[&request.to_string()]).await?;
        rows.first().map(stored).transpose()
    }

    pub(crate) async fn events_after(&self, id: u64, limit: u32) -> Result<Vec<SeenEvent>, StoreError> {
        let page = format!("SELECT {COLUMNS} FROM events e WHERE e.id > $1 ORDER BY e.id LIMIT $2");
        let rows = self.query(&page, &[&int(id), &i64::from(limit)]).await?;
        self.seen(&rows).await
    }

    pub(crate) async fn last_event(&self) -> Result<u64, StoreError> {
        let rows = self.query(LAST, &[]).await?;
        number(one(&rows)?, 0)
    }

    pub(crate) async fn event_words(&self) -> Result<EventWords, StoreError> {
        let words = async |kind: i64, order, limit| {
            let find = format!("SELECT word FROM event_words WHERE kind = $1 ORDER BY word {order} LIMIT $2");
            let rows = self.query(&find, &[&kind, &i64::from(limit)]).await?;
            rows.iter().map(|row| read(row, 0)).collect::<Result<Vec<String>, StoreError>>()
        };
        Ok(EventWords {
            source_apps: words(0, "ASC", WORDS).await?,
            session_ids: words(1, "DESC", SESSIONS).await?,
            hook_event_types: words(2, "ASC", WORDS).await?,
        })
    }

    pub(crate) async fn documents(&self, kind: &'static str) -> Result<Vec<String>, StoreError> {
        let rows = self.query(DOCUMENTS, &[&kind]).await?;
        rows.iter().map(|row| read(row, 0)).collect()
    }

    pub(crate) async fn holds(&self, delivery: &Delivery, owner: &str) -> Result<bool, StoreError> {
        let mine = "SELECT 1 FROM outbox WHERE channel = $1 AND subject = $2 AND state = 'waiting' AND lease_owner = $3 AND wanted = $4";
        Ok(!self
            .query(mine, &[&delivery.channel, &delivery.subject, &owner, &int(delivery.wanted)])
            .await?
            .is_empty())
    }

    pub(crate) async fn deliveries_due(&self, now: Time, channels: &Channels) -> Result<bool, StoreError> {
        let (names, meant) = channels.names();
        let due = "SELECT 1 FROM outbox WHERE state = 'waiting' AND next_at <= $1 AND lease_until <= $1
                       AND (channel = ANY ($2::text[])) = $3 LIMIT 1";
        Ok(!self.query(due, &[&now.micros(), &names, &meant]).await?.is_empty())
    }
}

//! `/changes`: changes in commit order, as a list and as a stream.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::http::{HeaderMap, HeaderName, Uri};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response as AnyResponse};
use futures_util::stream;
use serde::Serialize;
use serde_json::json;
use tokio::sync::{OwnedSemaphorePermit, broadcast};
use utoipa::ToSchema;

use crate::answers::Answers;
use crate::clients::Clients;
use crate::list::page::{Limit, PageEnd, PagePart, PageRequest, fields, next_link};
use crate::query::query;
use crate::service::access::{Sender, refusal_of};
use crate::service::extract::Query;
use unroof_edge::{
    Bill, KnownTag, LIMITED, Limits, Place, Problem, Reply, Running, Since, StoreRefusals, TooMany,
    UNREADABLE, Unchanged,
};
use unroof_jobs::{News, PAGE, PAUSE};
use unroof_store::access::Client;
use unroof_store::{ChangeFilter, ChangeRow};

pub(crate) const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

/// Delay before a client reconnects a lost stream.
const RETRY: Duration = Duration::from_secs(5);

/// Changes after a position.
#[derive(Serialize, ToSchema)]
pub(crate) struct ChangePage {
    /// Changes in commit order.
    data: Vec<ChangeRow>,
    /// Position after these changes; send it as `since` to get the next ones.
    #[schema(example = 17)]
    next_since: i64,
    /// Whether more changes are already there.
    #[schema(example = false)]
    has_more: bool,
}

query! {
    /// Filter and page of the changes.
    ChangesQuery {
        /// `next_since` of the previous page; 0 is before the first change.
        #[param(value_type = i64, minimum = 0, default = 0)]
        since: Since,
        fields,
        /// Changes per page.
        #[param(value_type = u32, minimum = 1, maximum = 2000, default = 100)]
        limit: Limit,
        changes,
    }
}

/// List changes since a position, in commit order
///
/// Positions grow in commit order: a client that polls with `next_since` misses no change and gets none twice, also with
/// concurrent writers. `next_since` is always present. `Accept: text/csv` gives CSV.
#[utoipa::path(
    get,
    path = "/changes",
    tag = "changes",
    params(ChangesQuery, KnownTag),
    responses(
        (status = 200, description = "A page of changes", content((ChangePage = "application/json"), (String = "text/csv")),
            headers(("etag" = String), ("link" = String, description = "The next page"))),
        Unchanged, StoreRefusals,
    )
)]
pub(crate) async fn list_changes(
    State(answers): State<Arc<Answers>>,
    Query(mut query): Query<ChangesQuery>,
    headers: HeaderMap,
    uri: Uri,
) -> Reply {
    let (Since(since), limit) = (query.since, query.limit);
    let filter = query.filter();
    let part = PagePart {
        fields: query.fields.as_deref(),
        limit,
        cursor: None,
    };
    let page = PageRequest::new(
        &answers,
        "changes",
        fields::<ChangeRow>,
        part,
        &uri,
        &headers,
    );
    let rows = |after: Option<i64>, limit| {
        answers
            .store
            .changes(&filter, after.unwrap_or(since), limit)
    };
    let end = |last: Option<&i64>, has_more: bool| {
        let next_since = last.copied().unwrap_or(since);
        Ok(PageEnd {
            tail: json!({"next_since": next_since, "has_more": has_more}),
            link: has_more.then(|| next_link(&uri, "since", &next_since.to_string())),
        })
    };
    let body = || page.write(Some(since), |row| row.sequence, rows, Ok, end);
    answers
        .polled(
            format!("changes {since} {limit:?} {filter:?} {:?}", query.fields),
            &headers,
            body,
        )
        .await
}

query! {
    /// Start and filter of a stream.
    StreamQuery {
        /// Position after which the stream begins; now if left out. `Last-Event-ID` takes precedence.
        #[param(nullable = false, value_type = Option<i64>, minimum = 0)]
        since: Option<Since>,
        changes,
    }
}

/// Stream changes as server-sent events
///
/// One event per change: `id` is its position, `event` its kind, `data` the row as JSON. A client that reconnects with the
/// header `Last-Event-ID`, as browsers do by themselves, continues where it was; the filter is that of the new request.
/// Comments keep an idle stream open. The stream ends when the service stops, or when the key of its client is revoked or expires.
#[utoipa::path(
    get,
    path = "/changes/stream",
    tag = "changes",
    params(StreamQuery, ("last-event-id" = Option<i64>, Header, description = "Position of the last change the client has")),
    responses(
        (status = 200, description = "Changes as they are committed", body = String, content_type = "text/event-stream"),
        (status = 400, description = "Invalid query or header", body = Problem, content_type = "application/problem+json"),
        (status = 503, description = "The stream limit is reached, or the database is unreachable", body = Problem,
            content_type = "application/problem+json"),
    )
)]
pub(crate) async fn stream_changes(
    State(answers): State<Arc<Answers>>,
    State(clients): State<Arc<Clients>>,
    State(limits): State<Arc<Limits>>,
    sender: Sender,
    Query(mut query): Query<StreamQuery>,
    headers: HeaderMap,
) -> Result<AnyResponse, Problem> {
    let since = last_event_id(&headers)?.or(query.since);
    answers.check_running()?;
    let key = clients.held_key(&headers, sender.actor.address).await;
    let own_place = own_place(&clients)?;
    // Subscribed before the position is read, so that no change is lost.
    let (place, news) = answers
        .feed
        .join()
        .ok_or_else(|| Problem::busy("the limit of streams is reached"))?;
    let position = match since {
        Some(Since(since)) => since,
        None => answers.version().await?,
    };
    let changes = ChangeStream {
        answers,
        filter: query.filter(),
        news,
        position,
        is_behind: since.is_some(),
        backlog: VecDeque::new(),
        is_begun: false,
        _places: (place, own_place),
    };
    let bill = Bill::current();
    let events = stream::unfold(
        (changes, key, bill),
        async |(mut changes, mut key, bill)| {
            let next = async {
                tokio::select! {
                    biased;
                    () = refusal_of(&mut key) => None,
                    event = changes.next_until_stopped() => event,
                }
            };
            // The client pays for the changes that it reads.
            let event = Bill::charge(bill.as_ref(), next).await?;
            Some((Ok::<_, Infallible>(event), (changes, key, bill)))
        },
    );
    let sent = Sse::new(events).keep_alive(KeepAlive::new().interval(limits.heartbeat));
    // Turns off response buffering in proxies.
    Ok(([("x-accel-buffering", "no")], sent).into_response())
}

/// A place among the streams of the client, so that one client cannot have all streams.
fn own_place(clients: &Clients) -> Result<Option<Place<Client>>, Problem> {
    let (Some(places), Some(client)) = (&clients.stream_places, Bill::client()) else {
        return Ok(None);
    };
    places.take(client).map(Some).map_err(|TooMany| {
        Problem::new(
            LIMITED,
            "this client has as many streams as one client may have",
        )
        .hint("end one of its streams first, or read several filters from one stream")
    })
}

fn last_event_id(headers: &HeaderMap) -> Result<Option<Since>, Problem> {
    let read = |value: &axum::http::HeaderValue| {
        let text = String::from_utf8_lossy(value.as_bytes());
        Since::read(&text).map_err(|detail| {
            Problem::new(
                UNREADABLE,
                format!("invalid header `Last-Event-ID`: {detail}"),
            )
            .hint("send the `id` of the last event, or leave the header out")
        })
    };
    headers.get(LAST_EVENT_ID).map(read).transpose()
}

/// The stream of one client.
struct ChangeStream {
    answers: Arc<Answers>,
    filter: ChangeFilter,
    news: broadcast::Receiver<Arc<News>>,
    /// Position of the last change sent or left out.
    position: i64,
    /// Whether changes may have been broadcast before this stream subscribed, or faster than it read.
    is_behind: bool,
    backlog: VecDeque<News>,
    is_begun: bool,
    _places: (OwnedSemaphorePermit, Option<Place<Client>>),
}

impl ChangeStream {
    async fn next_until_stopped(&mut self) -> Option<Event> {
        let stopping = self.answers.stopping.clone();
        tokio::select! {
            biased;
            () = stopping.cancelled() => None,
            event = self.next() => event,
        }
    }

    async fn next(&mut self) -> Option<Event> {
        if !self.is_begun {
            self.is_begun = true;
            return Some(Event::default().retry(RETRY));
        }
        loop {
            if let Some(news) = self.backlog.pop_front() {
                return Some(self.event(&news));
            }
            if self.is_behind {
                self.catch_up().await;
                continue;
            }
            match self.news.recv().await {
                Ok(news) if news.row.sequence > self.position => {
                    self.position = news.row.sequence;
                    if self.filter.has(&news.row) {
                        return Some(self.event(&news));
                    }
                }
                // Already sent from the backlog.
                Ok(_) => {}
                Err(broadcast::error::RecvError::Lagged(_)) => self.is_behind = true,
                Err(broadcast::error::RecvError::Closed) => return None,
            }
        }
    }

    /// Reads the next changes from the database. A stream survives an outage of the database.
    async fn catch_up(&mut self) {
        match self.backlog().await {
            Ok(backlog) => {
                self.is_behind = backlog.len() == PAGE as usize;
                self.backlog = backlog;
            }
            Err(_) => tokio::time::sleep(PAUSE).await,
        }
    }

    /// The next changes; reading and serialising share the queue of the lists.
    async fn backlog(&self) -> Result<VecDeque<News>, Problem> {
        let answers = &self.answers;
        let permit = answers.permit_to_write().await?;
        let rows = answers.store.changes(&self.filter, self.position, PAGE);
        let rows = rows.await?;
        let news = |_: &Running| rows.into_iter().map(News::from).collect();
        permit.run(news).await
    }

    fn event(&mut self, news: &News) -> Event {
        self.position = news.row.sequence;
        Event::default()
            .id(news.row.sequence.to_string())
            .event(news.row.kind.name())
            .data(&news.data)
    }
}

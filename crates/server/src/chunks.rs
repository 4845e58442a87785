//! Chunks of a stream that wait for its reader: only a few, and only so many bytes.

use std::{convert::Infallible, sync::Arc, time::Duration};

use axum::body::Body;
use bytes::Bytes;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};

/// Chunks that may wait for a slow reader before the stream waits too.
const CHUNKS: usize = 16;
/// Bytes that may. A longer chunk waits alone.
const ROOM: u32 = 128 * 1024;

/// Where chunks are put in.
#[derive(Debug)]
pub(crate) struct ChunkSender {
    send: mpsc::Sender<(Bytes, OwnedSemaphorePermit)>,
    room: Arc<Semaphore>,
}

/// The reader is too slow, or gone.
#[derive(Debug)]
pub(crate) struct NotRead;

/// A body, and where its chunks are put in.
pub(crate) fn channel() -> (ChunkSender, Body) {
    let (send, mut receive) = mpsc::channel::<(Bytes, OwnedSemaphorePermit)>(CHUNKS);
    let chunks = futures_util::stream::poll_fn(move |cx| {
        receive.poll_recv(cx).map(|chunk| chunk.map(|(chunk, _room)| Ok::<_, Infallible>(chunk)))
    });
    (ChunkSender { send, room: Arc::new(Semaphore::new(ROOM as usize)) }, Body::from_stream(chunks))
}

impl ChunkSender {
    fn weight(chunk: &Bytes) -> u32 {
        u32::try_from(chunk.len()).unwrap_or(ROOM).min(ROOM)
    }

    /// Puts a chunk in, unless there is no room for so long.
    pub(crate) async fn send(&self, chunk: Bytes, within: Duration) -> Result<(), NotRead> {
        let room = self.room.clone().acquire_many_owned(Self::weight(&chunk));
        let sent = async {
            let room = room.await.map_err(|_| NotRead)?;
            self.send.send((chunk, room)).await.map_err(|_| NotRead)
        };
        let gone = async {
            self.send.closed().await;
            Err(NotRead)
        };
        let sent = async {
            tokio::select! { sent = sent => sent, gone = gone => gone }
        };
        tokio::time::timeout(within, sent).await.unwrap_or(Err(NotRead))
    }

    /// Puts a chunk in if there is room now.
    pub(crate) fn try_send(&self, chunk: Bytes) {
        if let Ok(room) = self.room.clone().try_acquire_many_owned(Self::weight(&chunk)) {
            let _ = self.send.try_send((chunk, room));
        }
    }

    /// Returns when the reader is gone.
    pub(crate) async fn closed(&self) {
        self.send.closed().await;
    }
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt as _;

    use super::*;

    const NOT_NOW: Duration = Duration::ZERO;
    const MINUTE: Duration = Duration::from_mins(1);

    #[tokio::test]
    async fn chunks_wait_for_their_reader_within_a_number_and_a_size() {
        let (small, _kept) = channel();
        for index in 0..CHUNKS {
            small.send(Bytes::from_static(b"x"), MINUTE).await.unwrap_or_else(|_| panic!("chunk {index}"));
        }
        assert!(small.send(Bytes::from_static(b"x"), NOT_NOW).await.is_err());
        let (large, mut body) = channel();
        let chunk = Bytes::from(vec![0; 3 * ROOM as usize]);
        large.send(chunk.clone(), MINUTE).await.expect("a long chunk fits alone");
        assert!(large.send(Bytes::from_static(b"x"), NOT_NOW).await.is_err(), "and nothing beside it");
        assert_eq!(body.frame().await.unwrap().unwrap().into_data().unwrap(), chunk);
        large.send(Bytes::from_static(b"x"), MINUTE).await.expect("it was read");
        drop(body);
        large.closed().await;
        assert!(large.send(chunk, MINUTE).await.is_err());
    }
}

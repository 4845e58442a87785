//! Running a test body on either database, with a bound on its time.

use std::{future::Future, time::Duration};

/// Only a test that waits for something that never comes takes this long. A little less than the limit of nextest, so
/// that the test itself can say so.
const LONGEST: Duration = Duration::from_mins(4);

/// Runs a test body on two threads of its own.
pub fn block_on<T>(body: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    runtime.expect("the test's runtime starts").block_on(async {
        tokio::time::timeout(LONGEST, body).await.expect("the test waits for something that never comes")
    })
}

/// Makes two tests of one body: `name::sqlite` and `name::postgres`. The body takes a [`Kit`](crate::Kit), which is
/// finished afterwards; as `(server: Server)` a [`Server`](crate::Server), finished too; or, as `(backend: Backend)`, the
/// database, and starts what it needs itself.
#[macro_export]
macro_rules! both {
    ($($(#[$meta:meta])* async fn $name:ident($($argument:tt)*) $body:block)+) => {
        $($crate::both!(@one [$(#[$meta])*] $name ($($argument)*) $body);)+
    };
    (@one [$(#[$meta:meta])*] $name:ident ($kit:ident) $body:block) => {
        $(#[$meta])*
        mod $name {
            use super::*;

            async fn body($kit: &mut $crate::Kit) $body

            async fn on(backend: $crate::Backend) {
                let mut kit = $crate::Kit::start(backend).await;
                body(&mut kit).await;
                kit.finish().await;
            }

            #[test]
            fn sqlite() {
                $crate::block_on(on($crate::Backend::Sqlite));
            }

            #[test]
            fn postgres() {
                $crate::block_on(on($crate::Backend::Postgres));
            }
        }
    };
    (@one [$(#[$meta:meta])*] $name:ident ($server:ident : Server) $body:block) => {
        $(#[$meta])*
        mod $name {
            use super::*;

            async fn body($server: &mut $crate::Server) $body

            async fn on(backend: $crate::Backend) {
                let mut server = $crate::Server::start(backend).await;
                body(&mut server).await;
                server.finish().await;
            }

            #[test]
            fn sqlite() {
                $crate::block_on(on($crate::Backend::Sqlite));
            }

            #[test]
            fn postgres() {
                $crate::block_on(on($crate::Backend::Postgres));
            }
        }
    };
    (@one [$(#[$meta:meta])*] $name:ident ($backend:ident : Backend) $body:block) => {
        $(#[$meta])*
        mod $name {
            use super::*;

            async fn on($backend: $crate::Backend) $body

            #[test]
            fn sqlite() {
                $crate::block_on(on($crate::Backend::Sqlite));
            }

            #[test]
            fn postgres() {
                $crate::block_on(on($crate::Backend::Postgres));
            }
        }
    };
}

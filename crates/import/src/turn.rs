//! Permits of imports: a process reads and imports one catalog at a time.

use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::OwnedSemaphorePermit;

use unroof_infer::estimate::CancelToken;

/// Time for which the permit of a disconnected client stays taken: sending a catalog and leaving is cheap for the client,
/// reading it is expensive for the service.
const REST: Duration = Duration::from_secs(1);

/// Permit of an import, held until all of its work has ended.
#[derive(Debug, Clone)]
pub struct Turn(Arc<Place>);

#[derive(Debug)]
struct Place {
    permit: Option<OwnedSemaphorePermit>,
    wanted: CancelToken,
    runtime: Handle,
}

impl Turn {
    /// A permit for a client that may disconnect.
    ///
    /// # Panics
    /// Outside a Tokio runtime.
    #[must_use]
    pub fn new(permit: OwnedSemaphorePermit, wanted: CancelToken) -> Self {
        Self(Arc::new(Place {
            permit: Some(permit),
            wanted,
            runtime: Handle::current(),
        }))
    }

    /// Cancellation token of the client.
    pub(super) fn wanted(&self) -> &CancelToken {
        &self.0.wanted
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if self.wanted.check().is_err() {
            let permit = self.permit.take();
            self.runtime.spawn(async move {
                tokio::time::sleep(REST).await;
                drop(permit);
            });
        }
    }
}

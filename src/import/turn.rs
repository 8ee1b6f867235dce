//! The turn of an import: one catalog at a time is read and imported in a process.

use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::OwnedSemaphorePermit;

use unroof_core::estimate::Wanted;

/// A client that leaves before its import has ended keeps the place for this much longer. To send a catalog and leave costs
/// it little, and to read the catalog costs the service much.
const REST: Duration = Duration::from_secs(1);

/// The turn of an import: as long as any part of its work goes on, the place is taken.
#[derive(Debug, Clone)]
pub struct Turn(Arc<Place>);

#[derive(Debug)]
struct Place {
    permit: Option<OwnedSemaphorePermit>,
    wanted: Wanted,
    runtime: Handle,
}

impl Turn {
    /// A turn with its place among those who import, for a client that may leave.
    ///
    /// # Panics
    /// Outside of a runtime.
    #[must_use]
    pub fn new(permit: OwnedSemaphorePermit, wanted: Wanted) -> Self {
        Self(Arc::new(Place {
            permit: Some(permit),
            wanted,
            runtime: Handle::current(),
        }))
    }

    /// Whether a client waits for the result.
    pub(super) fn wanted(&self) -> &Wanted {
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

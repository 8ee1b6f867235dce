//! Long work on many items, on threads of its own.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use tokio::sync::mpsc;

use super::priority::Priority;

/// Results that wait to be received, at most.
const MOST_WAITING: usize = 128;

/// Works on items on some threads of this priority, which no other work uses: a priority that was lowered cannot be raised
/// again. Each result comes with the place of its item, in any order. Work without a result ends its thread, so that results
/// may be missing in the end.
///
/// # Errors
/// A thread cannot be started.
pub(crate) fn work_on<T, R>(
    items: &Arc<Vec<T>>,
    threads: usize,
    priority: Priority,
    work: impl Fn(&T) -> Option<R> + Clone + Send + 'static,
) -> io::Result<mpsc::Receiver<(usize, R)>>
where
    T: Send + Sync + 'static,
    R: Send + 'static,
{
    let (sender, results) = mpsc::channel(MOST_WAITING);
    let next = Arc::new(AtomicUsize::new(0));
    for _ in 0..threads {
        let (items, next) = (Arc::clone(items), Arc::clone(&next));
        let (work, sender) = (work.clone(), sender.clone());
        let work_on = move || {
            priority.take();
            let next = || next.fetch_add(1, Ordering::Relaxed);
            let results = || {
                let place = next();
                Some((place, work(items.get(place)?)?))
            };
            while let Some(result) = results() {
                if sender.blocking_send(result).is_err() {
                    return;
                }
            }
        };
        let thread = thread::Builder::new().name("estimating".to_owned());
        thread.spawn(work_on)?;
    }
    Ok(results)
}

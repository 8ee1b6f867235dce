//! Priorities of threads that compute estimates.

/// Priority of a thread, where the system supports priorities.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Priority {
    /// Priority of what answers at once.
    Normal,
    /// Priority of what computes for some milliseconds: a third of the speed during normal work.
    Long,
    /// Priority of imports: a tenth of the speed during long work.
    Batch,
}

impl Priority {
    /// Sets the priority of this thread. It cannot be raised again.
    pub fn take(self) {
        let nice = match self {
            Self::Normal => return,
            Self::Long => 5,
            Self::Batch => 15,
        };
        #[cfg(target_os = "linux")]
        let _ = rustix::process::setpriority_process(None, nice);
        #[cfg(not(target_os = "linux"))]
        let _ = nice;
    }
}

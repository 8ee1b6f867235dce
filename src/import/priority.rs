//! Priorities of threads.

/// How far a thread gives way to others, where the system has priorities.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Priority {
    /// Someone waits for a short piece of work.
    Normal,
    /// Someone waits for a long one: beside normal work it goes on at a third of the speed.
    Long,
    /// Someone waits for many: at a tenth.
    Batch,
    /// Only what others leave.
    Last,
}

impl Priority {
    /// Gives it to this thread. What a thread has given away does not come back.
    pub(crate) fn take(self) {
        let nice = match self {
            Self::Normal => return,
            Self::Long => 5,
            Self::Batch => 10,
            Self::Last => 19,
        };
        #[cfg(target_os = "linux")]
        let _ = rustix::process::setpriority_process(None, nice);
        #[cfg(not(target_os = "linux"))]
        let _ = nice;
    }
}

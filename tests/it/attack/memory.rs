//! What clients can make the service hold in memory.

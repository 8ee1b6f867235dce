//! What catalogs can make the service hold in memory.

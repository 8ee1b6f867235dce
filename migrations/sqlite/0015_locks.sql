-- Locks that outlive a transaction. One that is not renewed expires. A file, which one process serves, needs none.
CREATE TABLE locks (
    name       text PRIMARY KEY,
    holder     blob NOT NULL,
    expires_at text NOT NULL
);

-- Locks that outlive a transaction. One that is not renewed expires.
CREATE TABLE locks (
    name       text COLLATE "C" PRIMARY KEY,
    holder     uuid NOT NULL,
    expires_at timestamptz NOT NULL
);

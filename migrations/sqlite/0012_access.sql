-- Keys of clients. A key is stored as the SHA-256 of its text; a session of the pages is a key that was made from another one,
-- and ends with it.
CREATE TABLE api_keys (
    id         blob PRIMARY KEY,
    name       text NOT NULL,
    scope      text NOT NULL,
    hash       blob NOT NULL UNIQUE,
    made_from  blob REFERENCES api_keys (id),
    created_at text NOT NULL,
    expires_at text,
    revoked_at text
);
-- A revoked key gives its name back.
CREATE UNIQUE INDEX api_keys_by_name ON api_keys (name) WHERE revoked_at IS NULL AND made_from IS NULL;
CREATE INDEX api_keys_by_origin ON api_keys (made_from) WHERE made_from IS NOT NULL;

-- Who changed what, in the order of writing. A row is written in the transaction of the change that it records.
CREATE TABLE audit (
    sequence   integer PRIMARY KEY,
    at         text NOT NULL,
    -- Kind of the caller: key, user, anonymous, command_line or service.
    caller     text NOT NULL,
    key_id     blob,
    name       text,
    action     text NOT NULL,
    -- The id of the changed thing, and its name for people.
    subject_id blob NOT NULL,
    subject    text NOT NULL,
    request_id text
);

-- Keys of clients. A key is stored as the SHA-256 of its text; a session of the pages is a key that was made from another one,
-- and ends with it.
CREATE TABLE api_keys (
    id         uuid PRIMARY KEY,
    name       text COLLATE "C" NOT NULL,
    scope      text COLLATE "C" NOT NULL,
    hash       bytea NOT NULL UNIQUE,
    made_from  uuid REFERENCES api_keys (id),
    created_at timestamptz NOT NULL,
    expires_at timestamptz,
    revoked_at timestamptz
);
-- A revoked key gives its name back.
CREATE UNIQUE INDEX api_keys_by_name ON api_keys (name) WHERE revoked_at IS NULL AND made_from IS NULL;
CREATE INDEX api_keys_by_origin ON api_keys (made_from) WHERE made_from IS NOT NULL;

-- Who changed what, in the order of writing. A row is written in the transaction of the change that it records.
CREATE TABLE audit (
    sequence   bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at         timestamptz NOT NULL,
    -- Kind of the caller: key, user, anonymous, command_line or service.
    caller     text COLLATE "C" NOT NULL,
    key_id     uuid,
    name       text COLLATE "C",
    action     text COLLATE "C" NOT NULL,
    -- The id of the changed thing, and its name for people.
    subject_id uuid NOT NULL,
    subject    text COLLATE "C" NOT NULL,
    request_id text COLLATE "C"
);

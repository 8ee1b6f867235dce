-- Who is told of changes.
CREATE TABLE webhooks (
    id           blob PRIMARY KEY,
    url          text NOT NULL,
    -- What its deliveries are signed with.
    secret       text NOT NULL,
    created_at   text NOT NULL,
    -- The last change that was delivered, or given up.
    since        integer NOT NULL,
    -- Before this nothing is sent.
    due_at       text NOT NULL,
    -- Who is sending now, and until when nobody else does.
    lease_id     blob,
    leased_until text,
    -- When its receiver said that it wants no more.
    disabled_at  text
) STRICT;

-- What was sent, or is to be sent again: the changes after `since` up to `next_since`.
CREATE TABLE webhook_deliveries (
    id              blob PRIMARY KEY,
    webhook_id      blob NOT NULL REFERENCES webhooks (id) ON DELETE CASCADE,
    since           integer NOT NULL,
    next_since      integer NOT NULL,
    changes         integer NOT NULL,
    -- pending, delivered or failed
    state           text NOT NULL,
    attempts        integer NOT NULL,
    created_at      text NOT NULL,
    attempted_at    text NOT NULL,
    next_attempt_at text,
    -- What the receiver answered last.
    status          integer,
    error           text,
    UNIQUE (webhook_id, since)
) STRICT;
CREATE INDEX webhook_deliveries_by_time ON webhook_deliveries (attempted_at);

CREATE INDEX changes_by_offer ON changes (provider, model, sequence);

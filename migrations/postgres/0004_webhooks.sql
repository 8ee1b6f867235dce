-- Who is told of changes.
CREATE TABLE webhooks (
    id           uuid PRIMARY KEY,
    url          text COLLATE "C" NOT NULL,
    -- What its deliveries are signed with.
    secret       text COLLATE "C" NOT NULL,
    created_at   timestamptz NOT NULL,
    -- The last change that was delivered, or given up.
    since        bigint NOT NULL,
    -- Before this nothing is sent.
    due_at       timestamptz NOT NULL,
    -- Who is sending now, and until when nobody else does.
    lease_id     uuid,
    leased_until timestamptz,
    -- When its receiver said that it wants no more.
    disabled_at  timestamptz
);

-- What was sent, or is to be sent again: the changes after `since` up to `next_since`.
CREATE TABLE webhook_deliveries (
    id              uuid PRIMARY KEY,
    webhook_id      uuid NOT NULL REFERENCES webhooks (id) ON DELETE CASCADE,
    since           bigint NOT NULL,
    next_since      bigint NOT NULL,
    changes         bigint NOT NULL,
    -- pending, delivered or failed
    state           text COLLATE "C" NOT NULL,
    attempts        bigint NOT NULL,
    created_at      timestamptz NOT NULL,
    attempted_at    timestamptz NOT NULL,
    next_attempt_at timestamptz,
    -- What the receiver answered last.
    status          bigint,
    error           text COLLATE "C",
    UNIQUE (webhook_id, since)
);
CREATE INDEX webhook_deliveries_by_time ON webhook_deliveries (attempted_at);

CREATE INDEX changes_by_offer ON changes (provider, model, sequence);

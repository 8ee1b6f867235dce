-- Budgets of clients that all replicas share (`--limits shared`). The client is a SHA-256. Not logged: after a crash, every client
-- has its whole budget again.
CREATE UNLOGGED TABLE client_limits (
    client   bytea PRIMARY KEY,
    -- Time at which the budget is whole again, in microseconds since 1970.
    whole_at bigint NOT NULL
);

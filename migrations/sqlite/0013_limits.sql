-- Budgets of clients that all replicas share (`--limits shared`). The client is a SHA-256.
CREATE TABLE client_limits (
    client   blob PRIMARY KEY,
    -- Time at which the budget is whole again, in microseconds since 1970.
    whole_at integer NOT NULL
);

//! Webhook deliveries while the database refuses writes.

//! Traces for a receiver of OpenTelemetry (OTLP over HTTP), the W3C trace context of requests, and the CPU time of a thread.

mod client;
mod endpoint;
pub mod secrets;
mod span;
mod thread_time;
mod trace_context;

use std::time::Duration;

use opentelemetry::KeyValue;
use opentelemetry::trace::TracerProvider;
use opentelemetry_otlp::{ExporterBuildError, Protocol, WithExportConfig, WithHttpConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::resource::EnvResourceDetector;
use opentelemetry_sdk::trace::SdkTracerProvider;
use tracing::Subscriber;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::Layer;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::registry::LookupSpan;
use uuid::Uuid;

use client::{Client, EXPORT_TIME};
pub use endpoint::Endpoint;
pub use span::{
    RequestTrace, TARGET, call_span, compute_span, database_span, delivery_span, note_status,
};
pub use thread_time::ThreadTime;
pub use trace_context::headers_of;

/// Sends the traces of a process to a receiver.
#[derive(Debug, Clone)]
pub struct Telemetry {
    endpoint: Endpoint,
    traces: SdkTracerProvider,
}

impl Telemetry {
    /// Starts the thread that sends traces; the receiver is not contacted yet.
    ///
    /// # Errors
    /// A variable of OpenTelemetry (`OTEL_…`) is set to something that is not supported.
    pub fn start(endpoint: Endpoint, instance: Uuid) -> Result<Self, ExporterBuildError> {
        let exporter = opentelemetry_otlp::SpanExporter::builder()
            .with_http()
            .with_http_client(Client::new(&endpoint))
            .with_endpoint(endpoint.address_of_traces())
            .with_protocol(Protocol::HttpBinary)
            .with_timeout(EXPORT_TIME)
            .build()?;
        let traces = SdkTracerProvider::builder()
            .with_batch_exporter(exporter)
            .with_resource(resource(instance))
            .build();
        Ok(Self { endpoint, traces })
    }

    /// Address of the receiver.
    #[must_use]
    pub fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// The part of the subscriber that makes traces of the spans that are meant for them.
    #[must_use]
    pub fn layer<S>(&self) -> impl Layer<S> + use<S>
    where
        S: Subscriber + for<'span> LookupSpan<'span> + Send + Sync,
    {
        tracing_opentelemetry::layer()
            .with_tracer(self.traces.tracer("unroof"))
            .with_location(false)
            .with_threads(false)
            .with_target(false)
            .with_tracked_inactivity(false)
            .with_filter(Targets::new().with_target(TARGET, LevelFilter::INFO))
    }

    /// Sends the traces that have not been sent; later ones are lost. Blocks, at most for this time.
    pub fn finish(&self, within: Duration) {
        if let Err(error) = self.traces.shutdown_with_timeout(within) {
            tracing::warn!(%error, "some traces could not be sent before the end");
        }
    }
}

/// The description of this process. What the environment states of it takes precedence.
fn resource(instance: Uuid) -> Resource {
    let name = std::env::var("OTEL_SERVICE_NAME").ok();
    let name = name.filter(|name| !name.is_empty());
    let stated = name.map(|name| KeyValue::new("service.name", name));
    Resource::builder_empty()
        .with_attributes([
            KeyValue::new("service.name", "unroof"),
            KeyValue::new("service.version", env!("CARGO_PKG_VERSION")),
            KeyValue::new("service.instance.id", instance.to_string()),
        ])
        .with_detector(Box::new(EnvResourceDetector::new()))
        .with_attributes(stated)
        .build()
}

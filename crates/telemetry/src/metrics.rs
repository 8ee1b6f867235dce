//! Metrics as a message of OTLP: the families of `/metrics`, with the same names, labels and values.

use jiff::Timestamp;
use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::common::v1::{
    AnyValue, InstrumentationScope, KeyValue, any_value::Value,
};
use opentelemetry_proto::tonic::metrics::v1::metric::Data;
use opentelemetry_proto::tonic::metrics::v1::number_data_point::Value as Number;
use opentelemetry_proto::tonic::metrics::v1::{
    AggregationTemporality, Gauge, Histogram, HistogramDataPoint, Metric, NumberDataPoint,
    ResourceMetrics, ScopeMetrics, Sum,
};
use opentelemetry_proto::tonic::resource::v1::Resource as ResourceMessage;
use opentelemetry_proto::transform::common::tonic::ResourceAttributesWithSchema;
use opentelemetry_sdk::Resource;
use prost::Message;

use super::open_metrics::{Family, Sample, read};

/// The times of all values of a message.
#[derive(Debug, Clone, Copy)]
struct Times {
    /// Start of the process, since which counters count.
    start: u64,
    now: u64,
}

/// The message for metrics, from their text in the format `OpenMetrics`.
pub(super) fn message(
    text: &str,
    resource: &Resource,
    started_at: Timestamp,
    now: Timestamp,
) -> Vec<u8> {
    let times = Times {
        start: nanoseconds(started_at),
        now: nanoseconds(now),
    };
    let metrics = read(text)
        .into_iter()
        .filter_map(|family| metric(&family, times));
    let described = ResourceAttributesWithSchema::from(resource);
    let of_service = ResourceMetrics {
        resource: Some(ResourceMessage {
            attributes: described.attributes.0,
            ..ResourceMessage::default()
        }),
        scope_metrics: vec![ScopeMetrics {
            scope: Some(InstrumentationScope {
                name: "unroof".to_owned(),
                version: env!("CARGO_PKG_VERSION").to_owned(),
                ..InstrumentationScope::default()
            }),
            metrics: metrics.collect(),
            schema_url: String::new(),
        }],
        schema_url: String::new(),
    };
    ExportMetricsServiceRequest {
        resource_metrics: vec![of_service],
    }
    .encode_to_vec()
}

fn nanoseconds(time: Timestamp) -> u64 {
    time.as_nanosecond().try_into().unwrap_or_default()
}

/// A metric; none where it has no values, or is of a kind that OTLP does not have.
fn metric(family: &Family<'_>, times: Times) -> Option<Metric> {
    if family.samples.is_empty() {
        return None;
    }
    let cumulative = AggregationTemporality::Cumulative.into();
    let (suffix, data) = match family.kind {
        "counter" => {
            let sum = Sum {
                data_points: numbers(&family.samples, times),
                aggregation_temporality: cumulative,
                is_monotonic: true,
            };
            ("", Data::Sum(sum))
        }
        "histogram" => {
            let histogram = Histogram {
                data_points: histograms(&family.samples, times),
                aggregation_temporality: cumulative,
            };
            ("", Data::Histogram(histogram))
        }
        "gauge" | "info" => {
            let gauge = Gauge {
                data_points: numbers(&family.samples, times),
            };
            let suffix = if family.kind == "info" { "_info" } else { "" };
            (suffix, Data::Gauge(gauge))
        }
        _ => return None,
    };
    Some(Metric {
        name: format!("{}{suffix}", family.name),
        description: family.help.to_owned(),
        data: Some(data),
        ..Metric::default()
    })
}

fn numbers(samples: &[Sample<'_>], times: Times) -> Vec<NumberDataPoint> {
    let point = |sample: &Sample<'_>| NumberDataPoint {
        attributes: attributes(&sample.labels),
        start_time_unix_nano: times.start,
        time_unix_nano: times.now,
        value: Some(Number::AsDouble(sample.value)),
        ..NumberDataPoint::default()
    };
    samples.iter().map(point).collect()
}

/// A point for each set of labels. Its samples follow each other: sum, count, and the buckets by their upper bounds, each
/// with all that is below it.
fn histograms(samples: &[Sample<'_>], times: Times) -> Vec<HistogramDataPoint> {
    let mut points: Vec<HistogramDataPoint> = Vec::new();
    let mut below = 0;
    for sample in samples {
        if sample.suffix == "_sum" {
            below = 0;
            points.push(HistogramDataPoint {
                attributes: attributes(&sample.labels),
                start_time_unix_nano: times.start,
                time_unix_nano: times.now,
                sum: Some(sample.value),
                ..HistogramDataPoint::default()
            });
        }
        let Some(point) = points.last_mut() else {
            continue;
        };
        let count = whole(sample.value);
        match sample.suffix {
            "_count" => point.count = count,
            "_bucket" => {
                let bound = sample.labels.iter().find(|(name, _)| *name == "le");
                let bound = bound.and_then(|(_, bound)| bound.parse().ok());
                point
                    .explicit_bounds
                    .extend(bound.filter(|bound: &f64| bound.is_finite()));
                point.bucket_counts.push(count.saturating_sub(below));
                below = count;
            }
            _ => {}
        }
    }
    points
}

/// A count, which the text writes as a number.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a count is whole and not negative"
)]
fn whole(count: f64) -> u64 {
    count as u64
}

fn attributes(labels: &[(&str, String)]) -> Vec<KeyValue> {
    let attribute = |(name, value): &(&str, String)| KeyValue {
        key: (*name).to_owned(),
        value: Some(AnyValue {
            value: Some(Value::StringValue(value.clone())),
        }),
        ..KeyValue::default()
    };
    labels.iter().map(attribute).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"# HELP asked Requests.
# TYPE asked counter
asked_total{route="/a"} 3
# HELP built The program.
# TYPE built info
built_info{version="1"} 1
# HELP none Nothing.
# TYPE none gauge
# HELP took Time.
# TYPE took histogram
took_sum{route="/a"} 1.5
took_count{route="/a"} 3
took_bucket{le="0.5",route="/a"} 2
took_bucket{le="2.0",route="/a"} 3
took_bucket{le="+Inf",route="/a"} 3
took_sum{route="/b"} 9.0
took_count{route="/b"} 1
took_bucket{le="0.5",route="/b"} 0
took_bucket{le="2.0",route="/b"} 0
took_bucket{le="+Inf",route="/b"} 1
# EOF
"#;

    #[test]
    fn counters_infos_and_histograms_keep_their_values() {
        let at = |text: &str| text.parse::<Timestamp>().unwrap();
        let started = at("2026-11-21T12:00:00Z");
        let now = at("2026-11-21T12:00:01Z");
        let resource = Resource::builder_empty().build();
        let message = message(TEXT, &resource, started, now);
        let read = ExportMetricsServiceRequest::decode(message.as_slice()).unwrap();
        let metrics = &read.resource_metrics[0].scope_metrics[0].metrics;
        let names: Vec<&str> = metrics.iter().map(|metric| metric.name.as_str()).collect();
        assert_eq!(names, ["asked", "built_info", "took"]);

        let Some(Data::Sum(asked)) = &metrics[0].data else {
            panic!("{metrics:?}");
        };
        let point = &asked.data_points[0];
        assert!(asked.is_monotonic);
        assert_eq!(point.value, Some(Number::AsDouble(3.0)));
        assert_eq!(
            point.time_unix_nano - point.start_time_unix_nano,
            1_000_000_000
        );
        assert_eq!(point.attributes, attributes(&[("route", "/a".to_owned())]));

        let Some(Data::Histogram(took)) = &metrics[2].data else {
            panic!("{metrics:?}");
        };
        let points: Vec<_> = took
            .data_points
            .iter()
            .map(|point| (point.count, point.sum, point.bucket_counts.as_slice()))
            .collect();
        assert_eq!(
            points,
            [
                (3, Some(1.5), [2, 1, 0].as_slice()),
                (1, Some(9.0), [0, 0, 1].as_slice()),
            ]
        );
        assert_eq!(took.data_points[0].explicit_bounds, [0.5, 2.0]);
    }
}

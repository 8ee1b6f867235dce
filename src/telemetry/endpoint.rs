//! The address of a receiver.

use std::fmt;
use std::str::FromStr;

use url::Url;

/// Address of a receiver of OTLP over HTTP, without the path of traces.
#[derive(Debug, Clone)]
pub struct Endpoint(Url);

impl FromStr for Endpoint {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const EXAMPLE: &str = "write an address such as http://collector:4318";
        let url = Url::parse(text).map_err(|_| EXAMPLE)?;
        if !matches!(url.scheme(), "http" | "https") || url.query().is_some() {
            return Err(EXAMPLE);
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(
                "it holds a name or a password; state a header in OTEL_EXPORTER_OTLP_HEADERS",
            );
        }
        Ok(Self(url))
    }
}

impl Endpoint {
    /// Address to which traces are sent.
    pub(super) fn address_of_traces(&self) -> String {
        format!("{}/v1/traces", self.0.as_str().trim_end_matches('/'))
    }
}

/// Scheme, host and port: a path may hold a token.
impl fmt::Display for Endpoint {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str(&self.0.origin().ascii_serialization())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn traces_are_sent_below_the_path_of_the_endpoint() {
        for (text, address) in [
            ("http://collector:4318", "http://collector:4318/v1/traces"),
            ("http://collector:4318/", "http://collector:4318/v1/traces"),
            (
                "https://collector.example/otlp/",
                "https://collector.example/otlp/v1/traces",
            ),
        ] {
            let endpoint: Endpoint = text.parse().unwrap();
            assert_eq!(endpoint.address_of_traces(), address);
        }
        let endpoint: Endpoint = "https://collector.example/token".parse().unwrap();
        assert_eq!(endpoint.to_string(), "https://collector.example");
    }

    #[test]
    fn an_endpoint_is_an_address_of_http_without_credentials() {
        for text in [
            "",
            "collector",
            "collector:4318",
            "grpc://collector:4317",
            "http://ann:secret@collector:4318",
            "http://collector:4318?key=1",
        ] {
            assert!(text.parse::<Endpoint>().is_err(), "{text}");
        }
    }
}

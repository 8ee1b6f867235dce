//! Chromium without a window, driven through a chromedriver of its own.

use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::pin::Pin;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::Arc;

use axum::body::Bytes;
use axum::http::request::Parts;
use axum::http::{Request, Response};
use thirtyfour::common::capabilities::chromium::ChromiumLikeCapabilities;
use thirtyfour::error::{WebDriverError, WebDriverResult};
use thirtyfour::session::http::{Body, HttpClient};
use thirtyfour::{ChromeCapabilities, DesiredCapabilities, LoggingPrefsLogLevel, WebDriver};

use crate::server::client;

/// Most bytes of an answer: a picture of a long page.
const LONGEST_ANSWER: u64 = 64 << 20;

/// Most starts of a chromedriver: it takes a free port of IPv4, and ends where another process has the same one of IPv6.
const STARTS: u8 = 5;

/// Whether there is a chromedriver on the path.
pub(super) fn is_installed() -> bool {
    let asked = Command::new("chromedriver").arg("--version").output();
    asked.is_ok_and(|version| version.status.success())
}

/// A chromedriver on a free port. It ends with this value, and so do its browsers.
pub(super) struct Chromedriver {
    child: Child,
    address: String,
    /// Kept open: chromedriver writes a line now and then.
    _output: BufReader<ChildStdout>,
}

impl Chromedriver {
    pub(super) fn start() -> Self {
        let mut starts = (0..STARTS).map(|_| Self::try_start());
        starts
            .find_map(|started| started)
            .expect("chromedriver ends before it names its port")
    }

    /// Starts one; none where it ends, since another process has its port.
    fn try_start() -> Option<Self> {
        let mut child = Command::new("chromedriver")
            .args(["--port=0", "--log-level=SEVERE"])
            .process_group(0)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let port = port_in(&mut output);
        // Made in either case: its drop waits for the process.
        let driver = Self {
            child,
            address: format!("http://127.0.0.1:{}", port.as_deref().unwrap_or("0")),
            _output: output,
        };
        port.map(|_| driver)
    }

    /// A browser that reaches no other machine, and keeps a log of its console and of its requests.
    pub(super) async fn browser(&self) -> WebDriver {
        let driver = WebDriver::builder(&self.address, capabilities().unwrap());
        driver.client(Http(client())).connect().await.unwrap()
    }
}

impl Drop for Chromedriver {
    fn drop(&mut self) {
        // Closes its browsers; one that hangs is in its process group.
        let _ = client().get(format!("{}/shutdown", self.address)).call();
        let group = format!("-{}", self.child.id());
        let _ = Command::new("kill")
            .args(["-KILL", "--", &group])
            .stderr(Stdio::null())
            .status();
        let _ = self.child.wait();
    }
}

/// The port that chromedriver names; none where it ends first.
fn port_in(output: &mut impl BufRead) -> Option<String> {
    output.lines().map(Result::unwrap).find_map(|line| {
        let (_, port) = line
            .trim_end_matches('.')
            .rsplit_once("successfully on port ")?;
        Some(port.to_owned())
    })
}

fn capabilities() -> WebDriverResult<ChromeCapabilities> {
    let mut wanted = DesiredCapabilities::chrome();
    for argument in [
        "--headless=new",
        // The tests run as root and in containers, where Chromium's sandbox does not start; all pages are one's own.
        "--no-sandbox",
        "--disable-dev-shm-usage",
        "--disable-gpu",
        "--force-device-scale-factor=1",
        // What Chromium asks of its maker.
        "--disable-background-networking",
        "--disable-component-update",
        "--no-first-run",
        "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
    ] {
        wanted.add_arg(argument)?;
    }
    for log in ["browser", "performance"] {
        wanted.set_logging_prefs(log, LoggingPrefsLogLevel::All)?;
    }
    Ok(wanted)
}

/// The HTTP client of the service, in place of the one that thirtyfour would bring along.
struct Http(ureq::Agent);

type Sent<'f, T> = Pin<Box<dyn Future<Output = T> + Send + 'f>>;

impl HttpClient for Http {
    fn send<'client, 'request, 'f>(
        &'client self,
        request: Request<Body<'request>>,
    ) -> Sent<'f, WebDriverResult<Response<Bytes>>>
    where
        'client: 'f,
        'request: 'f,
        Self: 'f,
    {
        let agent = self.0.clone();
        let (head, body) = request.into_parts();
        let body = match body {
            Body::Json(document) => Some(document.to_string()),
            Body::Empty => None,
        };
        Box::pin(async move {
            let sent = tokio::task::spawn_blocking(move || send(&agent, head, body)).await;
            let failed = |error: String| WebDriverError::HttpError(error);
            sent.map_err(|error| failed(error.to_string()))?
                .map_err(|error| failed(error.to_string()))
        })
    }

    fn new<'client, 'f>(&'client self) -> Sent<'f, Arc<dyn HttpClient>>
    where
        'client: 'f,
        Self: 'f,
    {
        let fresh: Arc<dyn HttpClient> = Arc::new(Self(client()));
        Box::pin(std::future::ready(fresh))
    }
}

fn send(
    agent: &ureq::Agent,
    head: Parts,
    body: Option<String>,
) -> Result<Response<Bytes>, ureq::Error> {
    let answer = match body {
        Some(body) => agent.run(Request::from_parts(head, body))?,
        None => agent.run(Request::from_parts(head, ()))?,
    };
    let (head, mut body) = answer.into_parts();
    let body = body.with_config().limit(LONGEST_ANSWER).read_to_vec()?;
    Ok(Response::from_parts(head, body.into()))
}

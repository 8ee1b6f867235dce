//! The real binary: commands that end, and a server that can be killed.
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use serde_json::Value;

/// Timeout for operations that take milliseconds; only a failing test waits for it.
pub(crate) const LONGEST_WAIT: Duration = Duration::from_secs(30);

/// The binary in an environment of its own; `UNROOF_TEST_PROGRAM` names another build of it.
pub(crate) fn unroof(arguments: &[&str]) -> Command {
    let built = env!("CARGO_BIN_EXE_unroof").into();
    let program = std::env::var_os("UNROOF_TEST_PROGRAM").unwrap_or(built);
    let mut command = Command::new(program);
    command.env_clear().args(arguments);
    if arguments.first() == Some(&"serve") && !arguments.contains(&"--help") {
        // Lists would have more rows a moment later.
        command.env("UNROOF_SKIP_MODELS", "true");
    }
    command.stdin(Stdio::null());
    command
}

/// Result of a command.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

/// Runs a command with a text on standard input.
pub(crate) fn run_with(command: &mut Command, input: &str) -> Ended {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_owned();
    // A command that does not read its input closes it.
    let writer = std::thread::spawn(move || stdin.write_all(input.as_bytes()).is_ok());
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    Ended {
        code: output.status.code(),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

/// Writes a file into a folder; its path.
pub(crate) fn file_text(folder: &Path, name: &str, text: &str) -> String {
    let file = folder.join(name);
    fs::write(&file, text).unwrap();
    file.to_str().unwrap().to_owned()
}

/// Runs a command with nothing on standard input.
pub(crate) fn run(arguments: &[&str]) -> Ended {
    run_with(&mut unroof(arguments), "")
}

/// Runs a command that must succeed, and gives its output.
pub(crate) fn output_of(arguments: &[&str]) -> String {
    let ended = run(arguments);
    assert_eq!(ended.code, Some(0), "{arguments:?}: {}", ended.err);
    ended.out
}

/// Runs a maintainer's command, and gives its output.
pub(crate) fn maintain(arguments: &[&str]) -> anyhow::Result<String> {
    let mut out = Vec::new();
    unroof_dev::run([&["unroof-dev"], arguments].concat(), &mut out)?;
    Ok(String::from_utf8(out)?)
}

/// A server on a free port.
pub(crate) struct Server {
    child: Child,
    /// Address of the server, such as `http://127.0.0.1:40123`.
    pub(crate) address: String,
    /// The line that it printed when it was ready.
    pub(crate) greeting: String,
    log: Arc<Mutex<String>>,
    reader: Option<JoinHandle<()>>,
}

impl Server {
    /// Starts a server on a database.
    pub(crate) fn start(database_url: &str) -> Self {
        let patience = ["--pool-timeout", "20s", "--statement-timeout", "20s"];
        let database = ["--database-url", database_url, "--listen", "127.0.0.1:0"];
        Self::start_with(&[database, patience].concat())
    }

    /// Serves with these arguments; port 0 is theirs to ask for.
    pub(crate) fn start_with(arguments: &[&str]) -> Self {
        let mut command = unroof(&["serve"]);
        command.args(arguments);
        Self::spawn(command)
    }

    pub(crate) fn spawn(mut command: Command) -> Self {
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let log = Arc::new(Mutex::new(String::new()));
        let stderr = BufReader::new(child.stderr.take().unwrap());
        let kept = Arc::clone(&log);
        let reader = std::thread::spawn(move || {
            for line in stderr.lines().map_while(Result::ok) {
                let mut log = kept.lock().unwrap();
                log.push_str(&line);
                log.push('\n');
            }
        });
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap())
            .read_line(&mut line)
            .unwrap();
        let address = line
            .strip_prefix("unroof listens on ")
            .and_then(|rest| rest.split(' ').next())
            .unwrap_or_else(|| panic!("`{line}`: {}", log.lock().unwrap()))
            .to_owned();
        Self {
            child,
            address,
            greeting: line,
            log,
            reader: Some(reader),
        }
    }

    /// Standard error of the server so far.
    pub(crate) fn log(&self) -> String {
        self.log.lock().unwrap().clone()
    }

    /// Waits until the log holds a text.
    pub(crate) fn wait_for_log(&self, text: &str) -> String {
        let began = Instant::now();
        loop {
            let log = self.log();
            if log.contains(text) {
                return log;
            }
            assert!(began.elapsed() < LONGEST_WAIT, "no `{text}` in {log}");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Address of the listener for metrics, found by the words of its line in the log: the line of
    /// the other listener has an address too, and comes before or after it.
    pub(crate) fn metrics_address(&self) -> String {
        let log = self.wait_for_log("serving metrics");
        let line = log.lines().find(|line| line.contains("serving metrics"));
        let address = line.unwrap().split("address=").nth(1).unwrap();
        format!("http://{}", address.trim())
    }

    /// Ends the server by `kill -9`.
    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Id of the process.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Asks the server to stop; how it ended, and all it wrote to standard error.
    pub(crate) fn stop(self) -> (ExitStatus, String) {
        signal(self.id(), "TERM");
        self.end()
    }

    /// Waits until the server has ended; how it did, and all it wrote to standard error.
    pub(crate) fn end(mut self) -> (ExitStatus, String) {
        let began = Instant::now();
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            assert!(
                began.elapsed() < LONGEST_WAIT,
                "still running: {}",
                self.log()
            );
            std::thread::sleep(Duration::from_millis(5));
        };
        self.reader.take().unwrap().join().unwrap();
        (status, self.log())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Sends a signal to a process.
pub(crate) fn signal(process: u32, name: &str) {
    let sent = Command::new("kill")
        .args([format!("-{name}"), process.to_string()])
        .status();
    assert!(sent.unwrap().success(), "{name} to {process}");
}

/// Waits until something holds that soon does.
pub(crate) fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let began = Instant::now();
    while !holds() {
        assert!(began.elapsed() < LONGEST_WAIT, "never: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// A client that takes every status as an answer.
pub(crate) fn client() -> ureq::Agent {
    client_within(LONGEST_WAIT)
}

/// A client that takes every status as an answer, for work that takes long.
pub(crate) fn patient_client() -> ureq::Agent {
    client_within(4 * LONGEST_WAIT)
}

fn client_within(time: Duration) -> ureq::Agent {
    let config = ureq::Agent::config_builder()
        .http_status_as_error(false)
        .timeout_global(Some(time))
        .build();
    config.into()
}

/// Sends a document; the status and body of the answer, if one came whole.
pub(crate) fn post(client: &ureq::Agent, url: &str, body: &Value) -> Option<(u16, String)> {
    let sent = client
        .post(url)
        .header("content-type", "application/json")
        .send(body.to_string());
    let mut response = sent.ok()?;
    let mut text = String::new();
    response
        .body_mut()
        .as_reader()
        .read_to_string(&mut text)
        .ok()?;
    Some((response.status().as_u16(), text))
}

/// Asks for a document; the status and body of the answer.
pub(crate) fn get(client: &ureq::Agent, url: &str) -> (u16, String) {
    let mut response = client.get(url).call().unwrap();
    let text = response.body_mut().read_to_string().unwrap();
    (response.status().as_u16(), text)
}

/// The permissions of a file or folder.
#[cfg(unix)]
pub(crate) fn mode(path: &Path) -> u32 {
    use std::os::unix::fs::PermissionsExt;
    std::fs::metadata(path).unwrap().permissions().mode() & 0o777
}

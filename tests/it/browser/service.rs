//! A service with the example sheets, some of whose prices have changed.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use serde_json::json;
use tempfile::TempDir;

use crate::server::{LONGEST_WAIT, Server, client, get, post, unroof};
use crate::support::{example, with};

/// A service with a database of its own.
pub(super) struct Service {
    server: Server,
    _folder: TempDir,
}

impl Service {
    /// Starts it on a copy of the one database that is filled for all tests.
    pub(super) fn start() -> Self {
        static FILLED: OnceLock<PathBuf> = OnceLock::new();
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("unroof.db");
        std::fs::copy(FILLED.get_or_init(fill), &file).unwrap();
        Self {
            server: serve(&file, &[]),
            _folder: folder,
        }
    }

    /// Address of the service, such as `http://127.0.0.1:40123`.
    pub(super) fn address(&self) -> &str {
        &self.server.address
    }

    /// Stores an example with another price of input.
    pub(super) fn change_price(&self, name: &str, input: &str) {
        change_price(&self.server, name, input);
    }
}

/// Fills a database: examples, changes of prices, an estimate of every model.
fn fill() -> PathBuf {
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("browser.db");
    // From an earlier run.
    let _ = std::fs::remove_file(&file);
    let server = serve(&file, &["--examples"]);
    for (name, input) in [
        ("openai_gpt-5.4.json", "2.00"),
        ("openai_gpt-5.4.json", "1.75"),
        ("anthropic_claude-opus-4-6.json", "6.00"),
    ] {
        change_price(&server, name, input);
    }
    let began = Instant::now();
    let unfinished =
        |page: &str| page.contains("Nothing is stored yet") || page.contains("no estimate");
    while unfinished(&get(&client(), &format!("{}/ui/", server.address)).1) {
        assert!(began.elapsed() < LONGEST_WAIT, "{}", server.log());
        std::thread::sleep(Duration::from_millis(100));
    }
    let (status, log) = server.stop();
    assert!(status.success(), "{log}");
    file
}

fn serve(database: &Path, arguments: &[&str]) -> Server {
    let database = format!("sqlite:{}", database.display());
    let mut command = unroof(&[
        "serve",
        "--database-url",
        &database,
        "--listen",
        "127.0.0.1:0",
    ]);
    // The market has the estimates of models.
    command.args(arguments).env_remove("UNROOF_SKIP_MODELS");
    Server::spawn(command)
}

fn change_price(server: &Server, name: &str, input: &str) {
    let sheet = with(example(name), "/rates/0/input", json!(input));
    let (status, answer) = post(&client(), &format!("{}/infer", server.address), &sheet).unwrap();
    assert!(status == 200 || status == 201, "{status}: {answer}");
}

//! A process that listens, for as long as a bench needs it.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

/// A process that ends with this one.
pub(crate) struct Process(pub(crate) Child);

impl Process {
    /// Starts it; the first address that it prints.
    pub(crate) fn listening(command: &mut Command) -> (Self, String) {
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap())
            .read_line(&mut line)
            .unwrap();
        let address = line
            .split_whitespace()
            .find(|word| word.starts_with("http://"))
            .unwrap_or_else(|| panic!("no address: {line}"));
        (Self(child), address.to_owned())
    }

    /// The service with the limits that it has by default, and its address.
    pub(crate) fn service(database: &str) -> (Self, String) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_unroof"));
        command.args(["serve", "--listen", "127.0.0.1:0", "--log", "error"]);
        Self::listening(command.args(["--database-url", database]))
    }

    /// A line of what the system says of its memory, in bytes.
    pub(crate) fn memory(&self, name: &str) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.0.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        let kilobytes = line
            .unwrap()
            .trim_start_matches(':')
            .trim()
            .trim_end_matches(" kB");
        kilobytes.parse::<u64>().unwrap() * 1024
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

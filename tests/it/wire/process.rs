//! Process information from Linux.

/// Files and sockets that it has open.
pub(super) fn open_files(process: u32) -> usize {
    std::fs::read_dir(format!("/proc/{process}/fd"))
        .unwrap()
        .count()
}

/// Sockets that it has open.
pub(super) fn open_sockets(process: u32) -> usize {
    let entries = std::fs::read_dir(format!("/proc/{process}/fd")).unwrap();
    entries
        .filter_map(|entry| std::fs::read_link(entry.unwrap().path()).ok())
        .filter(|target| target.to_string_lossy().starts_with("socket:"))
        .count()
}

/// Memory that it takes, in bytes.
pub(super) fn resident_bytes(process: u32) -> u64 {
    let kilobytes = status_line(process, "VmRSS:");
    kilobytes.trim_end_matches(" kB").parse::<u64>().unwrap() * 1024
}

/// Number of a process as it sees it itself: another one where it lives in a namespace.
pub(super) fn own_number(process: u32) -> u32 {
    let numbers = status_line(process, "NSpid:");
    numbers
        .split_whitespace()
        .next_back()
        .unwrap()
        .parse()
        .unwrap()
}

/// Processes that it started.
pub(super) fn children(process: u32) -> Vec<u32> {
    let listed =
        std::fs::read_to_string(format!("/proc/{process}/task/{process}/children")).unwrap();
    let numbers = listed.split_whitespace();
    numbers.map(|number| number.parse().unwrap()).collect()
}

fn status_line(process: u32, name: &str) -> String {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let value = status.lines().find_map(|line| line.strip_prefix(name));
    value.unwrap().trim().to_owned()
}

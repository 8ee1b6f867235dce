//! Allowed target addresses: public ones, unless an operator allows others.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use url::Url;

/// Longest address of a webhook, in bytes.
pub(super) const LONGEST_URL: usize = 2_000;
/// Parses a target address, and checks it as far as possible without a DNS lookup. However an IPv4 address is spelled, the
/// result has it as four numbers.
pub fn read_url(text: &str) -> Result<Url, &'static str> {
    let url = Url::parse(text).map_err(|_| "it is not a URL")?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err("it is neither `http` nor `https`");
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err("it holds a name or a password");
    }
    if url.as_str().len() > LONGEST_URL {
        return Err("it is too long");
    }
    Ok(url)
}

/// Whether an address is public.
#[must_use]
pub fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => !PRIVATE_V4.iter().any(|block| is_in(address, *block)),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

/// Blocks of IPv4 that lead to this machine, its network, a provider's, nowhere or to many (RFC 6890 and its successors).
const PRIVATE_V4: [(Ipv4Addr, u32); 15] = [
    (Ipv4Addr::UNSPECIFIED, 8),
    (Ipv4Addr::new(10, 0, 0, 0), 8),
    (Ipv4Addr::new(100, 64, 0, 0), 10),
    (Ipv4Addr::new(127, 0, 0, 0), 8),
    (Ipv4Addr::new(169, 254, 0, 0), 16),
    (Ipv4Addr::new(172, 16, 0, 0), 12),
    (Ipv4Addr::new(192, 0, 0, 0), 24),
    (Ipv4Addr::new(192, 0, 2, 0), 24),
    (Ipv4Addr::new(192, 88, 99, 0), 24),
    (Ipv4Addr::new(192, 168, 0, 0), 16),
    (Ipv4Addr::new(198, 18, 0, 0), 15),
    (Ipv4Addr::new(198, 51, 100, 0), 24),
    (Ipv4Addr::new(203, 0, 113, 0), 24),
    (Ipv4Addr::new(224, 0, 0, 0), 4),
    (Ipv4Addr::new(240, 0, 0, 0), 4),
];

fn is_in(address: Ipv4Addr, (block, bits): (Ipv4Addr, u32)) -> bool {
    (address.to_bits() ^ block.to_bits()) >> (32 - bits) == 0
}

/// In IPv6 only `2000::/3` is allocated, and some of its blocks embed IPv4 addresses or have special purposes:
/// `2001::/23`, `2001:db8::/32`, `2002::/16`, `3fff::/20`.
fn is_public_v6(address: Ipv6Addr) -> bool {
    match address.segments() {
        [0x2001, second, ..] => second > 0x01ff && second != 0x0db8,
        [0x2002, ..] => false,
        [0x3fff, second, ..] => second > 0x0fff,
        [first, ..] => (0x2000..=0x3fff).contains(&first),
    }
}

/// Error of a private address.
pub const NOT_PUBLIC: &str = "the address is not a public one";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_the_internet_are_public_and_no_others() {
        for (address, expected) in [
            ("93.184.216.34", true),
            ("1.1.1.1", true),
            ("172.15.255.255", true),
            ("172.32.0.0", true),
            ("100.63.255.255", true),
            ("100.128.0.0", true),
            ("198.17.255.255", true),
            ("223.255.255.255", true),
            ("2606:4700::1111", true),
            ("2001:4860:4860::8888", true),
            ("2a00:1450::1", true),
            ("0.0.0.0", false),
            ("0.1.2.3", false),
            ("10.0.0.1", false),
            ("100.64.0.1", false),
            ("100.127.255.255", false),
            ("127.0.0.1", false),
            ("127.255.255.255", false),
            ("169.254.169.254", false),
            ("172.16.0.1", false),
            ("172.31.255.255", false),
            ("192.168.1.1", false),
            ("192.0.0.8", false),
            ("192.0.2.1", false),
            ("198.18.0.1", false),
            ("198.19.255.255", false),
            ("203.0.113.9", false),
            ("224.0.0.1", false),
            ("239.255.255.255", false),
            ("240.0.0.1", false),
            ("255.255.255.255", false),
            ("::", false),
            ("::1", false),
            ("::ffff:127.0.0.1", false),
            ("::ffff:93.184.216.34", false),
            ("::7f00:1", false),
            ("64:ff9b::7f00:1", false),
            ("64:ff9b:1::1", false),
            ("100::1", false),
            ("2001::1", false),
            ("2001:db8::1", false),
            ("2002:7f00:1::", false),
            ("3fff::1", false),
            ("fc00::1", false),
            ("fd12:3456::1", false),
            ("fe80::1", false),
            ("fec0::1", false),
            ("ff02::1", false),
        ] {
            assert_eq!(is_public(address.parse().unwrap()), expected, "{address}");
        }
    }

    #[test]
    fn other_spellings_of_an_address_are_that_address() {
        for text in [
            "http://2130706433/",
            "http://0x7f000001/",
            "http://0x7f.1/",
            "http://0177.0.0.1/",
            "http://127.1/",
            "http://127.0.0.1./",
            "http://①②⑦.0.0.1/",
        ] {
            let url = read_url(text).unwrap();
            assert_eq!(url.host_str(), Some("127.0.0.1"), "{text}");
        }
        for text in [
            "",
            "hook",
            "ftp://example.com/",
            "file:///etc/passwd",
            "http://",
            "http://a b/",
            "http://user@example.com/",
            "http://user:secret@example.com/",
            "http://:secret@example.com/",
            &format!("http://example.com/{}", "a".repeat(LONGEST_URL)),
        ] {
            assert!(read_url(text).is_err(), "{text}");
        }
    }
}

//! The time that a guess of a key takes.

use std::time::Instant;

use unroof_store::access::{Key, KeyHash, KeyRing, NewKey, Only, Scope};
use uuid::Uuid;

const TRIES: usize = 10_000;

fn stored(hash: KeyHash) -> (KeyHash, Key) {
    let id = Uuid::new_v4();
    let key = Key {
        id,
        origin: id,
        name: "stored".to_owned(),
        scope: Scope::Read,
        expires_at: None,
        networks: Only::ANY,
        providers: Only::ANY,
    };
    (hash, key)
}

/// A hash that differs in one bit of a byte.
fn twin(mut hash: KeyHash, byte: usize) -> KeyHash {
    hash.0[byte] ^= 1;
    hash
}

/// Nanoseconds that a guess takes: the median, and the distance between the quartiles.
fn spread(mut times: Vec<u128>) -> (u128, u128) {
    times.sort_unstable();
    let quarter = |number: usize| times[times.len() * number / 4];
    (quarter(2), quarter(3) - quarter(1))
}

#[test]
fn a_guess_that_is_almost_right_takes_as_long_as_any_other() {
    let [right, other, early, late] = [(); 4].map(|()| NewKey::random().unwrap());
    let mut almost = right.text.clone();
    let last = almost.pop();
    almost.push(if last == Some('A') { 'B' } else { 'A' });
    // Of two guesses, the hash of one differs in the ninth byte from a stored one, that of the other in the last.
    let hashes = [right.hash, twin(early.hash, 8), twin(late.hash, 31)];
    let ring: KeyRing = hashes.into_iter().map(stored).collect();
    for pair in [[other.text, almost], [early.text, late.text]] {
        let mut times = [(); 2].map(|()| Vec::with_capacity(TRIES));
        for _ in 0..TRIES {
            for (guess, times) in pair.iter().zip(&mut times) {
                let began = Instant::now();
                let found = ring.find(guess);
                times.push(began.elapsed().as_nanos());
                assert_eq!(found, None);
            }
        }
        let [(one, noise), (two, more_noise)] = times.map(spread);
        let noise = noise.max(more_noise).max(one / 50);
        assert!(
            one.abs_diff(two) <= noise,
            "{one} and {two} ns, noise {noise}"
        );
    }
}

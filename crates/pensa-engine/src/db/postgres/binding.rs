//! What ties a proof of a password to one TLS connection: a hash of the server's certificate (RFC 5929,
//! `tls-server-end-point`).

use sha2::{Digest, Sha256, Sha384, Sha512};

/// Algorithms by which certificates are signed, as the bytes of their object identifiers.
const SHA256: [&[u8]; 4] = [
    // RSA with SHA-1, for which the hash is SHA-256 all the same
    &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x05],
    // RSA
    &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x0b],
    // ECDSA with SHA-1
    &[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x01],
    // ECDSA
    &[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x02],
];
const SHA384: [&[u8]; 2] =
    [&[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x0c], &[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x03]];
const SHA512: [&[u8]; 2] =
    [&[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x0d], &[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x04]];

const SEQUENCE: u8 = 0x30;
const OBJECT_IDENTIFIER: u8 = 0x06;

/// The hash for a certificate, as DER; none if it is signed in a way that no hash is agreed on for.
pub(super) fn of_certificate(certificate: &[u8]) -> Option<Vec<u8>> {
    let signed_by = signature_algorithm(certificate)?;
    if SHA256.contains(&signed_by) {
        Some(Sha256::digest(certificate).to_vec())
    } else if SHA384.contains(&signed_by) {
        Some(Sha384::digest(certificate).to_vec())
    } else if SHA512.contains(&signed_by) {
        Some(Sha512::digest(certificate).to_vec())
    } else {
        None
    }
}

/// A certificate is a sequence of what is signed, the algorithm and the signature; an algorithm begins with its name.
fn signature_algorithm(certificate: &[u8]) -> Option<&[u8]> {
    let (certificate, _) = element(certificate, SEQUENCE)?;
    let (_, rest) = element(certificate, SEQUENCE)?;
    let (algorithm, _) = element(rest, SEQUENCE)?;
    Some(element(algorithm, OBJECT_IDENTIFIER)?.0)
}

/// What is in the element of this kind that DER begins with, and what comes after it.
fn element(der: &[u8], kind: u8) -> Option<(&[u8], &[u8])> {
    let [first, short, rest @ ..] = der else { return None };
    if *first != kind {
        return None;
    }
    let (length, rest) = match short {
        0..=0x7f => (usize::from(*short), rest),
        0x81..=0x84 => {
            let (digits, rest) = rest.split_at_checked(usize::from(short - 0x80))?;
            (digits.iter().fold(0, |length, digit| length << 8 | usize::from(*digit)), rest)
        }
        _ => return None,
    };
    rest.split_at_checked(length)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn der(kind: u8, content: &[u8]) -> Vec<u8> {
        let length = match u8::try_from(content.len()) {
            Ok(short @ 0..=0x7f) => vec![short],
            Ok(byte) => vec![0x81, byte],
            Err(_) => [&[0x82][..], &u16::try_from(content.len()).expect("small").to_be_bytes()].concat(),
        };
        [&[kind][..], &length, content].concat()
    }

    fn certificate(algorithm: &[u8], size: usize) -> Vec<u8> {
        let signed = der(SEQUENCE, &vec![7; size]);
        let algorithm = der(SEQUENCE, &[&der(OBJECT_IDENTIFIER, algorithm)[..], &[5, 0]].concat());
        der(SEQUENCE, &[signed, algorithm, vec![3, 1, 0]].concat())
    }

    #[test]
    fn the_hash_is_that_of_the_signature_and_of_whole_certificates_only() {
        for size in [3, 200, 900] {
            let lengths = [SHA256[1], SHA384[1], SHA512[0]].map(|algorithm| {
                let certificate = certificate(algorithm, size);
                for cut in 0..certificate.len() - 3 {
                    assert_eq!(of_certificate(&certificate[..cut]), None, "cut off at {cut}");
                }
                of_certificate(&certificate).map(|hash| hash.len())
            });
            assert_eq!(lengths, [Some(32), Some(48), Some(64)]);
        }
        // Ed25519 has a hash of its own kind inside.
        assert_eq!(of_certificate(&certificate(&[0x2b, 0x65, 0x70], 200)), None);
        assert_eq!(of_certificate(b"no certificate"), None);
    }
}

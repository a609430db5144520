//! Whom an `https` server's certificate has to come from, and what to say if it does not.
//!
//! The handshake itself is left to ureq and rustls.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use pensa_core::{Error, Result};
use rustls::CertificateError;
use ureq::tls::{PemItem, RootCerts, TlsConfig, parse_pem};

/// Trusts the authorities in `ca_file` and no others; without one, those that browsers trust.
pub(crate) fn config(ca_file: Option<&Path>) -> Result<TlsConfig> {
    let roots = match ca_file {
        Some(file) => authorities(file)?,
        None => RootCerts::WebPki,
    };
    Ok(TlsConfig::builder().root_certs(roots).build())
}

/// Whether `file` has certificates of authorities that could be trusted.
pub fn check_authorities(file: &Path) -> Result<()> {
    authorities(file).map(drop)
}

fn authorities(file: &Path) -> Result<RootCerts> {
    let wrong = |why: String| {
        Error::invalid(format!("{}: {why}", file.display())).hint("name a PEM file with certificates of authorities")
    };
    let pem = fs::read(file).map_err(|e| wrong(e.to_string()))?;
    let mut certificates = Vec::new();
    for item in parse_pem(&pem) {
        if let PemItem::Certificate(certificate) = item.map_err(|e| wrong(e.to_string()))? {
            certificates.push(certificate);
        }
    }
    if certificates.is_empty() {
        return Err(wrong("there is no certificate in it".to_owned()));
    }
    Ok(RootCerts::Specific(Arc::new(certificates)))
}

/// What rustls objected to, if it did.
pub(crate) fn objection(error: &ureq::Error) -> Option<&rustls::Error> {
    match error {
        ureq::Error::Rustls(why) => Some(why),
        ureq::Error::Io(e) => e.get_ref()?.downcast_ref(),
        _ => None,
    }
}

/// Why a certificate is not trusted, in words.
pub(crate) fn distrust(why: &CertificateError) -> String {
    match why {
        CertificateError::UnknownIssuer => "its certificate is from an authority that is not trusted here".to_owned(),
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => "its certificate has expired".to_owned(),
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            "its certificate is not valid yet; is the clock right?".to_owned()
        }
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            "its certificate is for another name".to_owned()
        }
        other => format!("its certificate is refused: {other}"),
    }
}

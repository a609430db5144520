//! Configures which certificate authorities are trusted, and explains certificate errors.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use pensa_core::{Error, Result};
use rustls::CertificateError;
use ureq::tls::{PemItem, RootCerts, TlsConfig, parse_pem};

/// Trusts only the authorities in `ca_file`; without it, the usual ones (WebPKI).
pub(crate) fn config(ca_file: Option<&Path>) -> Result<TlsConfig> {
    let roots = match ca_file {
        Some(file) => authorities(file)?,
        None => RootCerts::WebPki,
    };
    Ok(TlsConfig::builder().root_certs(roots).build())
}

/// Checks that `file` contains certificates.
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

/// The rustls error behind an HTTP error, if any.
pub(crate) fn rustls_error(error: &ureq::Error) -> Option<&rustls::Error> {
    match error {
        ureq::Error::Rustls(why) => Some(why),
        ureq::Error::Io(e) => e.get_ref()?.downcast_ref(),
        _ => None,
    }
}

/// Explains why a certificate is not trusted.
pub(crate) fn certificate_problem(why: &CertificateError) -> String {
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

//! Renders the page of settings, tokens and the audit.

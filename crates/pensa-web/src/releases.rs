//! Renders the page of releases and the changelog.

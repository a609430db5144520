//! Renders markdown safely: no markup of the text's own, no address that runs code, no image that is fetched.

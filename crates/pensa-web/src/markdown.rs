//! Renders markdown safely: no markup of the text's own, no address that runs code, no image that is fetched.

use maud::{Markup, html};

/// The text as it is; see the branch of the other pages for more.
pub fn markdown(source: &str) -> Markup {
    html! { pre { (source) } }
}

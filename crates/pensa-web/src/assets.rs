//! Holds style sheets and scripts. The name of each contains a hash of its content, so that browsers keep it for ever.

use std::sync::LazyLock;

/// A file that pages refer to.
#[derive(Debug)]
pub struct Asset {
    pub name: String,
    pub media_type: &'static str,
    pub text: &'static str,
}

/// The path below which assets are served.
pub const PATH: &str = "/ui/assets/";

macro_rules! assets {
    ($media_type:literal: $($name:literal),*) => {
        [$(Asset::new($name, $media_type, include_str!(concat!("../assets/", $name)))),*]
    };
}

/// Style sheets, in order.
pub static STYLES: LazyLock<[Asset; 2]> =
    LazyLock::new(|| assets!("text/css; charset=utf-8": "pensa.css", "pages.css"));
/// Scripts of every page, in order.
pub static SCRIPTS: LazyLock<[Asset; 4]> =
    LazyLock::new(|| assets!("text/javascript; charset=utf-8": "live.js", "pensa.js", "graph.js", "text.js"));

/// The icon of every page.
pub static ICONS: LazyLock<[Asset; 1]> = LazyLock::new(|| assets!("image/svg+xml": "icon.svg"));

impl Asset {
    fn new(name: &str, media_type: &'static str, text: &'static str) -> Self {
        let (stem, extension) = name.rsplit_once('.').unwrap_or((name, ""));
        Self { name: format!("{stem}-{:016x}.{extension}", hash(text)), media_type, text }
    }

    fn href(&self) -> String {
        format!("{PATH}{}", self.name)
    }
}

/// FNV-1a, which names content and protects nothing.
fn hash(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// The addresses of the style sheets.
pub fn styles() -> impl Iterator<Item = String> {
    STYLES.iter().map(Asset::href)
}

/// The address of the icon.
pub fn icon() -> String {
    ICONS[0].href()
}

/// The addresses of the scripts.
pub fn scripts() -> impl Iterator<Item = String> {
    SCRIPTS.iter().map(Asset::href)
}

/// The scripts of files that no server gives.
pub fn static_scripts() -> impl Iterator<Item = &'static Asset> {
    SCRIPTS.iter().filter(|asset| asset.name.starts_with("graph-"))
}

/// The asset with this name, and its number among all.
pub fn find(name: &str) -> Option<(usize, &'static Asset)> {
    STYLES.iter().chain(SCRIPTS.iter()).chain(ICONS.iter()).enumerate().find(|(_, asset)| asset.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_follow_content() {
        let [one, other] = ["a", "b"].map(|text| Asset::new("x.css", "text/css", text));
        assert_ne!(one.name, other.name);
        assert!(one.name.starts_with("x-") && one.name.ends_with(".css"));
        for href in styles().chain(scripts()) {
            assert!(find(href.strip_prefix(PATH).expect("a path of ours")).is_some(), "{href}");
        }
    }
}

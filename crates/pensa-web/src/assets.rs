//! Holds the style sheet and the script. Their names contain a hash of their content, so that browsers keep them for ever.

pub const STYLE: &str = include_str!("../assets/pensa.css");
pub const SCRIPT: &str = include_str!("../assets/pensa.js");

/// FNV-1a: a name for content, not a protection of it.
const fn hash(text: &str) -> u64 {
    let (bytes, mut at, mut hash) = (text.as_bytes(), 0, 0xcbf2_9ce4_8422_2325_u64);
    while at < bytes.len() {
        hash = (hash ^ bytes[at] as u64).wrapping_mul(0x0100_0000_01b3);
        at += 1;
    }
    hash
}

/// The file name of the style sheet.
pub fn style_name() -> String {
    format!("pensa-{:016x}.css", const { hash(STYLE) })
}

/// The file name of the script.
pub fn script_name() -> String {
    format!("pensa-{:016x}.js", const { hash(SCRIPT) })
}

//! Regenerates `rules/gitleaks.toml` from a release of the gitleaks rules; see `rules/README.md`.

use std::collections::BTreeSet;
use std::error::Error;
use std::{env, fs};

use serde::Deserialize;

/// The rules as published by gitleaks (TOML) or by a package of its rule data (JSON).
#[derive(Deserialize)]
struct Release {
    rules: Vec<Rule>,
    #[serde(default)]
    allowlist: Option<Allow>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Rule {
    id: String,
    #[serde(alias = "pattern")]
    regex: Option<String>,
    #[serde(default)]
    keywords: Vec<String>,
    #[serde(alias = "min_entropy")]
    entropy: Option<f64>,
    #[serde(alias = "secret_group")]
    secret_group: Option<usize>,
    path: Option<String>,
    #[serde(default, alias = "allowlist")]
    allowlists: Vec<Allow>,
}

#[derive(Deserialize, Clone)]
#[serde(rename_all = "camelCase")]
struct Allow {
    #[serde(default)]
    condition: String,
    #[serde(default, alias = "target")]
    regex_target: String,
    #[serde(default)]
    regexes: Vec<String>,
    #[serde(default)]
    stopwords: Vec<String>,
}

#[derive(Deserialize)]
struct Own {
    leave_out: BTreeSet<String>,
}

fn main() -> Result<(), Box<dyn Error>> {
    let (Some(from), Some(version)) = (env::args().nth(1), env::args().nth(2)) else {
        return Err("which file, and of which release? see rules/README.md".into());
    };
    let text = fs::read_to_string(&from)?;
    let is_json = from.ends_with(".json");
    let release: Release = if is_json { serde_json::from_str(&text)? } else { toml_edit::de::from_str(&text)? };
    let own: Own = toml_edit::de::from_str(include_str!("../rules/pensa.toml"))?;
    // The package repeats the global allowlist as the first list of each rule.
    let everywhere = release.allowlist.clone().or_else(|| release.rules[0].allowlists.first().cloned());
    println!(
        "# The rules of gitleaks {version}, MIT licence (LICENSE-gitleaks), without those that pensa.toml leaves out"
    );
    println!("# and those that are bound to file names. Written by examples/refresh.rs; do not edit.\n");
    println!("[allowlist]");
    print_allow(&everywhere.ok_or("no list of what is allowed everywhere")?);
    for rule in &release.rules {
        let Some(regex) = rule.regex.as_ref().filter(|_| rule.path.is_none() && !own.leave_out.contains(&rule.id))
        else {
            continue;
        };
        println!("\n[[rules]]\nid = {:?}\nregex = '''{}'''", rule.id, braces(regex));
        if let Some(entropy) = rule.entropy.filter(|entropy| *entropy > 0.0) {
            println!("entropy = {entropy:?}");
        }
        if let Some(group) = rule.secret_group.filter(|group| *group > 0) {
            println!("secretGroup = {group}");
        }
        println!("keywords = {:?}", rule.keywords);
        for allow in rule.allowlists.iter().skip(usize::from(is_json)) {
            // Lists of file names, lines or published keys do not describe the text of a secret.
            let applies =
                allow.condition != "AND" && ["", "secret"].contains(&&*allow.regex_target) && rule.id != "gcp-api-key";
            if applies && !(allow.regexes.is_empty() && allow.stopwords.is_empty()) {
                println!("[[rules.allowlists]]");
                print_allow(allow);
            }
        }
    }
    Ok(())
}

fn print_allow(allow: &Allow) {
    let regexes: Vec<_> = allow.regexes.iter().map(|regex| format!("    '''{}''',\n", braces(regex))).collect();
    println!("regexes = [\n{}]", regexes.concat());
    if !allow.stopwords.is_empty() {
        println!("stopwords = {:?}", allow.stopwords);
    }
}

/// Escapes braces that start no repetition: Go takes them literally, Rust's regexes do not.
fn braces(pattern: &str) -> String {
    let mut out = String::new();
    let mut escaped = false;
    for (at, c) in pattern.char_indices() {
        let count = pattern[at..].strip_prefix('{').and_then(|rest| rest.split_once('}')).map(|(count, _)| count);
        let repeats =
            count.is_some_and(|count| !count.is_empty() && count.chars().all(|c| c.is_ascii_digit() || c == ','));
        let opens_nothing = at == 0 || pattern[..at].ends_with(['|', '(', '$']);
        if c == '{' && !escaped && (!repeats || opens_nothing) {
            out.push('\\');
        }
        escaped = c == '\\' && !escaped;
        out.push(c);
    }
    out
}

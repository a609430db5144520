//! Tells by its path to which domain a file belongs. The rules are a table; nothing is read.

/// A domain that most repositories have.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct KnownDomain {
    pub(super) name: &'static str,
    /// Tags of learnings that belong to it too.
    pub(super) tags: &'static [&'static str],
    /// Directories whose files belong to it, if the file's language does not say otherwise.
    dirs: &'static [&'static str],
    /// Endings and whole names of its files.
    endings: &'static [&'static str],
    names: &'static [&'static str],
}

/// The domains, in the order in which a file is offered to them.
pub(super) const KNOWN: [KnownDomain; 6] = [
    KnownDomain {
        name: "testing",
        tags: &["test", "tests", "qa", "e2e"],
        dirs: &["test", "tests", "__tests__", "spec", "specs", "e2e", "cypress", "playwright", "testdata"],
        endings: &[
            "_test.go",
            "_test.py",
            "_test.rs",
            "_test.exs",
            "_test.rb",
            "_spec.rb",
            ".test.ts",
            ".test.tsx",
            ".test.js",
            ".test.jsx",
            ".test.mjs",
            ".spec.ts",
            ".spec.tsx",
            ".spec.js",
            ".spec.jsx",
            ".cy.ts",
            ".cy.js",
            "Test.java",
            "Tests.java",
            "Test.kt",
            "Test.php",
            "Tests.cs",
            "Tests.swift",
        ],
        names: &["conftest.py", "jest.config.js", "jest.config.ts", "vitest.config.ts", "playwright.config.ts"],
    },
    KnownDomain {
        name: "devops",
        tags: &["ci", "cd", "deployment", "infrastructure", "infra", "docker", "release"],
        dirs: &[
            ".github",
            ".gitlab",
            ".circleci",
            ".buildkite",
            "terraform",
            "helm",
            "k8s",
            "kubernetes",
            "ansible",
            "deploy",
            "deployment",
            "docker",
            "infra",
        ],
        endings: &[".tf", ".tfvars", ".dockerfile"],
        names: &[
            "Dockerfile",
            "docker-compose.yml",
            "docker-compose.yaml",
            "compose.yml",
            "compose.yaml",
            "Jenkinsfile",
            ".gitlab-ci.yml",
            "Procfile",
            "fly.toml",
            "vercel.json",
            "netlify.toml",
            "Vagrantfile",
            "azure-pipelines.yml",
        ],
    },
    KnownDomain {
        name: "database",
        tags: &["db", "sql", "schema", "migrations", "migration"],
        dirs: &["migrations", "migration", "migrate", "db", "database", "databases", "prisma", "alembic"],
        endings: &[".sql", ".prisma", ".dbml"],
        names: &[],
    },
    KnownDomain {
        name: "docs",
        tags: &["doc", "documentation"],
        dirs: &["docs", "doc", "documentation"],
        endings: &[".md", ".mdx", ".rst", ".adoc"],
        names: &[],
    },
    KnownDomain {
        name: "frontend",
        tags: &["ui", "web", "css", "client"],
        dirs: &["frontend", "webapp", "ui", "components", "pages", "public", "styles"],
        endings: &[".tsx", ".jsx", ".vue", ".svelte", ".astro", ".css", ".scss", ".sass", ".less", ".html", ".htm"],
        names: &[],
    },
    KnownDomain { name: "backend", tags: &["api", "server"], dirs: &[], endings: &[], names: &[] },
];

/// Languages by the endings of files.
const LANGUAGES: [(&str, &[&str]); 28] = [
    ("Rust", &["rs"]),
    ("Go", &["go"]),
    ("Python", &["py", "pyi"]),
    ("TypeScript", &["ts", "tsx", "mts", "cts"]),
    ("JavaScript", &["js", "jsx", "mjs", "cjs"]),
    ("Java", &["java"]),
    ("Kotlin", &["kt", "kts"]),
    ("C#", &["cs"]),
    ("C", &["c", "h"]),
    ("C++", &["cc", "cpp", "cxx", "hpp", "hh"]),
    ("Ruby", &["rb"]),
    ("PHP", &["php"]),
    ("Swift", &["swift"]),
    ("Scala", &["scala"]),
    ("Elixir", &["ex", "exs"]),
    ("Erlang", &["erl"]),
    ("Haskell", &["hs"]),
    ("Clojure", &["clj", "cljs"]),
    ("Dart", &["dart"]),
    ("Lua", &["lua"]),
    ("Zig", &["zig"]),
    ("Shell", &["sh", "bash", "zsh"]),
    ("SQL", &["sql"]),
    ("HTML", &["html", "htm"]),
    ("CSS", &["css", "scss", "sass", "less"]),
    ("Vue", &["vue"]),
    ("Svelte", &["svelte"]),
    ("Terraform", &["tf"]),
];

/// Files of others, and what tools write.
const FOREIGN_DIRS: [&str; 8] =
    ["node_modules", "vendor", "third_party", "dist", "build", "target", "__pycache__", "generated"];
/// Pages that every repository has; they alone make no domain of documentation.
const USUAL_PAGES: [&str; 9] =
    ["README", "CHANGELOG", "CONTRIBUTING", "LICENSE", "CODE_OF_CONDUCT", "SECURITY", "AGENTS", "CLAUDE", "GEMINI"];
/// How deep directories are named that no rule names.
const DEPTH: usize = 2;

/// Where a file belongs.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Placement<'p> {
    pub(super) domain: &'static str,
    /// The directory that stands for it
    pub(super) dir: &'p str,
}

impl KnownDomain {
    pub(super) fn find(name: &str) -> Option<&'static Self> {
        KNOWN.iter().find(|known| known.name == name)
    }

    /// The directory that stands for a file of this domain; `None` if it is not of it.
    fn dir_of<'p>(&self, path: &'p str, name: &str, language: Option<&str>) -> Option<&'p str> {
        let is_named = self.names.contains(&name)
            || self.endings.iter().any(|ending| name.ends_with(ending))
            || self.name == "testing" && name.starts_with("test_") && name.ends_with(".py")
            || self.name == "devops" && name.starts_with("Dockerfile.");
        // What is in such a directory in another language is something else: a terminal's `ui` in Rust.
        let may_be_here =
            self.name != "frontend" || language.is_none_or(|language| ["TypeScript", "JavaScript"].contains(&language));
        let marked = ends_of_dirs(path).find(|end| self.dirs.contains(&last_name(&path[..*end])));
        match marked.filter(|_| may_be_here) {
            Some(end) => Some(&path[..end]),
            None => is_named.then(|| shallow_dir(path)),
        }
    }
}

/// The language of a file.
pub(super) fn language(path: &str) -> Option<&'static str> {
    let (_, ending) = last_name(path).rsplit_once('.')?;
    LANGUAGES.iter().find(|(_, endings)| endings.contains(&ending)).map(|(language, _)| *language)
}

/// The domain of a file. `is_frontend` tells whether the package around a path in JavaScript or TypeScript is one.
pub(super) fn place<'p>(path: &'p str, is_frontend: impl Fn(&str) -> bool) -> Option<Placement<'p>> {
    if is_foreign(path) {
        return None;
    }
    let (name, language) = (last_name(path), language(path));
    for known in &KNOWN {
        if let Some(dir) = known.dir_of(path, name, language) {
            let is_usual = known.name == "docs" && USUAL_PAGES.iter().any(|usual| name.starts_with(usual));
            return (!is_usual).then_some(Placement { domain: known.name, dir });
        }
    }
    let language = language?;
    let is_script = ["TypeScript", "JavaScript"].contains(&language);
    let domain = if is_script && is_frontend(path) { "frontend" } else { "backend" };
    Some(Placement { domain, dir: shallow_dir(path) })
}

/// Whether a path is of another's code, of a tool, or hidden.
pub(super) fn is_foreign(path: &str) -> bool {
    let mut dirs = path.split('/').collect::<Vec<_>>();
    let name = dirs.pop().unwrap_or_default();
    let is_hidden = |dir: &&str| dir.starts_with('.') && !KNOWN.iter().any(|known| known.dirs.contains(dir));
    dirs.iter().any(|dir| FOREIGN_DIRS.contains(dir) || is_hidden(dir)) || name.ends_with(".min.js")
}

/// The directory of a custom domain: one that has its name.
pub(super) fn dir_named<'p>(path: &'p str, name: &str) -> Option<&'p str> {
    ends_of_dirs(path).map(|end| &path[..end]).find(|dir| last_name(dir).eq_ignore_ascii_case(name))
}

/// Where each directory of a path ends.
fn ends_of_dirs(path: &str) -> impl Iterator<Item = usize> {
    path.match_indices('/').map(|(at, _)| at)
}

pub(super) fn last_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// The first directories of a path; empty for a file at the top.
fn shallow_dir(path: &str) -> &str {
    path.match_indices('/').take(DEPTH).last().map_or("", |(at, _)| &path[..at])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_belong_to_domains() {
        let is_frontend = |path: &str| path.starts_with("apps/shop/");
        for (path, wanted) in [
            ("crates/core/src/lib.rs", Some(("backend", "crates/core"))),
            ("crates/core/src/db/rows.rs", Some(("database", "crates/core/src/db"))),
            ("crates/tui/src/ui/view.rs", Some(("backend", "crates/tui"))),
            ("main.go", Some(("backend", ""))),
            ("pkg/api/server_test.go", Some(("testing", "pkg/api"))),
            ("crates/core/tests/it.rs", Some(("testing", "crates/core/tests"))),
            ("test_all.py", Some(("testing", ""))),
            ("apps/shop/src/cart.ts", Some(("frontend", "apps/shop"))),
            ("apps/server/src/cart.ts", Some(("backend", "apps/server"))),
            ("apps/server/src/cart.tsx", Some(("frontend", "apps/server"))),
            ("src/components/cart.ts", Some(("frontend", "src/components"))),
            (".github/workflows/ci.yml", Some(("devops", ".github"))),
            ("Dockerfile", Some(("devops", ""))),
            ("schema.sql", Some(("database", ""))),
            ("docs/guide.md", Some(("docs", "docs"))),
            ("README.md", None),
            ("node_modules/a/index.js", None),
            (".claude/hooks/a.py", None),
            ("data.bin", None),
        ] {
            let found = place(path, is_frontend).map(|placement| (placement.domain, placement.dir));
            assert_eq!(found, wanted, "{path}");
        }
        assert_eq!(dir_named("src/Billing/tax.rs", "billing"), Some("src/Billing"));
        assert_eq!(dir_named("src/billing.rs", "billing"), None);
    }
}

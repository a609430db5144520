//! The search words of a text: folded, stemmed by its language, with names of code split and whole.
//!
//! Words are hashed, so an index holds numbers of one size. What this module returns is stored: after a change here,
//! [`super::VERSION`] must count up, so that stores build their index again.

use std::collections::HashMap;

use rust_stemmers::{Algorithm, Stemmer};

use crate::similar::hash64;
use crate::text::fold;

/// Characters of a word that count.
const WORD_CHARS: usize = 64;
/// Words of a text by which its language is guessed.
const GUESSED_BY: usize = 200;

/// A language whose words are stemmed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Language {
    English,
    German,
    French,
    Spanish,
    Russian,
}

impl Language {
    const ALL: [Self; 5] = [Self::English, Self::German, Self::French, Self::Spanish, Self::Russian];

    fn algorithm(self) -> Algorithm {
        match self {
            Self::English => Algorithm::English,
            Self::German => Algorithm::German,
            Self::French => Algorithm::French,
            Self::Spanish => Algorithm::Spanish,
            Self::Russian => Algorithm::Russian,
        }
    }

    /// Words that say little about what a text is about, sorted.
    fn stop_words(self) -> &'static [&'static str] {
        match self {
            Self::English => ENGLISH,
            Self::German => GERMAN,
            Self::French => FRENCH,
            Self::Spanish => SPANISH,
            Self::Russian => RUSSIAN,
        }
    }

    fn is_stop_word(self, folded: &str) -> bool {
        self.stop_words().binary_search(&folded).is_ok()
    }
}

/// The hash of a search word.
pub type Word = u32;

/// A search word, where it is in the text, and which word of the text it belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Token {
    pub word: Word,
    /// Byte offsets in the text
    pub from: u32,
    pub to: u32,
    /// The number of the word in the text. Parts of a name share it with the name.
    pub position: u32,
}

/// Splits texts into search words. It remembers stems, because stemming is most of the work.
#[derive(Default)]
pub struct Tokenizer {
    stems: HashMap<(u8, Box<str>), Option<Word>>,
}

impl std::fmt::Debug for Tokenizer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tokenizer").field("stems", &self.stems.len()).finish()
    }
}

/// Words remembered before the memory is emptied.
const MAX_STEMS: usize = 200_000;

impl Tokenizer {
    /// The words of a text in order, without stop words.
    pub fn tokens(&mut self, text: &str) -> Vec<Token> {
        let language = guess(text).unwrap_or(Language::English);
        let mut tokens = Vec::new();
        self.each(text, &mut |this, part| {
            let folded = folded(part.text);
            let word = if part.is_whole_name { Some(hash(&folded)) } else { this.stem(language, folded) };
            tokens.extend(word.map(|word| Token {
                word,
                from: part.from as u32,
                to: (part.from + part.text.len()) as u32,
                position: part.position,
            }));
        });
        tokens
    }

    /// The words of a query, each with its stems in all languages: the language of a few words cannot be guessed, and
    /// the text may have another. The first stem is the most likely one.
    pub fn query(&mut self, text: &str) -> Vec<QueryWord> {
        let guessed = guess(text);
        let mut words: Vec<QueryWord> = Vec::new();
        self.each(text, &mut |this, part| {
            let folded = folded(part.text);
            let is_stop = |language: Language| language.is_stop_word(&folded);
            if !part.is_whole_name && (is_stop(Language::English) || guessed.is_some_and(is_stop)) {
                return;
            }
            let mut stems = Vec::new();
            if part.is_whole_name {
                stems.push(hash(&folded));
            } else {
                let first = guessed.unwrap_or(Language::English);
                for language in std::iter::once(first).chain(Language::ALL) {
                    let stem = this.stem_of(language, &folded);
                    if !stems.contains(&stem) {
                        stems.push(stem);
                    }
                }
            }
            match words.iter_mut().find(|known| known.stems[0] == stems[0]) {
                Some(known) => known.count += 1,
                None => words.push(QueryWord {
                    text: folded.into(),
                    stems,
                    count: 1,
                    position: part.position,
                    is_part: part.is_part,
                }),
            }
        });
        words
    }

    fn stem(&mut self, language: Language, folded: std::borrow::Cow<'_, str>) -> Option<Word> {
        let key = (language as u8, Box::from(&*folded));
        if let Some(known) = self.stems.get(&key) {
            return *known;
        }
        let word = (!language.is_stop_word(&folded)).then(|| self.stem_of(language, &folded));
        if self.stems.len() >= MAX_STEMS {
            self.stems.clear();
        }
        self.stems.insert(key, word);
        word
    }

    fn stem_of(&self, language: Language, folded: &str) -> Word {
        if !folded.chars().all(char::is_alphabetic) {
            return hash(folded);
        }
        hash(&Stemmer::create(language.algorithm()).stem(folded))
    }

    fn each(&mut self, text: &str, each: &mut dyn FnMut(&mut Self, Part<'_>)) {
        let mut position = 0;
        let mut rest = text.char_indices().peekable();
        while let Some((from, first)) = rest.next() {
            if !is_word_char(first) {
                continue;
            }
            let is_wide = is_cjk(first);
            let mut end = from + first.len_utf8();
            while let Some((at, c)) = rest.peek().copied() {
                let joins = is_word_char(c) && is_cjk(c) == is_wide
                    // 0.6.2 and don't are one word
                    || !is_wide && matches!(c, '.' | '\'' | '\u{2019}') && joins_at(text, at, c);
                if !joins {
                    break;
                }
                end = at + c.len_utf8();
                rest.next();
            }
            let whole = &text[from..end];
            if is_wide {
                bigrams(whole, from, &mut position, |part| each(self, part))
            } else {
                name(whole, from, position, |part| each(self, part))
            }
            position += 1;
        }
    }
}

/// A word of a query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueryWord {
    /// The word, folded
    pub text: Box<str>,
    /// Its stems in the languages, the most likely first
    pub stems: Vec<Word>,
    /// How often it occurs
    pub count: u32,
    pub position: u32,
    /// Whether it is a part of a name that is also searched whole
    pub is_part: bool,
}

struct Part<'t> {
    text: &'t str,
    from: usize,
    position: u32,
    /// A name of several parts
    is_whole_name: bool,
    /// A part of such a name
    is_part: bool,
}

fn is_word_char(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn joins_at(text: &str, at: usize, c: char) -> bool {
    let before = text[..at].chars().next_back();
    let after = text[at + c.len_utf8()..].chars().next();
    let is = |c: Option<char>, what: fn(char) -> bool| c.is_some_and(what);
    match c {
        '.' => is(before, |c| c.is_ascii_digit()) && is(after, |c| c.is_ascii_digit()),
        _ => is(before, char::is_alphabetic) && is(after, char::is_alphabetic),
    }
}

fn is_cjk(c: char) -> bool {
    matches!(c, '\u{2E80}'..='\u{30FF}' | '\u{3400}'..='\u{9FFF}' | '\u{AC00}'..='\u{D7AF}' | '\u{F900}'..='\u{FAFF}'
        | '\u{20000}'..='\u{3134F}')
}

/// Text without spaces between words is searched by pairs of characters.
fn bigrams<'t>(whole: &'t str, from: usize, position: &mut u32, mut each: impl FnMut(Part<'t>)) {
    let starts: Vec<usize> = whole.char_indices().map(|(at, _)| at).chain([whole.len()]).collect();
    let pairs = starts.len().saturating_sub(2).max(1);
    for at in 0..pairs {
        let end = starts[(at + 2).min(starts.len() - 1)];
        let text = &whole[starts[at]..end];
        each(Part { text, from: from + starts[at], position: *position, is_whole_name: false, is_part: false });
        *position += 1;
    }
}

/// The parts of `readFile`, `read_file` and `HTTPServer`, and the whole name if there are several.
fn name<'t>(whole: &'t str, from: usize, position: u32, mut each: impl FnMut(Part<'t>)) {
    let mut parts = 0;
    let mut part = |start: usize, end: usize, parts: &mut u32, is_part: bool| {
        if start < end {
            *parts += 1;
            each(Part { text: &whole[start..end], from: from + start, position, is_whole_name: false, is_part });
        }
    };
    let is_plain = whole.bytes().all(|b| b.is_ascii_lowercase());
    if is_plain {
        return part(0, whole.len(), &mut parts, false);
    }
    let chars: Vec<(usize, char)> = whole.char_indices().collect();
    let mut cuts = vec![0];
    for (at, &(offset, c)) in chars.iter().enumerate().skip(1) {
        let before = chars[at - 1].1;
        let next_is_lower = chars.get(at + 1).is_some_and(|(_, next)| next.is_lowercase());
        let is_hump = c.is_uppercase() && (before.is_lowercase() || before.is_uppercase() && next_is_lower);
        if is_hump || c == '_' || before == '_' {
            cuts.push(offset);
        }
    }
    cuts.push(whole.len());
    let is_piece = |text: &str| !text.bytes().all(|b| b == b'_');
    let pieces = cuts.windows(2).filter(|cut| is_piece(&whole[cut[0]..cut[1]])).count();
    for cut in cuts.windows(2).filter(|cut| is_piece(&whole[cut[0]..cut[1]])) {
        part(cut[0], cut[1], &mut parts, pieces > 1);
    }
    let trimmed = whole.trim_matches('_');
    if pieces > 1 || pieces == 1 && trimmed.len() < whole.len() {
        each(Part { text: whole, from, position, is_whole_name: true, is_part: false });
    }
}

fn folded(word: &str) -> std::borrow::Cow<'_, str> {
    let is_plain = word.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
    let mut folded: std::borrow::Cow<'_, str> =
        if is_plain { word.into() } else { fold(word).replace('\u{2019}', "'").into() };
    if let Some(owner) = folded.strip_suffix("'s") {
        folded = owner.to_owned().into();
    }
    match folded.char_indices().nth(WORD_CHARS) {
        Some((end, _)) => folded[..end].to_owned().into(),
        None => folded,
    }
}

/// The hash of a word. Tags and files have prefixes that no word has.
fn hash(word: &str) -> Word {
    let hash = hash64(word.as_bytes());
    (hash ^ (hash >> 32)) as u32
}

pub fn tag_word(tag: &str) -> Word {
    hash(&format!("\u{1}t{}", fold(tag.trim())))
}

/// The hash of something that a text is linked with, such as an issue.
pub fn link_word(id: &str) -> Word {
    hash(&format!("\u{1}i{id}"))
}

/// The words under which a file is indexed: each end of its path, and the whole.
///
/// Paths may be relative to different directories, so two paths may name the same file if one ends with the other.
pub fn file_words(path: &str) -> Vec<Word> {
    let mut words: Vec<Word> = ends(path).map(|end| hash(&format!("\u{1}f{end}"))).collect();
    words.push(hash(&format!("\u{1}F{}", path.trim_start_matches("./"))));
    words
}

/// The words of which a text has at least one if it is about the same file.
pub fn same_file_words(path: &str) -> Vec<Word> {
    let mut words: Vec<Word> = ends(path).map(|end| hash(&format!("\u{1}F{end}"))).collect();
    words.push(hash(&format!("\u{1}f{}", path.trim_start_matches("./"))));
    words
}

/// Ends of a path that are indexed.
const MAX_ENDS: usize = 8;

fn ends(path: &str) -> impl Iterator<Item = &str> {
    let path = path.trim_start_matches("./");
    let starts = path.char_indices().rev().filter(|(_, c)| *c == '/').map(|(at, _)| at + 1);
    starts.take(MAX_ENDS - 1).chain([0]).map(move |start| &path[start..]).filter(|end| !end.is_empty())
}

/// What looks like the path of a file in a text.
pub fn paths_in(text: &str) -> impl Iterator<Item = &str> {
    let is_path_char = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '/' | '+' | '@');
    text.split(move |c| !is_path_char(c)).filter_map(|word| {
        let word = word.trim_matches(|c| matches!(c, '.' | '/' | '-'));
        let (stem, extension) = word.rsplit('/').next()?.rsplit_once('.')?;
        let is_file = !stem.is_empty()
            && (1..=8).contains(&extension.len())
            && extension.bytes().all(|b| b.is_ascii_alphanumeric())
            && extension.bytes().any(|b| b.is_ascii_alphabetic())
            && word.len() <= 256;
        // e.g. and i.e. are no files, nor is the end of a sentence without a space
        (is_file
            && (word.contains('/')
                || stem.len() > 1 && extension.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit())))
        .then_some(word)
    })
}

/// The language of a text, by its stop words; `None` without any.
fn guess(text: &str) -> Option<Language> {
    let mut counts = [0_u32; Language::ALL.len()];
    let words = text.split(|c: char| !c.is_alphabetic()).filter(|word| !word.is_empty()).take(GUESSED_BY);
    for word in words {
        let word = fold(word);
        for (count, language) in counts.iter_mut().zip(Language::ALL) {
            *count += u32::from(language.is_stop_word(&word));
        }
    }
    let Some(most) = counts.iter().copied().max().filter(|most| *most > 0) else {
        let is_cyrillic = |c: char| matches!(c, '\u{400}'..='\u{52F}');
        return text.chars().find(|c| c.is_alphabetic()).filter(|c| is_cyrillic(*c)).map(|_| Language::Russian);
    };
    // English wins a draw: it is what agents write most.
    let at = counts.iter().position(|count| *count == most)?;
    // A single stop word of another language may be a word of English, unless the script differs.
    let is_sure = at == 0 || most > 1 || Language::ALL[at] == Language::Russian;
    Some(if is_sure { Language::ALL[at] } else { Language::English })
}

#[rustfmt::skip]
const ENGLISH: &[&str] = &[
    "a", "about", "above", "after", "again", "against", "also", "am", "an", "and", "any", "are", "aren't",
    "as", "at", "be", "because", "been", "before", "being", "below", "between", "both", "but", "by", "can", "can't",
    "cannot", "could", "couldn't", "did", "didn't", "do", "does", "doesn't", "doing", "don't", "down", "during",
    "each", "few", "for", "from", "further", "had", "hadn't", "has", "hasn't", "have", "haven't", "having", "he",
    "her", "here", "hers", "herself", "him", "himself", "his", "how", "i", "i'd", "i'll", "i'm", "i've", "if", "in",
    "into", "is", "isn't", "it", "it's", "its", "itself", "just", "let", "let's", "me", "more", "most", "my",
    "myself", "no", "nor", "not", "of", "off", "on", "once", "only", "or", "other", "our", "ours", "ourselves",
    "out", "over", "own", "same", "she", "should", "shouldn't", "so", "some", "such", "than", "that", "that's",
    "the", "their", "theirs", "them", "themselves", "then", "there", "these", "they", "they're", "this", "those",
    "through", "to", "too", "under", "until", "up", "very", "was", "wasn't", "we", "we're", "we've", "were",
    "weren't", "what", "when", "where", "which", "while", "who", "whom", "why", "will", "with", "won't", "would",
    "wouldn't", "you", "you'd", "you'll", "you're", "you've", "your", "yours", "yourself", "yourselves",
];

#[rustfmt::skip]
const GERMAN: &[&str] = &[
    "aber", "alle", "allem", "allen", "aller", "alles", "als", "also", "am", "an", "ander", "andere", "anderem",
    "anderen", "anderer", "anderes", "auch", "auf", "aus", "bei", "bin", "bis", "bist", "da", "damit", "dann",
    "das", "dass", "dein", "deine", "dem", "den", "denn", "der", "des", "dich", "die", "dies", "diese", "diesem",
    "diesen", "dieser", "dieses", "dir", "doch", "dort", "du", "durch", "ein", "eine", "einem", "einen", "einer",
    "eines", "er", "es", "etwas", "euch", "euer", "eure", "für", "gegen", "gewesen", "hab", "habe", "haben", "hat",
    "hatte", "hatten", "hier", "hin", "hinter", "ich", "ihm", "ihn", "ihnen", "ihr", "ihre", "im", "in", "indem",
    "ins", "ist", "ja", "jede", "jedem", "jeden", "jeder", "jedes", "jene", "jetzt", "kann", "kein", "keine",
    "keinem", "keinen", "keiner", "können", "könnte", "machen", "man", "mein", "meine", "mich", "mir", "mit",
    "muss", "musste", "nach", "nicht", "nichts", "noch", "nun", "nur", "ob", "oder", "ohne", "sehr", "sein",
    "seine", "sich", "sie", "sind", "so", "solche", "soll", "sollte", "sondern", "sonst", "um", "und", "uns",
    "unser", "unter", "viel", "vom", "von", "vor", "wann", "warum", "was", "weg", "weil", "weiter", "welche",
    "welchem", "welchen", "welcher", "welches", "wenn", "wer", "werde", "werden", "wie", "wieder", "will", "wir",
    "wird", "wirst", "wo", "wollen", "wollte", "während", "würde", "würden", "zu", "zum", "zur", "zwar", "zwischen",
    "über",
];

#[rustfmt::skip]
const FRENCH: &[&str] = &[
    "ai", "au", "aux", "avec", "avons", "ayant", "ce", "ceci", "cela", "celle", "celui", "ces", "cet", "cette",
    "chez", "comme", "comment", "dans", "de", "des", "donc", "dont", "du", "elle", "elles", "en", "encore", "es",
    "est", "et", "eu", "eux", "fait", "il", "ils", "j", "je", "l", "la", "le", "les", "leur", "leurs", "lui", "m",
    "ma", "mais", "me", "mes", "moi", "mon", "même", "n", "ne", "ni", "nos", "notre", "nous", "on", "ont", "ou",
    "où", "par", "pas", "peut", "plus", "pour", "pourquoi", "qu", "quand", "que", "quel", "quelle", "quelles",
    "quels", "qui", "s", "sa", "sans", "se", "ses", "si", "soit", "son", "sont", "sous", "sur", "t", "ta", "te",
    "tes", "toi", "ton", "tous", "tout", "toute", "toutes", "très", "tu", "un", "une", "vos", "votre", "vous", "y",
    "à", "ça", "étaient", "était", "été", "êtes", "être",
];

#[rustfmt::skip]
const SPANISH: &[&str] = &[
    "a", "al", "algo", "algunos", "ante", "antes", "aquí", "aún", "cada", "como", "con", "contra", "cual", "cuando",
    "cuál", "cuándo", "cómo", "de", "del", "desde", "donde", "dos", "dónde", "el", "ella", "ellas", "ellos", "en",
    "entre", "era", "eran", "es", "esa", "ese", "eso", "esta", "estaba", "estado", "estamos", "estar", "este",
    "esto", "estos", "estoy", "está", "están", "fue", "fueron", "ha", "hace", "hacer", "han", "hasta", "hay", "la",
    "las", "le", "les", "lo", "los", "me", "mi", "mis", "mucho", "muy", "más", "nada", "ni", "no", "nos",
    "nosotros", "nuestra", "nuestro", "o", "os", "otra", "otro", "para", "pero", "poco", "por", "porque", "puede",
    "que", "quien", "quién", "qué", "se", "sea", "ser", "si", "sido", "sin", "sobre", "son", "soy", "su", "sus",
    "sí", "también", "tanto", "te", "tenemos", "tener", "tengo", "ti", "tiene", "tienen", "todo", "todos", "tu",
    "tú", "un", "una", "unas", "uno", "unos", "usted", "ya", "yo", "él",
];

#[rustfmt::skip]
const RUSSIAN: &[&str] = &[
    "а", "без", "более", "больше", "будет", "будто", "бы", "был", "была", "были", "было", "быть", "в", "вам", "вас",
    "вдруг", "ведь", "весь", "во", "вот", "все", "всего", "всех", "вы", "где", "да", "даже", "для", "до", "его",
    "ее", "если", "есть", "еще", "ещё", "её", "же", "за", "зачем", "здесь", "и", "из", "или", "им", "иногда", "их",
    "к", "как", "какая", "какой", "когда", "конечно", "которая", "которые", "который", "кто", "куда", "ли", "лучше",
    "между", "меня", "мне", "много", "может", "можно", "мой", "моя", "мы", "на", "над", "надо", "наконец", "нас",
    "не", "него", "нее", "ней", "нельзя", "нет", "ни", "нибудь", "никогда", "ним", "них", "ничего", "но", "ну", "о",
    "об", "один", "он", "она", "они", "оно", "опять", "от", "перед", "по", "под", "после", "потом", "потому",
    "почти", "при", "про", "раз", "разве", "с", "сам", "свою", "себе", "себя", "сейчас", "со", "совсем", "так",
    "такой", "там", "тебя", "тем", "теперь", "то", "тогда", "того", "тоже", "только", "том", "тот", "тут", "ты",
    "у", "уж", "уже", "хорошо", "хоть", "чего", "чей", "чем", "через", "что", "чтоб", "чтобы", "чуть", "эта", "эти",
    "это", "этого", "этой", "этом", "этот", "эту", "я",
];

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<Word> {
        Tokenizer::default().tokens(text).iter().map(|token| token.word).collect()
    }

    /// Whether a text is found by every word of a query.
    fn finds(query: &str, text: &str) -> bool {
        let known = words(text);
        let asked = Tokenizer::default().query(query);
        !asked.is_empty() && asked.iter().all(|word| word.stems.iter().any(|stem| known.contains(stem)))
    }

    #[test]
    fn endings_and_case_do_not_matter_in_five_languages() {
        for (query, text) in [
            ("migration", "The MIGRATIONS were running twice"),
            ("connecting", "it was connected and then it connects again"),
            ("häusern", "Die Häuser und das Dach"),
            ("connexions", "la connexion au serveur est fermée"),
            ("usuarios", "el usuario no puede entrar en la cuenta"),
            ("пароль", "они забыли свои пароли и не могут войти"),
        ] {
            assert!(finds(query, text), "{query}");
        }
        assert!(!finds("migration", "the opposite"));
    }

    #[test]
    fn names_are_found_whole_and_in_parts() {
        for name in ["readManifestFile", "read_manifest_file", "ReadManifestFILE"] {
            assert!(finds("manifest", name) && finds("read file", name) && finds(name, name), "{name}");
        }
        assert!(finds("0.6.2", "Flask-Login v0.6.2 or 0.6.2") && finds("users", "the user's"));
        let token = Tokenizer::default().tokens("a readFile")[0];
        assert_eq!((token.from, token.to), (2, 6));
    }

    #[test]
    fn text_without_spaces_is_searched_by_pairs() {
        assert!(finds("连接", "数据库连接失败") && finds("数据", "数据库") && !finds("库数", "数据库"));
    }

    #[test]
    fn paths_match_by_their_ends() {
        let same = |one: &str, other: &str| {
            let known = file_words(one);
            same_file_words(other).iter().any(|word| known.contains(word))
        };
        assert!(same("src/a.rs", "./a.rs") && same("a.rs", "crates/x/src/a.rs") && same("src/a.rs", "src/a.rs"));
        assert!(!same("src/a.rs", "lib/a.rs") && !same("ba.rs", "a.rs"));
        assert_eq!(
            paths_in("see src/a.rs, (lib/b.tar.gz) and x.py.").collect::<Vec<_>>(),
            ["src/a.rs", "lib/b.tar.gz"]
        );
    }

    #[test]
    fn stop_words_are_sorted() {
        for language in Language::ALL {
            assert!(language.stop_words().is_sorted(), "{language:?}");
        }
    }
}

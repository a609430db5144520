//! How things look: a tone says what a text means, a theme how that is drawn.

use pensa_core::issue::{Priority, Status};
use pensa_core::{Error, Result};
use ratatui::style::{Color, Modifier, Style};
use ratatui::symbols::border;

/// What a text means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(crate) enum Tone {
    #[default]
    Plain,
    Faint,
    Strong,
    Id,
    Open,
    InProgress,
    Closed,
    Urgent,
    High,
    Good,
    Bad,
    Accent,
    Heading,
    Border,
}

impl From<Status> for Tone {
    fn from(status: Status) -> Self {
        match status {
            Status::Open => Tone::Open,
            Status::InProgress => Tone::InProgress,
            Status::Closed => Tone::Closed,
        }
    }
}

impl From<Priority> for Tone {
    fn from(priority: Priority) -> Self {
        match priority {
            Priority::P0 => Tone::Urgent,
            Priority::P1 => Tone::High,
            Priority::P2 => Tone::Plain,
            Priority::P3 => Tone::Faint,
        }
    }
}

/// A set of styles. All colours are those of the terminal's own palette.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Theme {
    Dark,
    Light,
    HighContrast,
    /// Without colours
    Plain,
}

impl Theme {
    pub const ALL: [(&str, Theme); 4] = [
        ("dark", Theme::Dark),
        ("light", Theme::Light),
        ("high-contrast", Theme::HighContrast),
        ("none", Theme::Plain),
    ];

    pub fn named(name: &str) -> Result<Self> {
        let known = Self::ALL.into_iter().find(|(known, _)| *known == name);
        known.map(|(_, theme)| theme).ok_or_else(|| {
            let names = Self::ALL.map(|(name, _)| name).join(", ");
            Error::invalid(format!("no theme is called {name:?}")).hint(names)
        })
    }

    /// The next theme, and its name.
    pub(crate) fn next(self) -> (&'static str, Self) {
        let at = Self::ALL.iter().position(|(_, theme)| *theme == self).unwrap_or_default();
        Self::ALL[(at + 1) % Self::ALL.len()]
    }

    pub(crate) fn style(self, tone: Tone) -> Style {
        let plain = Style::new();
        match self {
            Theme::Plain => match tone {
                Tone::Faint | Tone::Closed | Tone::Border => plain.add_modifier(Modifier::DIM),
                Tone::Strong | Tone::Urgent | Tone::Bad | Tone::Heading | Tone::Accent => {
                    plain.add_modifier(Modifier::BOLD)
                }
                _ => plain,
            },
            Theme::Dark | Theme::Light => match tone {
                Tone::Plain => plain,
                Tone::Faint | Tone::Closed | Tone::Border => plain.fg(Color::DarkGray),
                Tone::Strong | Tone::Heading => plain.add_modifier(Modifier::BOLD),
                Tone::Id => plain.fg(self.either(Color::Yellow, Color::Magenta)),
                Tone::Open => plain.fg(self.either(Color::Cyan, Color::Blue)),
                Tone::InProgress => plain.fg(self.either(Color::Yellow, Color::Magenta)),
                Tone::Urgent => plain.fg(Color::Red).add_modifier(Modifier::BOLD),
                Tone::High => plain.fg(self.either(Color::LightRed, Color::Red)),
                Tone::Good => plain.fg(Color::Green),
                Tone::Bad => plain.fg(Color::Red),
                Tone::Accent => plain.fg(self.either(Color::Cyan, Color::Blue)).add_modifier(Modifier::BOLD),
            },
            Theme::HighContrast => match tone {
                Tone::Plain | Tone::Faint | Tone::Border | Tone::Id | Tone::Open => plain.fg(Color::White),
                Tone::Closed => plain.fg(Color::Gray),
                Tone::Strong | Tone::Heading | Tone::Accent => plain.fg(Color::White).add_modifier(Modifier::BOLD),
                Tone::InProgress => plain.fg(Color::LightYellow).add_modifier(Modifier::BOLD),
                Tone::Urgent | Tone::High | Tone::Bad => plain.fg(Color::LightRed).add_modifier(Modifier::BOLD),
                Tone::Good => plain.fg(Color::LightGreen).add_modifier(Modifier::BOLD),
            },
        }
    }

    fn either(self, dark: Color, light: Color) -> Color {
        if self == Theme::Light { light } else { dark }
    }

    /// The row with the cursor.
    pub(crate) fn selected(self, has_focus: bool) -> Style {
        let reversed = Style::new().add_modifier(Modifier::REVERSED);
        if has_focus { reversed } else { Style::new().add_modifier(Modifier::BOLD) }
    }

    /// A row that has just changed.
    pub(crate) fn flash(self) -> Style {
        match self {
            Theme::Plain => Style::new().add_modifier(Modifier::BOLD | Modifier::UNDERLINED),
            Theme::Light => Style::new().bg(Color::Yellow).fg(Color::Black),
            Theme::Dark | Theme::HighContrast => Style::new().bg(Color::Blue).fg(Color::White),
        }
    }
}

/// The borders of windows, for terminals with and without Unicode.
pub(crate) fn borders(is_ascii: bool) -> border::Set<'static> {
    const ASCII: border::Set<'static> = border::Set {
        top_left: "+",
        top_right: "+",
        bottom_left: "+",
        bottom_right: "+",
        vertical_left: "|",
        vertical_right: "|",
        horizontal_top: "-",
        horizontal_bottom: "-",
    };
    if is_ascii { ASCII } else { border::PLAIN }
}

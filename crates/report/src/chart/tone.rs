//! Colours of charts by what they mean.

/// The meaning of a colour. A style sheet may give it another colour by its class.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    /// Colour of text and axes.
    Ink,
    /// Colour of secondary text.
    Muted,
    /// Colour of grid lines.
    Grid,
    /// Colour of the prior.
    Prior,
    /// Colour of the estimate.
    Estimate,
    /// A value that is public.
    Truth,
    /// Colour of an unfavourable value.
    Bad,
    /// One of several series, from 0; the seventh has the colour of the first again.
    Series(usize),
}

/// Colours of series, which differ in lightness too.
const SERIES: [(&str, &str); 6] = [
    ("series-0", "#1f6feb"),
    ("series-1", "#c2410c"),
    ("series-2", "#0f766e"),
    ("series-3", "#9333ea"),
    ("series-4", "#a16207"),
    ("series-5", "#be185d"),
];

impl Tone {
    /// Colour of the background.
    pub const PAPER: &str = "#ffffff";

    /// Name of its class.
    #[must_use]
    pub fn class(self) -> &'static str {
        self.names().0
    }

    /// The colour where no style sheet applies.
    #[must_use]
    pub fn colour(self) -> &'static str {
        self.names().1
    }

    fn names(self) -> (&'static str, &'static str) {
        match self {
            Self::Ink => ("ink", "#1b2733"),
            Self::Muted => ("muted", "#586573"),
            Self::Grid => ("grid", "#e3e8ee"),
            Self::Prior => ("prior", "#98a4b1"),
            Self::Estimate => ("estimate", "#1f6feb"),
            Self::Truth => ("truth", "#b45309"),
            Self::Bad => ("bad", "#b91c1c"),
            Self::Series(number) => SERIES[number % SERIES.len()],
        }
    }
}

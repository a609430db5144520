//! Renders the board: columns of cards.

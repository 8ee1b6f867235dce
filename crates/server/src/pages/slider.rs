//! A slider beside a field for a number, which a script shows.

use maud::{Markup, html};

/// The slider of a field by its id and its name, over the usual values; logarithmic where they are far apart.
pub(super) fn slider(id: &str, label: &str, (least, most): (f64, f64), is_whole: bool) -> Markup {
    let is_log = least > 0.0 && most > 3.0 * least;
    let scale = if is_log { "log" } else { "linear" };
    html! {
        input type="range" min="0" max="1000" step="1" value="500" hidden aria-label={ (label) ", slider" }
            data-slides=(id) data-least=(least) data-most=(most) data-scale=(scale) data-whole[is_whole];
    }
}

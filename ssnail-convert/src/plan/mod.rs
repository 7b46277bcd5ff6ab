//! What stands where in an image: objects, their weight formats, their addresses, and whether it all fits.

mod fit;
mod layout;
mod object;
mod wtype;

pub use fit::{FitError, Ingredients, Plan, Suggestion, Wish};
pub use layout::{Layout, PlanError};
pub use object::{Content, Object, Objects, Placed, PlacedMatrix, Places, Role};
pub use wtype::{Choice, FormatRule, WeightType};

#[cfg(test)]
mod tests;

//! What stands where in an image: objects, their weight formats, their addresses, and whether it all fits.

mod fit;
mod layout;
mod object;
mod wtype;

pub use crate::model::PlacedMatrix;
pub use fit::{FitError, Suggestion};
pub use layout::{Layout, PlanError};
pub use object::{Content, Object, Objects, Placed, Places, Role};
pub use wtype::{Choice, FormatRule, WeightType};

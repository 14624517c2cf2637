//! What came in: packages known by the addresses they are fetched from, and what is said of them before they may.

mod package;
mod recognise;
mod rules;

pub use package::{PackageArrival, PackageVersion};
pub use recognise::recognise;
pub use rules::{ArrivalRules, DeniedPackage};

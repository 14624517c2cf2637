//! What kind of place an address is.

mod kind;

pub use kind::AddressKind;

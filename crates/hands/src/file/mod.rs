//! Single files: reading, writing, moving, removing.

pub(crate) mod open;
pub(crate) mod read;
pub(crate) mod relocate;
pub(crate) mod store;

mod token;

pub use token::{issue, Token};

//! Prints every schema with its name, or one of them: `cargo run -p holon-core --example schemas [NAME]`.
#![allow(clippy::print_stdout)]

use holon_core::schema;

fn main() {
    let wanted = std::env::args().nth(1);
    for (name, _) in schema::schemas() {
        match &wanted {
            Some(only) if only != name => {}
            Some(_) => print!("{}", schema::render(name).unwrap_or_default()),
            None => print!("{name}\n{}", schema::render(name).unwrap_or_default()),
        }
    }
}

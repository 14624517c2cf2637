//! Prints the description of the API, to be committed as `openapi.json`.
#![allow(clippy::print_stdout)]

fn main() {
    print!("{}", holon_server::document());
}

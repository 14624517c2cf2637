//! Artifacts: what each must be, checked from its bytes.
/// Names of schemas.
pub const SCHEMAS: [&str; 4] = ["plan", "review", "debug", "ethics"];
/// Whether a name can be an artifact's.
pub fn check_name(name: &str) -> Result<(), &'static str> {
    if name.contains("..") { Err("x") } else { Ok(()) }
}

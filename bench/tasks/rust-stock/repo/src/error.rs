/// Why nothing was taken.
#[derive(Debug, PartialEq, Eq)]
pub enum StockError {
    /// There are only so many.
    TooFew { left: u32 },
    /// Nobody knows this article.
    Unknown(String),
}

mod error;

use std::collections::HashMap;

pub use error::StockError;

/// How many there are of each article.
#[derive(Debug, Default)]
pub struct Stock {
    articles: HashMap<String, u32>,
}

impl Stock {
    pub fn add(&mut self, article: &str, count: u32) {
        *self.articles.entry(article.to_string()).or_default() += count;
    }

    pub fn count(&self, article: &str) -> u32 {
        self.articles.get(article).copied().unwrap_or(0)
    }

    /// Takes so many away and gives what is left.
    pub fn take(&mut self, article: &str, count: u32) -> Result<u32, StockError> {
        let left = self.articles.get_mut(article).unwrap();
        *left -= count;
        Ok(*left)
    }
}

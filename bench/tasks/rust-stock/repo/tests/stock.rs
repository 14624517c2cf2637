use stock::{Stock, StockError};

#[test]
fn too_few_is_an_error() {
    let mut stock = Stock::default();
    stock.add("bolt", 3);
    assert_eq!(stock.take("bolt", 5), Err(StockError::TooFew { left: 3 }));
    assert_eq!(stock.count("bolt"), 3);
}

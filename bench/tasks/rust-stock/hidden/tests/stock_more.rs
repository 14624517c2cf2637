use stock::{Stock, StockError};

#[test]
fn unknown_is_an_error() {
    let mut stock = Stock::default();
    assert_eq!(stock.take("nut", 1), Err(StockError::Unknown("nut".to_string())));
    assert_eq!(stock.count("nut"), 0);
    assert_eq!(stock.take("nut", 0), Err(StockError::Unknown("nut".to_string())), "nothing was added by asking");
}

#[test]
fn everything_can_be_taken() {
    let mut stock = Stock::default();
    stock.add("bolt", 3);
    assert_eq!(stock.take("bolt", 1), Ok(2));
    assert_eq!(stock.take("bolt", 2), Ok(0));
    assert_eq!(stock.take("bolt", 1), Err(StockError::TooFew { left: 0 }));
    assert_eq!(stock.take("bolt", 0), Ok(0));
}

use token::issue;

#[test]
fn a_new_token_is_good() {
    let token = issue();
    std::thread::sleep(std::time::Duration::from_secs(1));
    assert!(!token.is_expired());
}

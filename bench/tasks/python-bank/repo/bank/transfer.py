def transfer(source, target, cents):
    """Moves money from one account to another."""
    source.debit(cents)
    target.credit(cents)

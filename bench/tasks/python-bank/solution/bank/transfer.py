from bank.errors import Closed


def transfer(source, target, cents):
    """Moves money from one account to another, or nothing at all."""
    if source.closed or target.closed:
        raise Closed()
    source.debit(cents)
    target.credit(cents)

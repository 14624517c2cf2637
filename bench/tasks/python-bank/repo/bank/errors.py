class BankError(Exception):
    pass


class NoFunds(BankError):
    pass


class Closed(BankError):
    pass

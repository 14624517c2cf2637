from bank.errors import Closed, NoFunds


class Account:
    def __init__(self, balance=0):
        self.balance = balance
        self.closed = False
        self.history = []

    def debit(self, cents):
        if self.closed:
            raise Closed()
        if cents > self.balance:
            raise NoFunds()
        self.balance -= cents
        self.history.append(-cents)

    def credit(self, cents):
        if self.closed:
            raise Closed()
        self.balance += cents
        self.history.append(cents)

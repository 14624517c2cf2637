import unittest

from bank.account import Account
from bank.errors import BankError, Closed, NoFunds
from bank.transfer import transfer


class More(unittest.TestCase):
    def test_good_transfers(self):
        source, target = Account(100), Account(5)
        transfer(source, target, 100)
        self.assertEqual((source.balance, target.balance), (0, 105))
        self.assertEqual((source.history, target.history), ([-100], [100]))

    def test_failures_leave_no_trace(self):
        source, target = Account(100), Account(5)
        target.closed = True
        with self.assertRaises(BankError):
            transfer(source, target, 10)
        self.assertEqual((source.balance, source.history), (100, []))
        self.assertEqual((target.balance, target.history), (5, []))

    def test_reasons_stay(self):
        with self.assertRaises(NoFunds):
            transfer(Account(1), Account(), 2)
        source = Account(10)
        source.closed = True
        with self.assertRaises(Closed):
            transfer(source, Account(), 2)

import unittest

from bank.account import Account
from bank.errors import Closed
from bank.transfer import transfer


class Transfer(unittest.TestCase):
    def test_a_closed_target_costs_nothing(self):
        source, target = Account(100), Account()
        target.closed = True
        with self.assertRaises(Closed):
            transfer(source, target, 40)
        self.assertEqual(source.balance, 100)

import datetime
import unittest

from billing.renewal import renewals

DAY = datetime.date


class Renewal(unittest.TestCase):
    def test_end_of_january(self):
        self.assertEqual(renewals(DAY(2023, 1, 31), 2), [DAY(2023, 2, 28), DAY(2023, 3, 31)])

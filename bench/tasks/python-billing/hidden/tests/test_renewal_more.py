import datetime
import unittest

from billing.calendar_math import add_months
from billing.renewal import renewals

DAY = datetime.date


class More(unittest.TestCase):
    def test_december_is_a_month(self):
        self.assertEqual(add_months(DAY(2023, 11, 15), 1), DAY(2023, 12, 15))
        self.assertEqual(add_months(DAY(2023, 12, 31), 12), DAY(2024, 12, 31))
        self.assertEqual(add_months(DAY(2023, 12, 1), 1), DAY(2024, 1, 1))

    def test_leap_years(self):
        self.assertEqual(add_months(DAY(2023, 12, 31), 2), DAY(2024, 2, 29))
        self.assertEqual(add_months(DAY(2024, 2, 29), 12), DAY(2025, 2, 28))

    def test_a_year_of_renewals(self):
        days = renewals(DAY(2022, 10, 31), 12)
        self.assertEqual([day.month for day in days], [11, 12, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10])
        self.assertEqual([day.day for day in days], [30, 31, 31, 28, 31, 30, 31, 30, 31, 31, 30, 31])

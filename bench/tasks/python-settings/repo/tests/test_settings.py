import unittest

from app.settings import load


class Settings(unittest.TestCase):
    def test_false_is_false(self):
        self.assertIs(load({"APP_DEBUG": "false"})["debug"], False)

    def test_numbers(self):
        self.assertEqual(load({"APP_PORT": "9000"})["port"], 9000)

import unittest

from app.settings import load


class More(unittest.TestCase):
    def test_words(self):
        for word, value in [("true", True), ("1", True), ("YES", True), ("on", True), ("0", False), ("No", False), ("off", False), ("False", False)]:
            self.assertIs(load({"APP_DEBUG": word})["debug"], value, word)

    def test_unknown_words_are_refused(self):
        with self.assertRaisesRegex(ValueError, "APP_DEBUG"):
            load({"APP_DEBUG": "maybe"})
        with self.assertRaisesRegex(ValueError, "APP_PORT"):
            load({"APP_PORT": "many"})

    def test_the_rest_stays(self):
        self.assertEqual(load({}), {"debug": False, "port": 8080, "ratio": 0.5, "name": "app"})
        self.assertEqual(load({"APP_RATIO": "0.25", "APP_NAME": "off"})["name"], "off")

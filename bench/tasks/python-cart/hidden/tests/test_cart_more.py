import unittest

from shop.cart import Cart
from shop.catalog import Catalog
from shop.receipt import receipt

CATALOG = Catalog({"nail": [(1, 10), (100, 8)], "hammer": [(1, 1500)], "pallet": [(5, 900)]})


class More(unittest.TestCase):
    def test_few_are_not(self):
        cart = Cart(CATALOG)
        cart.add("nail", 99)
        self.assertEqual(cart.total(), 990)
        self.assertEqual(Cart(CATALOG).total(), 0)

    def test_receipt(self):
        cart = Cart(CATALOG)
        cart.add("nail", 200)
        cart.add("hammer", 2)
        self.assertEqual(
            receipt(cart).splitlines(),
            ["2 x hammer @ 15.00 = 30.00", "200 x nail @ 0.08 = 16.00", "total 46.00"],
        )

    def test_too_few_is_still_an_error(self):
        cart = Cart(CATALOG)
        cart.add("pallet", 2)
        with self.assertRaises(ValueError):
            cart.total()

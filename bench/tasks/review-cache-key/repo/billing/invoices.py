from billing.cache import Cache


class Invoices:
    def __init__(self, database):
        self.database = database
        self.cache = Cache()

    def for_month(self, customer, month):
        """The invoices of one customer in one month."""
        return self.cache.get(month, lambda: self._select(customer, month))

    def add(self, customer, month, cents):
        self.database.insert("invoices", customer=customer, month=month, cents=cents)
        self.cache.forget()

    def _select(self, customer, month):
        return self.database.select("invoices", customer=customer, month=month)

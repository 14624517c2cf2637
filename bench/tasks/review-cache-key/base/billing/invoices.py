class Invoices:
    def __init__(self, database):
        self.database = database

    def for_month(self, customer, month):
        """The invoices of one customer in one month."""
        return self.database.select("invoices", customer=customer, month=month)

    def add(self, customer, month, cents):
        self.database.insert("invoices", customer=customer, month=month, cents=cents)

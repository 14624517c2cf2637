from billing.calendar_math import add_months


def renewals(start, count):
    """The next `count` days on which a monthly subscription renews."""
    return [add_months(start, number) for number in range(1, count + 1)]

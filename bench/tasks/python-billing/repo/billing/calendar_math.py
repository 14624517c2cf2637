import datetime


def add_months(day, months):
    """The same day of the month, so many months later."""
    month = day.month + months
    year = day.year + month // 12
    month = month % 12
    return datetime.date(year, month, day.day)

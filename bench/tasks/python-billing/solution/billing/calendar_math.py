import calendar
import datetime


def add_months(day, months):
    """The same day of the month, so many months later; the last one where the month is too short."""
    index = day.year * 12 + day.month - 1 + months
    year, month = index // 12, index % 12 + 1
    last = calendar.monthrange(year, month)[1]
    return datetime.date(year, month, min(day.day, last))

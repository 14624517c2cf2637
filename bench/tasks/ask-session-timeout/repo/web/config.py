"""Defaults; a deployment overrides them in deploy.ini."""

SESSION_MINUTES = 30
COOKIE = "sid"

import configparser

from web import config


def limit_seconds(path="deploy.ini"):
    """How long a session may be idle: deploy.ini beats the default."""
    parser = configparser.ConfigParser()
    parser.read(path)
    minutes = parser.getint("web", "session_minutes", fallback=config.SESSION_MINUTES)
    return minutes * 60

from app.defaults import DEFAULTS


def load(environment):
    """The defaults, each replaced by APP_NAME from the environment where that is set."""
    settings = dict(DEFAULTS)
    for key, default in DEFAULTS.items():
        variable = "APP_" + key.upper()
        if variable in environment:
            settings[key] = type(default)(environment[variable])
    return settings

from app.defaults import DEFAULTS

WORDS = {"true": True, "1": True, "yes": True, "on": True, "false": False, "0": False, "no": False, "off": False}


def load(environment):
    """The defaults, each replaced by APP_NAME from the environment where that is set."""
    settings = dict(DEFAULTS)
    for key, default in DEFAULTS.items():
        variable = "APP_" + key.upper()
        if variable in environment:
            settings[key] = read(variable, environment[variable], type(default))
    return settings


def read(variable, text, kind):
    try:
        return WORDS[text.strip().lower()] if kind is bool else kind(text)
    except (KeyError, ValueError):
        raise ValueError(f"{variable}: {text!r} is no {kind.__name__}") from None

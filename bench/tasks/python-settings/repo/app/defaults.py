DEFAULTS = {
    "debug": False,
    "port": 8080,
    "ratio": 0.5,
    "name": "app",
}

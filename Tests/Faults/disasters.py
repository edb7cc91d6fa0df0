TASKS = {"disk": [], "power": [], "keyring": [], "size": []}

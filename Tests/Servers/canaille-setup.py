"""Prepares a Canaille: `configure FOLDER PORT` writes its keys and configuration, `seed FOLDER PORT` its database."""

import datetime
import json
import os
import sys

SCOPES = ["openid", "profile", "email", "api.read", "offline_access"]


def configure(folder, port):
    from joserfc.jwk import ECKey, OKPKey, RSAKey

    keys = [RSAKey.generate_key(2048, auto_kid=True), ECKey.generate_key("P-256", auto_kid=True),
            OKPKey.generate_key("Ed25519", auto_kid=True)]

    # Canaille verifies assertions (RFC 7523) by its own first key, whoever they are from.
    with open(folder + "/assertion.jwk", "w") as file:
        json.dump({**keys[0].as_dict(private=True), "alg": "RS256"}, file)

    def table(key):
        members = key.as_dict(private=True).items()
        return "{ " + ", ".join(f'{name} = "{value}"' for name, value in members if isinstance(value, str)) + " }"

    with open(folder + "/config.toml", "w") as file:
        file.write(f'''SECRET_KEY = "{os.urandom(16).hex()}"
SERVER_NAME = "127.0.0.1:{port}"
PREFERRED_URL_SCHEME = "http"
SESSION_COOKIE_SECURE = false
[CANAILLE]
DATABASE = "sql"
CAPTCHA_ENABLED = false
HIDE_INVALID_LOGINS = false
[CANAILLE_SQL]
DATABASE_URI = "sqlite:///{folder}/db.sqlite"
PASSWORD_HASH_PARAMS = {{ "pbkdf2_sha512__rounds" = 1000 }}
[CANAILLE_OIDC]
DYNAMIC_CLIENT_REGISTRATION_OPEN = true
REQUIRE_NONCE = false
TRUSTED_DOMAINS = ["127.0.0.1"]
ACTIVE_JWKS = [ {", ".join(map(table, keys))} ]
''')


def seed():
    from canaille import create_app
    from canaille.app import models
    from canaille.backends import Backend

    now = datetime.datetime.now(datetime.timezone.utc)
    with create_app().app_context(), Backend.instance.session():
        for user, name in (("alice", "Alice"), ("bob", "Bob")):
            Backend.instance.save(models.User(
                user_name=user, given_name=name, family_name="Example", formatted_name=name + " Example",
                emails=[user + "@example.test"], password=user + "-pw-1"))
        def client(client_id, method, more_grants=(), **facts):
            saved = models.Client(
                client_id=client_id, client_name=client_id, client_uri="https://client.example/",
                client_id_issued_at=now, scope=SCOPES, redirect_uris=os.environ["REDIRECTS"].split(),
                token_endpoint_auth_method=method, response_types=["code"],
                grant_types=["authorization_code", "refresh_token", *more_grants], **facts)
            Backend.instance.save(saved)
            saved.audience = [saved]
            Backend.instance.save(saved)

        client("native", "none")
        client("native-es256", "none", id_token_signed_response_alg="ES256")
        client("native-eddsa", "none", id_token_signed_response_alg="EdDSA")
        client("assertion", "none", ["urn:ietf:params:oauth:grant-type:jwt-bearer"])
        client("web", "client_secret_basic", ["client_credentials"], client_secret="web-secret-1")


if sys.argv[1] == "configure":
    configure(sys.argv[2], sys.argv[3])
else:
    seed()

"""An OpenID provider of IdentityPython's idpyoidc behind a few lines of Flask; everybody who arrives is alice."""

import json
import os

from flask import Flask, make_response, redirect, request
from idpyoidc.message.oauth2 import ResponseMessage
from idpyoidc.server import Server
from idpyoidc.server.configure import OPConfiguration
from idpyoidc.server.exception import ClientAuthenticationError

BASE = os.environ["IDPY_BASE"]
FOLDER = os.environ["IDPY_FOLDER"]
METHODS = ["client_secret_basic", "client_secret_post", "private_key_jwt", "public"]
SCOPES = ["openid", "profile", "email", "offline_access", "api.read"]
EXCHANGE = "urn:ietf:params:oauth:grant-type:token-exchange"
GRANTS = ["authorization_code", "refresh_token", "client_credentials", EXCHANGE]
TOKEN_TYPE = "urn:ietf:params:oauth:token-type:"
MINTS = ["access_token", "refresh_token", "id_token"]
LIBRARY = "idpyoidc.server."


def part(kind, **arguments):
    return {"class": LIBRARY + kind, "kwargs": arguments}


def endpoint(path, kind, **arguments):
    return {"path": path, **part(kind, **arguments)}


def keys(*uses):
    return {"keys": {"key_defs": [{"type": "OCT", "use": ["enc"], "kid": use} for use in uses]}}


GRANT_HELPERS = {
    "authorization_code": part("oidc.token_helper.access_token.AccessTokenHelper"),
    "refresh_token": part("oidc.token_helper.refresh_token.RefreshTokenHelper"),
    "client_credentials": part("oauth2.token_helper.client_credentials.ClientCredentials"),
    EXCHANGE: part(
        "oidc.token_helper.token_exchange.TokenExchangeHelper",
        requested_token_types_supported=[TOKEN_TYPE + "access_token", TOKEN_TYPE + "refresh_token"],
        default_requested_token_type=TOKEN_TYPE + "access_token",
        policy={"": {"function": LIBRARY + "oauth2.token_helper.validate_token_exchange_policy",
                     "kwargs": {"scope": SCOPES}}}),
}

CONFIGURATION = {
    "issuer": BASE,
    "httpc_params": {"verify": False, "timeout": 4},
    "key_conf": {
        "key_defs": [{"type": "RSA", "use": ["sig"]}, {"type": "EC", "crv": "P-256", "use": ["sig"]}],
        "uri_path": "jwks", "private_path": FOLDER + "/jwks.json", "read_only": False},
    "preference": {
        "subject_types_supported": ["public"], "scopes_supported": SCOPES, "grant_types_supported": GRANTS},
    "cookie_handler": part(
        "cookie_handler.CookieHandler",
        keys={"key_defs": [{"type": "OCT", "use": ["enc"], "kid": "enc"}, {"type": "OCT", "use": ["sig"], "kid": "sig"}]},
        name={"session": "oidc_op", "register": "oidc_op_reg", "session_management": "oidc_op_sman"}),
    "endpoint": {
        "provider_info": endpoint(
            ".well-known/openid-configuration", "oidc.provider_config.ProviderConfiguration", client_authn_method=None),
        "authorization": endpoint(
            "authorization", "oidc.authorization.Authorization", client_authn_method=None,
            response_types_supported=["code"]),
        "token": endpoint(
            "token", "oidc.token.Token", revoke_refresh_on_issue=True, client_authn_method=METHODS,
            grant_types_helpers=GRANT_HELPERS),
        "userinfo": endpoint("userinfo", "oidc.userinfo.UserInfo"),
        "introspection": endpoint(
            "introspection", "oauth2.introspection.Introspection", client_authn_method=METHODS,
            enable_claims_per_client=False),
        "token_revocation": endpoint(
            "revocation", "oauth2.token_revocation.TokenRevocation", client_authn_method=METHODS),
    },
    "authentication": {"anon": {
        "acr": "urn:oasis:names:tc:SAML:2.0:ac:classes:unspecified",
        **part("user_authn.user.NoAuthn", user="alice")}},
    "authz": part("authz.AuthzHandling", grant_config={
        "usage_rules": {
            "authorization_code": {"supports_minting": MINTS, "max_usage": 1, "expires_in": 300},
            "access_token": {"supports_minting": ["access_token", "refresh_token"], "expires_in": 3600},
            "refresh_token": {"supports_minting": MINTS, "expires_in": 86400}},
        "expires_in": 864000}),
    "token_handler_args": {
        "jwks_def": {
            "private_path": FOLDER + "/token_jwks.json", "read_only": False,
            "key_defs": [{"type": "oct", "bytes": "24", "use": ["enc"], "kid": "code"}]},
        "code": {"kwargs": {"lifetime": 300}},
        "token": part("token.jwt_token.JWTToken", lifetime=3600, aud=[BASE]),
        "refresh": part("token.jwt_token.JWTToken", lifetime=86400, aud=[BASE]),
        "id_token": part("token.id_token.IDToken")},
    "session_params": {
        "encrypter": {"kwargs": keys("password", "salt")},
        "sub_func": {"public": part("session.manager.PublicID", salt="s")}},
    "userinfo": part("user_info.UserInfo", db={"alice": {"name": "Alice Example", "email": "alice@example.test"}}),
    "add_on": {"pkce": {
        "function": LIBRARY + "oauth2.add_on.pkce.add_support",
        "kwargs": {"essential": False, "code_challenge_method": "S256"}}},
}

server = Server(OPConfiguration(CONFIGURATION, base_path=FOLDER), cwd=FOLDER)


def register(client_id, secret, methods):
    server.context.cdb[client_id] = {
        "client_id": client_id, "redirect_uris": [(uri, None) for uri in os.environ["IDPY_REDIRECTS"].split()],
        "response_types_supported": ["code"], "response_types": ["code"], "allowed_scopes": SCOPES, "scope": SCOPES,
        "grant_types_supported": GRANTS, "token_endpoint_auth_method": methods[0], "client_authn_method": methods,
        "client_salt": "salted", **({"client_secret": secret} if secret else {})}
    if secret:
        server.context.keyjar.add_symmetric(client_id, secret)


register("native", "", ["public"])
register("web", "web-secret-1-web-secret-1-web-secret-1", ["client_secret_basic", "client_secret_post"])

application = Flask("idpy")
endpoints = {found.endpoint_path.removeprefix(BASE).lstrip("/"): found for found in server.endpoint.values()}


def refusal(error, reason, status=400):
    return make_response({"error": error, "error_description": str(reason)[:200]}, status)


@application.route("/jwks")
def jwks():
    return server.context.keyjar.export_jwks()


@application.route("/<path:path>", methods=["GET", "POST"])
def serve(path):
    found = endpoints.get(path)
    if found is None:
        return refusal("not_found", path, 404)
    facts = {
        "headers": {name.lower(): value for name, value in request.headers.items()
                    if name.lower() not in ("cookie", "user-agent")},
        "method": request.method, "url": request.url,
        "cookie": [{"name": name, "value": value} for name, value in request.cookies.items()]}
    fields = request.args.to_dict() if request.method == "GET" else request.form.to_dict()
    try:
        parsed = found.parse_request(fields, http_info=facts)
        if isinstance(parsed, ResponseMessage) and "error" in parsed:
            return make_response(json.loads(parsed.to_json()), 400)
        answer = found.process_request(parsed, http_info=facts)
    except ClientAuthenticationError as error:
        return refusal("invalid_client", error, 401)
    except Exception as error:  # The library raises whatever it meets; a server answers.
        application.logger.exception("refused")
        return refusal("invalid_request", repr(error))
    if isinstance(answer, ResponseMessage) and "error" in answer:
        return make_response(json.loads(answer.to_json()), 400)
    if "redirect_location" in answer:
        return redirect(answer["redirect_location"])
    if "http_response" in answer:
        return make_response(answer["http_response"], 200)
    information = found.do_response(request=parsed, **answer)
    if information.get("response_placement", found.response_placement) == "url":
        response = redirect(information["response"])
    else:
        response = make_response(information["response"], information.get("response_code", 200))
    for name, value in information["http_headers"]:
        response.headers[name] = value
    return response


application.run("127.0.0.1", int(BASE.rsplit(":", 1)[1]), threaded=True)

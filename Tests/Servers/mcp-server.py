"""A protected server of the Model Context Protocol by the official SDK: one tool that says what it was told."""

import os

import uvicorn
from mcp.server import MCPServer
from mcp.server.auth.provider import AccessToken
from mcp.server.auth.settings import AuthSettings

PORT = int(os.environ["MCP_PORT"])


class Verifier:
    """Takes the tokens of the tests' authorization servers, which begin so."""

    async def verify_token(self, token):
        if not token.startswith("at-"):
            return None
        return AccessToken(token=token, client_id="client", scopes=["mcp:basic"])


server = MCPServer(
    "echo", token_verifier=Verifier(), auth=AuthSettings(
        issuer_url=os.environ["ISSUER"], resource_server_url=f"http://127.0.0.1:{PORT}/mcp",
        required_scopes=["mcp:basic"], validate_token_resource=False))


@server.tool()
async def echo(text: str) -> str:
    return "heard " + text


uvicorn.run(server.streamable_http_app(), host="127.0.0.1", port=PORT, log_level="warning")

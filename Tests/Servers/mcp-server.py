"""A protected server of the Model Context Protocol by the official SDK: a tool that says what it was told, and one that
first asks the client, in a request of the server's own."""

import os

import pydantic
import uvicorn
from mcp.server import MCPServer
from mcp.server.auth.provider import AccessToken
from mcp.server.auth.settings import AuthSettings
from mcp.server.mcpserver import Context

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


class Name(pydantic.BaseModel):
    name: str


@server.tool()
async def greet(context: Context) -> str:
    answer = await context.elicit("what is your name?", Name)
    return "hello " + answer.data.name


uvicorn.run(server.streamable_http_app(), host="127.0.0.1", port=PORT, log_level="warning")

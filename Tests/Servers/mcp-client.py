"""mcp-client.py COUNT KINDS MODE PROGRAM URL

Starts COUNT clients at once, of the KINDS (with commas) in turn, speaks with the server by each, and prints how many were
answered as they should. Nobody has to have signed in. MODE (auto or legacy) is the official SDK's. The kinds:

- bridge: the SDK's client starts `PROGRAM mcp URL`;
- headers: the SDK's client speaks with the server itself, and has its header fields from a helper, as many clients do;
- asked: as bridge, and the server asks the client something before it answers;
- request: no client at all, but `PROGRAM request` for each message.
"""

import json
import os
import subprocess
import sys

import anyio
import httpx2
from mcp import StdioServerParameters
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.types import ElicitResult

count, kinds, mode, program, url = int(sys.argv[1]), sys.argv[2].split(","), *sys.argv[3:6]
heard = []


async def credmgr(*words):
    done = await anyio.run_process([program, *words], stdin=subprocess.DEVNULL, stderr=None)
    return done.stdout.decode()


async def talk(client, number):
    tools = await client.list_tools()
    words = f"ä {number}\n" + "x" * 200_000
    reply = await client.call_tool("echo", {"text": words})
    if [tool.name for tool in tools.tools] == ["echo", "greet"] and reply.content[0].text == "heard " + words:
        heard.append(number)


async def bridge(number):
    parameters = StdioServerParameters(command=program, args=["mcp", url], env=dict(os.environ))
    async with Client(parameters, mode=mode) as client:
        await talk(client, number)


async def asked(number):
    async def answer(_, question):
        assert question.message == "what is your name?"
        return ElicitResult(action="accept", content={"name": f"client {number}"})

    parameters = StdioServerParameters(command=program, args=["mcp", url], env=dict(os.environ))
    async with Client(parameters, mode=mode, elicitation_callback=answer) as client:
        reply = await client.call_tool("greet", {})
    if reply.content[0].text == f"hello client {number}":
        heard.append(number)


async def signed_in():
    """What a helper does first; the name of the account type is the host's."""
    await credmgr("login", "--resource", url, "--if-needed")
    return url.split("/")[2].replace(":", "-")


async def headers(number):
    fields = json.loads(await credmgr("token", "--type", await signed_in(), "--format", "headers-json"))
    async with httpx2.AsyncClient(headers=fields, timeout=120) as http:
        async with Client(streamable_http_client(url, http_client=http), mode=mode) as client:
            await talk(client, number)


async def request(number):
    name, session = await signed_in(), []

    async def say(method, **parameters):
        message = {"jsonrpc": "2.0", "method": method, "params": parameters}
        if not method.startswith("notifications/"):
            message["id"] = number
        words = ["request", "POST", url, "--type", name, "-i", "--json", json.dumps(message)]
        for field in ["accept: application/json, text/event-stream", *session]:
            words += ["--header", field]
        head, _, body = (await credmgr(*words)).replace("\r\n", "\n").partition("\n\n")
        return head, body

    head, _ = await say(
        "initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo={"name": "test", "version": "1"})
    session.append("mcp-protocol-version: 2025-06-18")
    session.extend(line for line in head.split("\n") if line.lower().startswith("mcp-session-id:"))
    await say("notifications/initialized")
    _, body = await say("tools/call", name="echo", arguments={"text": f"request {number}"})
    if len(session) == 2 and f"heard request {number}" in body:
        heard.append(number)


KINDS = {"bridge": bridge, "headers": headers, "asked": asked, "request": request}


async def main():
    async with anyio.create_task_group() as group:
        for number in range(count):
            group.start_soon(KINDS[kinds[number % len(kinds)]], number)


anyio.run(main)
print(len(heard))

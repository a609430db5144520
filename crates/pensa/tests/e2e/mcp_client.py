"""Calls a server with the official SDK: one request a line on standard input, one answer a line on standard output."""

import asyncio
import json
import sys

from mcp import Client, MCPError, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client
from mcp_types import Implementation


def transport(plan):
    """A process to start, or the address of a server with the headers it wants."""
    if "command" in plan:
        command, *args = plan["command"]
        return StdioServerParameters(command=command, args=args, env=plan["env"], cwd=plan["cwd"])
    http = create_mcp_http_client(headers=plan["headers"])
    return streamable_http_client(plan["url"], http_client=http)


def requests(client):
    fresh = {"cache_mode": "bypass"}
    return {
        "tools/list": lambda given: client.list_tools(**fresh),
        "tools/call": lambda given: client.call_tool(given["name"], given["arguments"]),
        "resources/list": lambda given: client.list_resources(**fresh),
        "resources/read": lambda given: client.read_resource(given["uri"], **fresh),
        "prompts/list": lambda given: client.list_prompts(**fresh),
        "prompts/get": lambda given: client.get_prompt(given["name"]),
    }


async def main():
    plan = json.loads(sys.stdin.readline())
    named = Implementation(name=plan["client"], version="1")
    async with Client(transport(plan), mode=plan["mode"], client_info=named, read_timeout_seconds=60) as client:
        print(json.dumps({"protocol": client.protocol_version, "instructions": client.instructions}), flush=True)
        while line := await asyncio.to_thread(sys.stdin.readline):
            asked = json.loads(line)
            try:
                result = await requests(client)[asked["method"]](asked.get("params"))
                answer = {"result": result.model_dump(mode="json", by_alias=True, exclude_none=True)}
            except MCPError as error:
                answer = {"error": error.error.model_dump(mode="json", exclude_none=True)}
            print(json.dumps(answer), flush=True)


asyncio.run(main())

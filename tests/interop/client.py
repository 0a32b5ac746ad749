"""client.py ERA FARM FOLDER OWN: the Python SDK, 1.x or 2.x, as a client of farm and of OWN, the server
of the conformance suite's tools. FOLDER holds files/a.txt and farm.toml.

ERA is legacy, auto or a version of the protocol; the last two need 2.x.
"""

import asyncio
import sys
from contextlib import asynccontextmanager
from importlib.metadata import version

import mcp
from mcp.client.stdio import StdioServerParameters, stdio_client

ERA, FARM, FOLDER, OWN = sys.argv[1:]

GOOD = [
    ("calculator", {"expression": "2**3**2"}, "512"),
    ("calculator", {"expression": "1 / 4"}, "0.25"),
    ("file_read", {"path": "a.txt"}, "inside \u00e4\n"),
    (
        "web_fetch",
        {"url": "https://example.org/a"},
        "[offline: canned page for https://example.org/a; nothing was fetched]\ncanned",
    ),
]
BAD = [
    ("calculator", {"expression": "1/0"}, "div_zero: "),
    ("calculator", {"expression": 1}, 'blocked by schema: /expression: 1 is not of type "string"'),
    ("calculator", {}, 'blocked by schema: "expression" is a required property'),
    ("calculator", None, 'blocked by schema: "expression" is a required property'),
    ("calculator", {"expression": "1", "x": 1}, "blocked by schema: Additional properties"),
    ("file_read", {"path": "../farm.toml"}, "the path leads out of the folder"),
    ("file_read", {"path": "none"}, "no such file"),
    ("web_fetch", {"url": "ftp://example.org/"}, "cannot fetch this URL"),
]


@asynccontextmanager
async def connected(*command):
    """A client of a server, and the version of the protocol that both speak."""
    transport = stdio_client(StdioServerParameters(command=command[0], args=list(command[1:])))
    if version("mcp").startswith("1."):
        async with transport as streams, mcp.ClientSession(*streams) as client:
            hello = await client.initialize()
            yield client, hello.protocolVersion
    else:
        async with mcp.Client(transport, mode=ERA) as client:
            yield client, client.protocol_version


def shown(model):
    return model.model_dump(by_alias=True, mode="json", exclude_none=True)


async def built_in_tools():
    args = ["mcp", "--files", f"{FOLDER}/files", "--config", f"{FOLDER}/farm.toml"]
    async with connected(FARM, *args) as (client, spoken):
        tools = shown(await client.list_tools())["tools"]
        assert [tool["name"] for tool in tools] == ["calculator", "file_read", "web_fetch"], tools
        for tool in tools:
            assert tool["inputSchema"]["additionalProperties"] is False, tool
            assert tool["annotations"]["readOnlyHint"] is True, tool
        for name, args, text in GOOD:
            result = shown(await client.call_tool(name, args))
            assert result["content"] == [{"type": "text", "text": text}], result
            assert result["structuredContent"] == {"result": text}, result
            assert result["isError"] is False, result
        for name, args, text in BAD:
            result = shown(await client.call_tool(name, args))
            assert result["content"][0]["text"].startswith(text), result
            assert "structuredContent" not in result, result
            assert result["isError"] is True, result
        try:
            await client.call_tool("calculater", {})
            raise AssertionError("an unknown tool is an error of the protocol")
        except Exception as error:
            assert 'did you mean "calculator"?' in str(error), repr(error)
        many = [client.call_tool("calculator", {"expression": f"{n} + 1"}) for n in range(200)]
        for n, result in enumerate(await asyncio.gather(*many)):
            assert shown(result)["structuredContent"] == {"result": str(n + 1)}, result
        return spoken


async def own_tools():
    reports = []

    async def hear(done, total, message):
        reports.append((done, total, message))

    async with connected(OWN) as (client, _):
        name = "test_tool_with_progress"
        result = shown(await client.call_tool(name, {}, progress_callback=hear))
        assert result["content"][0]["text"] == "All of it is done.", result
        args = {"contactMethod": "phone", "email": "e"}
        result = shown(await client.call_tool("json_schema_2020_12_tool", args))
        assert '"phone" is a required property' in result["content"][0]["text"], result
    want = [(0, 100, None), (50, 100, "halves"), (100, 100, "halves")]
    assert reports == want, reports


async def main():
    spoken = await built_in_tools()
    await own_tools()
    print(f"Python SDK {version('mcp')}, {ERA}: all as it should be, over {spoken}")


asyncio.run(main())

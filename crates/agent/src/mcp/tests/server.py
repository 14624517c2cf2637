"""A tool server for tests, standard library only. Its first argument says in which way it misbehaves."""

import json
import os
import sys
import time

HOW = sys.argv[1] if len(sys.argv) > 1 else "well"


def write(message):
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


def answer(request, result):
    write({"jsonrpc": "2.0", "id": request["id"], "result": result})


def refuse(request, code, message):
    write({"jsonrpc": "2.0", "id": request["id"], "error": {"code": code, "message": message}})


def text(request, words, failed=False):
    answer(request, {"content": [{"type": "text", "text": words}], "isError": failed})


def tool(name, **more):
    return {"name": name, "description": f"Does {name}.", "inputSchema": {"type": "object"}, **more}


TOOLS = [
    tool("echo", annotations={"readOnlyHint": True}),
    tool("fail"),
    tool("slow"),
    tool("die"),
    tool("huge"),
    tool("flood"),
    tool("more"),
    tool("ask"),
    tool("cwd"),
    tool("odd.name"),
    tool("echo", description="a second one of the same name"),
    {"name": "broken"},
]


def page(cursor):
    """One tool per page, so that every listing needs all of them."""
    at = int(cursor or 0)
    following = {"nextCursor": str(at + 1)} if at + 1 < len(TOOLS) else {}
    if HOW == "endless":
        following = {"nextCursor": "0"}
    return {"tools": [TOOLS[at]], **following}


def call(request):
    name = request["params"]["name"]
    arguments = request["params"].get("arguments") or {}
    if name == "echo":
        text(request, arguments.get("text", ""))
    elif name == "fail":
        text(request, "it did not work", failed=True)
    elif name == "slow":
        print("slow begins", file=sys.stderr, flush=True)
    elif name == "die":
        print("out of cheese", file=sys.stderr, flush=True)
        os._exit(3)
    elif name == "huge":
        text(request, "x" * int(arguments["bytes"]))
    elif name == "flood":
        for _ in range(20_000):
            write({"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": 1}})
        text(request, "flooded")
    elif name == "more":
        TOOLS.append(tool("extra"))
        write({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
        text(request, "there is more")
    elif name == "ask":
        write({"jsonrpc": "2.0", "id": "q", "method": "sampling/createMessage", "params": {"messages": [], "maxTokens": 1}})
        reply = json.loads(sys.stdin.readline())
        text(request, "refused" if "error" in reply else "answered")
    elif name == "cwd":
        text(request, os.environ.get("GREETING", "") + " " + os.path.basename(os.getcwd()))
    elif name == "extra":
        text(request, "extra")
    else:
        refuse(request, -32602, f"no tool {name}")


def serve():
    for line in sys.stdin:
        message = json.loads(line)
        method = message.get("method")
        if method == "initialize":
            version = message["params"]["protocolVersion"]
            capabilities = {"tools": {"listChanged": True}}
            answer(message, {"protocolVersion": version, "capabilities": capabilities, "serverInfo": {"name": "t", "version": "1"}})
        elif method == "tools/list":
            answer(message, page((message.get("params") or {}).get("cursor")))
        elif method == "tools/call":
            call(message)
        elif "id" in message and method:
            refuse(message, -32601, "no such method")


if HOW == "silent":
    time.sleep(600)
elif HOW == "deaf":
    os.close(0)
    time.sleep(600)
elif HOW == "noise":
    while True:
        sys.stdout.write("this is no protocol\n" * 1000)
elif HOW == "crash":
    print("cannot find my configuration", file=sys.stderr, flush=True)
    sys.exit(1)
elif HOW == "garbage":
    sys.stdout.write("{\"jsonrpc\": \n")
    sys.stdout.write("[]\n\x00\n")
    sys.stdout.flush()
    serve()
elif HOW == "stray":
    write({"jsonrpc": "2.0", "id": 99, "result": {}})
    serve()
else:
    print("a banner on the wrong stream")
    serve()

#!/usr/bin/env python3
"""A tool behind the approval decorator of google/adk-python-community, in its shape, with nothing but Python itself.

The decorator asks `POST /approvals/`, polls `GET /approvals/{id}`, and runs the function only if the answer is "approved".
Point the original at Placet in the same way: `ADK_HITL_API_URL=http://127.0.0.1:4000`. With a key, send it as a bearer token.
"""

import functools
import inspect
import json
import os
import sys
import time
import urllib.request
import uuid

URL = os.environ.get("ADK_HITL_API_URL", "http://127.0.0.1:4000")
KEY = os.environ.get("PLACET_TOKEN")
POLL = float(os.environ.get("ADK_HITL_POLL_INTERVAL_S", "2.0"))


def call(method, path, body=None):
    """One call; anything but a good answer is an error, and an error runs nothing."""
    headers = {"content-type": "application/json"}
    if KEY:
        headers["authorization"] = f"Bearer {KEY}"
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(URL + path, data, headers, method=method)
    with urllib.request.urlopen(request, timeout=10) as answer:
        return json.load(answer)


def hitl_tool(agent_name, timeout=300.0):
    def decorator(function):
        @functools.wraps(function)
        def wrapper(*args, **kwargs):
            payload = dict(inspect.signature(function).bind(*args, **kwargs).arguments)
            asked = call(
                "POST",
                "/approvals/",
                {
                    "session_id": str(uuid.uuid4()),
                    "app_name": "adk_chatbot",
                    "user_id": "current_user",
                    "agent_name": agent_name,
                    "tool_name": function.__name__,
                    "message": f"Approval requested for {function.__name__}",
                    "payload": payload,
                },
            )
            print(f"asked: {function.__name__}({payload}), as {asked['id']}", flush=True)
            end = time.monotonic() + timeout
            while time.monotonic() < end:
                told = call("GET", f"/approvals/{asked['id']}")
                if told["status"] == "approved":
                    return function(*args, **kwargs)
                if told["status"] != "pending":
                    raise PermissionError(f"{told['status']}: {told['decision_notes']}")
                time.sleep(POLL)
            raise TimeoutError(f"nobody decided within {timeout} s")

        return wrapper

    return decorator


@hitl_tool(agent_name="credit_agent")
def apply_credit(account_id, amount):
    return f"credited {amount} to {account_id}"


if __name__ == "__main__":
    try:
        print(apply_credit("acc-7", int(sys.argv[1]) if len(sys.argv) > 1 else 500))
    except PermissionError as no:
        print(f"not run: {no}")
        sys.exit(3)

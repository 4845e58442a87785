"""A message of A2A 1.0 that asks the desk."""

import uuid

from a2a.types import Message, Part, Role, SendMessageRequest
from google.protobuf.json_format import ParseDict
from google.protobuf.struct_pb2 import Value

ASKED = {"type": "approval_request", "action": "delete_files", "args": {"files": ["report.md"]}}


def asking(configuration=None):
    part = Part(data=ParseDict(ASKED, Value()))
    message = Message(message_id=uuid.uuid4().hex, role=Role.ROLE_USER, parts=[part])
    return SendMessageRequest(message=message, configuration=configuration)


async def first(events):
    """The task, as the first event of a call has it."""
    return (await anext(aiter(events))).task

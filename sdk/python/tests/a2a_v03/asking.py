"""A message of A2A 0.3 that asks the desk."""

import uuid

from a2a.types import DataPart, Message, Part, Role

ASKED = {"type": "approval_request", "action": "delete_files", "args": {"files": ["report.md"], "limit": 2**53 - 1}}


def asking(data=ASKED, **more):
    part = Part(root=DataPart(data=data))
    return Message(message_id=uuid.uuid4().hex, role=Role.user, parts=[part], **more)


async def first(events):
    """The task, as the first event of a call has it."""
    return (await anext(aiter(events)))[0]

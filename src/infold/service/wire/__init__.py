"""What the proxy knows about the provider APIs: reading requests, putting memory in, reading replies. Pure."""

from collections.abc import Mapping

from infold.service.wire.anthropic import AnthropicApi
from infold.service.wire.base import Api, Asked, Reply, Streamed, read_part
from infold.service.wire.chat import ChatApi
from infold.service.wire.identity import OWN, START, identity, prefixes, reasoning, silent, spoken
from infold.service.wire.responses import ResponsesApi
from infold.service.wire.tail import OPERATOR_SHARE

APIS: Mapping[str, Api] = {api.name: api for api in (ChatApi(), ResponsesApi(), AnthropicApi())}

__all__ = [
    "APIS",
    "OPERATOR_SHARE",
    "OWN",
    "START",
    "Api",
    "Asked",
    "Reply",
    "Streamed",
    "identity",
    "prefixes",
    "read_part",
    "reasoning",
    "silent",
    "spoken",
]

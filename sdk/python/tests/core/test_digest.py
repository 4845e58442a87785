"""Digests are the same bytes as the server's, on the vectors that all languages share."""

from __future__ import annotations

import json
import math
import struct
from pathlib import Path

import pytest

import placet
from placet import args, digest

CONTRACT = Path(__file__).parents[4] / "tests" / "contract"
VECTORS = json.loads((CONTRACT / "digests.json").read_text())


def named(section):
    return pytest.mark.parametrize("vector", VECTORS[section], ids=[one["name"] for one in VECTORS[section]])


def raw(vector) -> bytes:
    if "hex" in vector:
        return bytes.fromhex(vector["hex"])
    if "parts" in vector:
        return b"".join(part["text"].encode() * part["repeat"] for part in vector["parts"])
    return vector["text"].encode()


@named("canonical")
def test_the_canonical_form_is_the_one_all_languages_write(vector):
    value = args.read_json(vector["text"])
    assert digest.canonical(value) == vector["canonical"]
    assert digest.of_json(value) == vector["sha256"]


@named("refused")
def test_what_readers_disagree_about_is_not_read(vector):
    with pytest.raises(placet.NotJson):
        args.read_json(raw(vector))


@pytest.mark.parametrize("vector", [one for one in VECTORS["refused"] if one["value"]], ids=lambda one: one["name"])
def test_values_that_readers_disagree_about_are_not_sent(vector):
    with pytest.raises(placet.NotJson):
        args.check_json(json.loads(raw(vector)))


@named("requests")
def test_the_digest_of_a_record_can_be_computed_from_the_record(vector):
    record = vector["record"]
    assert digest.of_request(record) == record["digest"]
    if record["decision"] is not None:
        assert digest.of_decision(record) == record["decision"]["digest"]


def test_a_changed_argument_changes_the_digest():
    record = next(one["record"] for one in VECTORS["requests"] if one["record"]["kind"] == "action")
    assert digest.of_request({**record, "arguments": {"other": 1}}) != record["digest"]


def test_numbers_read_back_as_the_same_number():
    # Every 9973rd bit pattern of the exponent and the mantissa's ends, both signs.
    for bits in range(0, 2**64, 2**64 // 20_011):
        (value,) = struct.unpack(">d", struct.pack(">Q", bits))
        if math.isfinite(value):
            assert float(digest.number(value)) == value

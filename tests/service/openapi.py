"""The rules of OpenAPI 3.1 that a description is held to, and what one says of an operation's answers."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from jsonschema import Draft202012Validator

Document = dict[str, Any]

_TEXT = {"type": "string", "minLength": 1}
_CONTENT = {
    "type": "object",
    "propertyNames": {"pattern": r"^[a-z]+/[a-z0-9.+-]+$"},
    "additionalProperties": {
        "properties": {"schema": {"$ref": "#/$defs/schema"}, "example": {}, "examples": {}},
        "additionalProperties": False,
    },
}
_OPERATION = {
    "type": "object",
    "required": ["responses", "operationId", "summary"],
    "properties": {
        "summary": _TEXT,
        "operationId": {"type": "string", "pattern": r"^\w+$"},
        "security": {"$ref": "#/$defs/security"},
        "parameters": {"type": "array", "items": {"$ref": "#/$defs/parameter"}},
        "requestBody": {
            "required": ["content"],
            "properties": {"content": _CONTENT | {"minProperties": 1}, "required": {"type": "boolean"}},
            "additionalProperties": False,
        },
        "responses": {
            "type": "object",
            "minProperties": 1,
            "patternProperties": {
                "^[1-5][0-9]{2}$": {
                    "required": ["description", "content"],
                    "properties": {
                        "description": _TEXT,
                        "content": _CONTENT | {"minProperties": 1},
                        "headers": {
                            "type": "object",
                            "additionalProperties": {
                                "required": ["schema"],
                                "properties": {"schema": {"$ref": "#/$defs/schema"}, "description": _TEXT},
                                "additionalProperties": False,
                            },
                        },
                    },
                    "additionalProperties": False,
                }
            },
            "additionalProperties": False,
        },
    },
    "additionalProperties": False,
}
RULES = {
    "$schema": Draft202012Validator.META_SCHEMA["$id"],
    "type": "object",
    "required": ["openapi", "info", "paths"],
    "properties": {
        "openapi": {"pattern": r"^3\.1\.\d+$"},
        "info": {
            "required": ["title", "version"],
            "properties": {"title": _TEXT, "version": _TEXT, "description": _TEXT},
            "additionalProperties": False,
        },
        "security": {"$ref": "#/$defs/security"},
        "paths": {
            "type": "object",
            "propertyNames": {"pattern": "^/"},
            "additionalProperties": {
                "type": "object",
                "propertyNames": {"enum": ["get", "put", "post", "delete", "patch"]},
                "additionalProperties": _OPERATION,
            },
        },
        "components": {
            "properties": {
                "schemas": {"$ref": "#/$defs/named", "additionalProperties": {"$ref": "#/$defs/schema"}},
                "securitySchemes": {
                    "$ref": "#/$defs/named",
                    "additionalProperties": {
                        "required": ["type", "scheme"],
                        "properties": {"type": {"const": "http"}, "scheme": _TEXT, "description": _TEXT},
                        "additionalProperties": False,
                    },
                },
            },
            "additionalProperties": False,
        },
    },
    "additionalProperties": False,
    "$defs": {
        "schema": {"$ref": Draft202012Validator.META_SCHEMA["$id"]},
        "named": {"type": "object", "propertyNames": {"pattern": r"^[a-zA-Z0-9._-]+$"}},
        "security": {"type": "array", "items": {"type": "object", "additionalProperties": {"type": "array"}}},
        "parameter": {
            "required": ["name", "in", "schema"],
            "properties": {
                "name": _TEXT,
                "in": {"enum": ["query", "header", "path", "cookie"]},
                "required": {"type": "boolean"},
                "description": _TEXT,
                "schema": {"$ref": "#/$defs/schema"},
            },
            "additionalProperties": False,
        },
    },
}


@dataclass(frozen=True)
class Operation:
    """One method at one address, and what is said of it."""

    method: str
    path: str
    said: Document

    def forms(self, status: int) -> Document:
        """Return the forms of a response with a status, none where it is not described."""
        found: Document = self.said["responses"].get(str(status), {}).get("content", {})
        return found


def operations(document: Document) -> list[Operation]:
    return [
        Operation(method.upper(), path, said)
        for path, methods in document["paths"].items()
        for method, said in methods.items()
    ]


def inside(value: object) -> Iterator[Document]:
    """Return every object of a document, however deep."""
    if isinstance(value, dict):
        yield value
    for part in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from inside(part)


def resolves(document: Document, reference: str) -> bool:
    """Return whether a reference names a part of the document."""
    found: Any = document
    for name in reference.removeprefix("#/").split("/"):
        found = found.get(name) if isinstance(found, dict) else None
    return reference.startswith("#/") and found is not None


def faults(document: Document) -> list[str]:
    """Return what breaks a rule: of form, or of what must agree with what."""
    found = [
        f"{error.json_path}: {error.message}" for error in Draft202012Validator(RULES).iter_errors(document)
    ]
    references = [part["$ref"] for part in inside(document) if isinstance(part.get("$ref"), str)]
    found += [f"{one} is nothing" for one in references if not resolves(document, one)]
    every = operations(document)
    names = [one.said.get("operationId") for one in every]
    found += [f"{name} is two operations" for name in {*names} if names.count(name) > 1]
    for one in every:
        stated = {p["name"] for p in one.said.get("parameters", ()) if p["in"] == "path" and p["required"]}
        if stated != {*re.findall(r"{(\w+)}", one.path)}:
            found.append(f"{one.path} has other parameters than {stated}")
    known = document.get("components", {}).get("securitySchemes", {})
    needed = [document.get("security", []), *(one.said.get("security", []) for one in every)]
    found += [f"{name} is no scheme" for one in needed for way in one for name in way if name not in known]
    return found


def validator(document: Document, schema: Document) -> Draft202012Validator:
    """Return what checks a value against a schema of the document."""
    return Draft202012Validator(schema | {"components": document["components"]})

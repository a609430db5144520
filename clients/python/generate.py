"""Writes src/pensa_client/types.py and operations.py from a daemon's OpenAPI document.

python3 generate.py openapi.json [DIRECTORY]
"""

import json
import keyword
import re
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

NOTICE = '"""%s\n\nGenerated from the OpenAPI document by generate.py. Do not edit.\n"""\n\n'
TYPES = "The JSON of the API: what operations are asked, and what they answer."
OPERATIONS = "A method for every operation."
PLAIN = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}
# The event stream has a method of its own, and the document is for generators.
LEFT_OUT = ["events", "openapi"]

Schema = dict[str, Any] | bool


def type_of(schema: Schema) -> str:
    """The Python type of a JSON schema."""
    if isinstance(schema, bool):
        return "Any"
    if "$ref" in schema:
        return str(schema["$ref"]).rsplit("/", 1)[1]
    if "const" in schema:
        return f"Literal[{json.dumps(schema['const'])}]"
    if "enum" in schema:
        return f"Literal[{', '.join('None' if one is None else json.dumps(one) for one in schema['enum'])}]"
    if "oneOf" in schema or "anyOf" in schema:
        return union(type_of(one) for one in variants(schema))
    kinds = schema.get("type", [])
    return union(kind_of(kind, schema) for kind in ([kinds] if isinstance(kinds, str) else kinds)) or "Any"


def variants(schema: Schema) -> Iterator[Schema]:
    """The schemas of which one must match, also those of unions within a union."""
    if not isinstance(schema, bool):
        for either in ("oneOf", "anyOf"):
            if either in schema:
                for one in schema[either]:
                    yield from variants(one)
                return
    yield schema


def kind_of(kind: str, schema: dict[str, Any]) -> str:
    if kind == "array":
        return f"list[{type_of(schema.get('items', True))}]"
    if kind == "object":
        return f"dict[str, {type_of(schema.get('additionalProperties', True))}]"
    return PLAIN[kind]


def union(types: Iterator[str]) -> str:
    """The union, with literals merged and each type once."""
    every = list(dict.fromkeys(types))
    literals = [one[len("Literal[") : -1] for one in every if one.startswith("Literal[")]
    others = [one for one in every if not one.startswith("Literal[")]
    return " | ".join(([f"Literal[{', '.join(literals)}]"] if literals else []) + others)


def typed_dict(name: str, about: str, fields: dict[str, Schema], required: list[str]) -> str:
    types = {field: type_of(schema) for field, schema in fields.items()}
    types = {field: one if field in required else f"NotRequired[{one}]" for field, one in types.items()}
    if any(keyword.iskeyword(field) for field in fields):
        # The fields of a class cannot be named `from` or `for`.
        lines = "".join(f"        {json.dumps(field)}: {one},\n" for field, one in types.items())
        return f'{name} = TypedDict(\n    "{name}",\n    {{\n{lines}    }},\n)\n"""{about}"""\n'
    members = [f"    {field}: {one}\n{documented(fields[field])}" for field, one in types.items()]
    return f"class {name}(TypedDict):\n    {docstring(about or name, 1)}\n" + "".join(["\n", *members] if members else [])


def documented(schema: Schema) -> str:
    about = "" if isinstance(schema, bool) else schema.get("description", "")
    return f"    {docstring(about, 1)}\n" if about else ""


def docstring(text: str, depth: int) -> str:
    indent = "    " * depth
    lines = [
        wrapped
        for line in text.replace("\\", "\\\\").replace('"""', "'''").split("\n")
        for wrapped in textwrap.wrap(line, 110 - len(indent)) or [""]
    ]
    if len(lines) == 1 and not lines[0].endswith('"'):
        return f'"""{lines[0]}"""'
    return '"""' + f"\n{indent}".join(lines).replace(f"\n{indent}\n", "\n\n") + f'\n{indent}"""'


def schema_type(name: str, schema: dict[str, Any]) -> str:
    about = schema.get("description", "")
    if "properties" in schema:
        return typed_dict(name, about, schema["properties"], schema.get("required", []))
    variants = schema.get("oneOf", schema.get("anyOf", []))
    if variants and all("properties" in one for one in variants):
        parts = [
            typed_dict(f"{name}Case{number}", one.get("description", ""), one["properties"], one.get("required", []))
            for number, one in enumerate(variants, 1)
        ]
        every = " | ".join(f"{name}Case{number}" for number in range(1, len(variants) + 1))
        return "\n\n".join(parts) + f"\n\n{name} = {every}\n"
    return f"{name} = {type_of(schema)}\n"


def class_name(operation: str) -> str:
    """`issue.claim_next` is asked with an `IssueClaimNextInput`."""
    return "".join(part.capitalize() for part in operation.replace(".", "_").split("_")) + "Input"


def method_name(operation: str) -> str:
    """`work.step.add` is `work_step_add`."""
    return operation.replace(".", "_")


def operations(document: dict[str, Any]) -> Iterator[tuple[str, str, str, dict[str, Any]]]:
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            if operation["operationId"] not in LEFT_OUT:
                yield operation["operationId"], method.upper(), path, operation


def input_type(name: str, operation: dict[str, Any]) -> str:
    given = [one for one in operation["parameters"] if one.get("in") in ("path", "query")]
    fields = {one["name"]: one["schema"] | {"description": one.get("description", "")} for one in given}
    required = [one["name"] for one in given if one["required"]]
    if "requestBody" in operation:
        body = operation["requestBody"]["content"]["application/json"]["schema"]
        fields |= body.get("properties", {})
        required += body.get("required", [])
    return typed_dict(class_name(name), f"What {name} is asked.", fields, required)


def output_type(operation: dict[str, Any]) -> str:
    done = next(answer for status, answer in operation["responses"].items() if status.startswith("2"))
    return type_of(done["content"]["application/json"]["schema"])


def types_module(document: dict[str, Any]) -> str:
    parts = [schema_type(name, schema) for name, schema in document["components"]["schemas"].items()]
    parts += [input_type(name, operation) for name, _, _, operation in operations(document)]
    imports = "from __future__ import annotations\n\nfrom typing import Any, Literal, NotRequired, TypedDict\n"
    return NOTICE % TYPES + "\n\n".join([imports, *in_order(parts)])


def in_order(parts: list[str]) -> list[str]:
    """Aliases are evaluated when the module is loaded, so they come after all classes."""
    return [one for one in parts if one.startswith("class ")] + [one for one in parts if not one.startswith("class ")]


def operations_module(document: dict[str, Any]) -> str:
    routes, methods = "", ""
    for name, method, path, operation in operations(document):
        routes += f'    "{name}": ("{method}", "{path}"),\n'
        about = docstring("\n\n".join(filter(None, [operation["summary"], operation.get("description")])), 2)
        answer = qualified(output_type(operation), document)
        methods += (
            f"\n    def {method_name(name)}(self, **fields: Unpack[types.{class_name(name)}]) -> {answer}:\n"
            f'        {about}\n        return self.call("{name}", fields)  # type: ignore[no-any-return]\n'
        )
    return (
        NOTICE % OPERATIONS
        + "from __future__ import annotations\n\n"
        + "from abc import ABC, abstractmethod\nfrom collections.abc import Mapping\n"
        + "from typing import Any, Unpack\n\nfrom . import types\n\n"
        + f"ROUTES = {{\n{routes}}}\n\n\n"
        + f'class Operations(ABC):\n    """{OPERATIONS}"""\n\n    @abstractmethod\n'
        + "    def call(self, name: str, fields: Mapping[str, object]) -> Any:\n"
        + '        """Runs an operation by its name."""\n'
        + methods
    )


def qualified(annotation: str, document: dict[str, Any]) -> str:
    """The annotation as it is written outside the module of types."""
    schemas = document["components"]["schemas"]
    return re.sub(r"\b[A-Z]\w*", lambda name: f"types.{name[0]}" if name[0] in schemas else name[0], annotation)


def main() -> None:
    if len(sys.argv) < 2:
        sys.exit("usage: generate.py openapi.json [DIRECTORY]")
    document = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    directory = Path(sys.argv[2]) if len(sys.argv) > 2 else Path(__file__).parent / "src/pensa_client"
    (directory / "types.py").write_text(types_module(document), encoding="utf-8")
    (directory / "operations.py").write_text(operations_module(document), encoding="utf-8")


main()

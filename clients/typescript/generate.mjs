// Writes src/schema.ts and src/operations.ts from a daemon's OpenAPI document.
//
//     node generate.mjs openapi.json [DIRECTORY]

import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import openapiTS, { astToString } from "openapi-typescript";

const [source, directory = "src"] = process.argv.slice(2);
if (!source) {
  console.error("usage: node generate.mjs openapi.json [DIRECTORY]");
  process.exit(2);
}
const notice = "// Generated from the OpenAPI document by generate.mjs. Do not edit.\n\n";
const document = JSON.parse(await readFile(source, "utf8"));

/** The operations by name. The event stream and the document itself have methods of their own. */
const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods)
    .filter(([, operation]) => !["events", "openapi"].includes(operation.operationId))
    .map(([method, operation]) => ({ path, method: method.toUpperCase(), ...operation })),
);

await writeFile(join(directory, "schema.ts"), notice + (await schema()));
await writeFile(join(directory, "operations.ts"), notice + table() + methods());

/** The types. Headers are left to the client, and paths are in the table of routes. */
async function schema() {
  const plain = structuredClone(document);
  delete plain.components.parameters;
  for (const operation of Object.values(plain.paths).flatMap(Object.values)) {
    operation.parameters = operation.parameters?.filter(({ in: place }) => place === "path" || place === "query");
  }
  // Further fields are of newer versions: without their type, a misspelt field is an error.
  for (const schema of Object.values(plain.components.schemas)) {
    if (schema.properties && schema.additionalProperties === true) delete schema.additionalProperties;
  }
  const nodes = await openapiTS(plain, { silent: true, defaultNonNullable: false });
  return astToString(nodes.filter((node) => ["components", "operations"].includes(node.name?.text)))
    .replaceAll(/^( *)\1/gm, "$1")
    .replaceAll(/^ *(header|cookie|parameters|headers|requestBodies|pathItems)\??: (never|\{\s*\[name: string\]: unknown;\s*\});\n/gm, "");
}

function table() {
  const rows = operations.map(({ operationId, method, path }) => `  "${operationId}": ["${method}", "${path}"],\n`);
  return `/** Method and path of every operation. */\nexport const routes = {\n${rows.join("")}} as const;\n\n`;
}

function methods() {
  const all = operations.map((operation) => {
    const { operationId: name, summary, description } = operation;
    const lines = [summary, ...(description ? ["", ...description.split("\n")] : [])];
    const about = lines.map((line) => `   * ${line}`.trimEnd().replaceAll("*/", "* /")).join("\n");
    const fields = operation.parameters.some(({ in: place, required }) => place && required);
    const body = operation.requestBody?.content["application/json"].schema.required?.length > 0;
    const input = `input: Input<"${name}">${fields || body ? "" : " = {}"}`;
    const signature = `${camelCase(name)}(${input}, options?: CallOptions): Promise<Output<"${name}">>`;
    return `\n  /**\n${about}\n   */\n  ${signature} {\n    return this.call("${name}", input, options);\n  }\n`;
  });
  const call =
    "  abstract call<Name extends OperationName>(\n    name: Name,\n    input: Input<Name>,\n" +
    "    options?: CallOptions,\n  ): Promise<Output<Name>>;\n";
  return (
    'import type { CallOptions, Input, OperationName, Output } from "./types.js";\n\n' +
    `/** A method for every operation. */\nexport abstract class Operations {\n${call}${all.join("")}}\n`
  );
}

/** `work.step.add` is `workStepAdd`. */
function camelCase(name) {
  return name.replaceAll(/[._](.)/g, (_, letter) => letter.toUpperCase());
}

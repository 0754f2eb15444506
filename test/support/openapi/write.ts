// Writes docs/openapi.json, and the types of clients that are generated from it: `npm run openapi`.
import { spawnSync } from 'node:child_process';
import { appendFileSync, writeFileSync } from 'node:fs';
import { described, descriptionFile, typesFile, typesMark } from './description.ts';

// The generator needs the compiler as a library, which the project's own compiler is not: it is run apart from it.
const generator = ['-p', 'typescript@5.9.3', '-p', 'openapi-typescript@7.13.0', 'openapi-typescript'];

writeFileSync(descriptionFile, described);
const { status } = spawnSync('npx', ['--yes', ...generator, descriptionFile, '-o', typesFile], {
  stdio: 'inherit',
});
if (status === 0) appendFileSync(typesFile, typesMark);
process.exitCode = status ?? 1;

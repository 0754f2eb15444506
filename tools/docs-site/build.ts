import path from 'node:path';
import { writeSite } from './site.ts';

// Builds the documentation site in `dist-docs`. `build.ts FOLDER` writes into another folder.

const root = path.join(import.meta.dirname, '..', '..');
const out = path.resolve(process.argv[2] ?? path.join(root, 'dist-docs'));
await writeSite(root, out);
process.stdout.write(`${path.join(out, 'index.html')}\n`);

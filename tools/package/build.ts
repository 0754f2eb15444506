import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { cp, rm } from 'node:fs/promises';
import path from 'node:path';

// The contents of the tarball of `npm pack`: the service as JavaScript in `dist`, because Node strips no types of files
// below node_modules, and the files that the service reads, at the paths where it looks for them. `build.ts FOLDER`
// builds into another folder.

const root = path.join(import.meta.dirname, '..', '..');
const dist = path.resolve(process.argv[2] ?? path.join(root, 'dist'));

/** Files and folders that the service reads at run time. */
const read = [
  'package.json',
  'config/quickstart.yaml',
  'migrations',
  'infrastructure/pricing/catalogue.json',
  'infrastructure/pricing/output-limits.json',
];

/** The admin page, built beforehand by `npm run build:page`. The service reports it when it is missing. */
const page = 'interfaces/admin-page/dist';

await rm(dist, { recursive: true, force: true });
const compiler = path.join(root, 'node_modules', 'typescript', 'bin', 'tsc');
const terms = ['-p', path.join(root, 'tsconfig.build.json'), '--outDir', dist];
const { status } = spawnSync(process.execPath, [compiler, ...terms], { stdio: 'inherit' });
if (status === 0)
  for (const each of existsSync(path.join(root, page)) ? [...read, page] : read)
    await cp(path.join(root, each), path.join(dist, each), { recursive: true });
process.exitCode = status ?? 1;

import { execFile } from 'node:child_process';
import { cp, mkdir, readdir, symlink } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';

const root = path.join(import.meta.dirname, '..', '..');
const program = path.join('interfaces', 'cli', 'gateway.mjs');

/**
 * Builds the package and lays it into a folder as `npm install` does: below `node_modules`, beside the packages that it
 * imports. Gives the path of its program.
 */
export async function layOutPackage(folder: string): Promise<string> {
  const modules = path.join(folder, 'node_modules');
  const installed = path.join(modules, 'model-gateway');
  const script = path.join(installed, program);
  await mkdir(path.dirname(script), { recursive: true });
  for (const name of await readdir(path.join(root, 'node_modules')))
    await symlink(path.join(root, 'node_modules', name), path.join(modules, name));
  await cp(path.join(root, program), script);
  await promisify(execFile)(process.execPath, [
    path.join(root, 'tools', 'package', 'build.ts'),
    path.join(installed, 'dist'),
  ]);
  return script;
}

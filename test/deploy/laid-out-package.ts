import { cp, mkdir, readdir, symlink } from 'node:fs/promises';
import path from 'node:path';
import { fileOf, ran } from './files.ts';

const program = path.join('interfaces', 'cli', 'gateway.mjs');

/**
 * Builds the package and puts it into a folder as `npm install` does: below `node_modules`, beside the
 * packages that it imports. Returns the path of its program; throws if the build prints anything.
 */
export async function layOutPackage(folder: string): Promise<string> {
  const modules = path.join(folder, 'node_modules');
  const installed = path.join(modules, 'model-gateway');
  const script = path.join(installed, program);
  await mkdir(path.dirname(script), { recursive: true });
  for (const name of await readdir(fileOf('node_modules')))
    await symlink(fileOf(`node_modules/${name}`), path.join(modules, name));
  await cp(fileOf(program), script);
  const { code, out, err } = ran(process.execPath, [
    fileOf('tools/package/build.ts'),
    path.join(installed, 'dist'),
  ]);
  if (code !== 0 || out !== '' || err !== '') throw new Error(`the build ended with ${code}: ${out}${err}`);
  return script;
}

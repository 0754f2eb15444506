#!/usr/bin/env node
// Plain JavaScript, so that an older Node prints a sentence instead of a syntax error.
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
if (major < 24 || (major === 24 && minor < 9)) {
  process.stderr.write(
    `This needs Node 24.9 or newer, and this is ${process.versions.node}. npm installs one, unless told to leave out ` +
      'optional packages: `npm start` and `npx gateway …` use it.\n',
  );
  process.exit(1);
}
// `node:http` has these as getters that load all of Node's own `fetch`, and an `import` of the module reads each of
// them. That costs an idle worker 3 MiB for something that nothing uses.
for (const name of ['CloseEvent', 'MessageEvent', 'WebSocket'])
  delete process.getBuiltinModule('node:http')[name];
const { existsSync } = await import('node:fs');
const { enableCompileCache } = await import('node:module');
const { default: cluster } = await import('node:cluster');
// A clone runs its sources; a package runs what was built from them, because Node strips no types below node_modules.
const isClone = existsSync(new URL('../../main.ts', import.meta.url));
// The memory of a compile cache outweighs the startup time that it saves: a packaged worker would hold it for as long
// as it serves.
if (isClone || cluster.isPrimary) enableCompileCache();
const built = '../../dist';
const [command] = process.argv.slice(2);
const serves = command === 'serve' || command === 'quickstart';
// By default, SIGUSR1 makes Node open a debugger to everybody on the machine and SIGUSR2 ends it, and log rotation
// sends both. SIGHUP ends it too, until the code below listens for it: the file has not been read by then, so there is
// nothing to reload.
if (serves) for (const signal of ['SIGHUP', 'SIGUSR1', 'SIGUSR2']) process.on(signal, () => undefined);
// A serving process may die, for lack of memory too. A supervisor that holds nothing watches over it.
if (cluster.isPrimary && serves) {
  const { supervise } = isClone
    ? await import('../../composition/supervise.ts')
    : await import(`${built}/composition/supervise.js`);
  process.exit(await supervise());
} else {
  const { main } = isClone ? await import('../../main.ts') : await import(`${built}/main.js`);
  await main(process.argv.slice(2));
}

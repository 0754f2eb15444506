#!/usr/bin/env node
// Plain JavaScript, so that an older Node gets a sentence instead of a syntax error.
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
if (major < 24 || (major === 24 && minor < 9)) {
  process.stderr.write(
    `This needs Node 24.9 or newer, and this is ${process.versions.node}. The project brings its own: ` +
      'start it with `npm start` or `npx gateway …`, which use it.\n',
  );
  process.exit(1);
}
// `node:http` has these by getters that load all of Node's own `fetch`, and an `import` of it reads each: 3 MiB of an idle
// worker, for what nothing asks `node:http` for.
for (const name of ['CloseEvent', 'MessageEvent', 'WebSocket'])
  delete process.getBuiltinModule('node:http')[name];
const { existsSync } = await import('node:fs');
const { enableCompileCache } = await import('node:module');
const { default: cluster } = await import('node:cluster');
// A clone runs its sources, a package what was built of them: below node_modules Node strips no types.
const isClone = existsSync(new URL('../../main.ts', import.meta.url));
// What a cache saves a worker of the package at its start, it takes in memory for as long as that worker serves.
if (isClone || cluster.isPrimary) enableCompileCache();
const built = '../../dist';
const [command] = process.argv.slice(2);
const serves = command === 'serve' || command === 'quickstart';
// At SIGUSR1 Node opens a debugger to everybody on the machine, and at SIGUSR2 it ends; who rotates logs sends them. At
// SIGHUP it ends, too, until what follows listens for it: the file has not been read by then, so there is nothing to do.
if (serves) for (const signal of ['SIGHUP', 'SIGUSR1', 'SIGUSR2']) process.on(signal, () => undefined);
// A process that serves may die, of its memory too: one that holds nothing watches over it.
if (cluster.isPrimary && serves) {
  const { supervise } = isClone
    ? await import('../../composition/supervise.ts')
    : await import(`${built}/composition/supervise.js`);
  process.exit(await supervise());
} else {
  const { main } = isClone ? await import('../../main.ts') : await import(`${built}/main.js`);
  await main(process.argv.slice(2));
}

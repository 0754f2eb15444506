#!/usr/bin/env -S node --max-semi-space-size=64
// A young generation of 64 MB: requests live for milliseconds to seconds, and a small one copies them again and again.
// Plain JavaScript, so that an older Node gets a sentence instead of a syntax error.
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
if (major < 24 || (major === 24 && minor < 9)) {
  process.stderr.write(
    `This needs Node 24.9 or newer, and this is ${process.versions.node}. The project brings its own: ` +
      'start it with `npm start` or `npx gateway …`, which use it.\n',
  );
  process.exit(1);
}
const { enableCompileCache } = await import('node:module');
enableCompileCache();
const { default: cluster } = await import('node:cluster');
const [command] = process.argv.slice(2);
// A process that serves may die, of its memory too: one that holds nothing watches over it.
if (cluster.isPrimary && (command === 'serve' || command === 'quickstart')) {
  const { supervise } = await import('../../composition/supervise.ts');
  process.exit(await supervise());
} else {
  const { main } = await import('../../main.ts');
  await main(process.argv.slice(2));
}

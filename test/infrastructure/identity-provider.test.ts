import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, it } from '@jest/globals';

const run = promisify(execFile);
const { href: source } = new URL('../../infrastructure/sign-in/identity-provider.ts', import.meta.url);

/** Calls the provider when no more files can be opened, and again when they can. */
const program = `
  import { closeSync, openSync } from 'node:fs';
  import { identityProvider } from '${source}';
  const oidc = { issuer: 'http://127.0.0.1:1', clientId: 'c', clientSecret: 's', scopes: [] };
  const provider = identityProvider(oidc, 'http://127.0.0.1:1/back');
  const answer = () => provider.endSessionUrl().then(() => 'asked', (error) => error.code);
  const taken = [];
  try {
    for (;;) taken.push(openSync('/dev/null'));
  } catch {}
  const first = await answer();
  for (const each of taken) closeSync(each);
  console.log(first, await answer());
`;

it('a provider whose library could not be loaded because of too many open files works once files are closed', async () => {
  const shell = ['-c', 'ulimit -n 100; exec "$0" --input-type=module -e "$1"', process.execPath, program];
  expect((await run('sh', shell)).stdout).toBe('EMFILE asked\n');
});

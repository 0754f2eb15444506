import { createPrivateKey } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { type LoadedConfig, loadConfig } from '../../infrastructure/config/load.ts';
import type { ConfigProblem } from '../../infrastructure/config/problem.ts';
import { tlsWarnings, tlsProblems } from '../../infrastructure/config/tls-files.ts';
import { selfSigned } from '../support/self-signed.ts';
import { makeTestFolder } from '../support/test-server.ts';

const own = selfSigned();
const other = selfSigned();
const torn = '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n';
const locked = createPrivateKey(own.key)
  .export({ type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc', passphrase: 'unknown' })
  .toString();
let folder = '';
beforeAll(async () => {
  folder = await makeTestFolder('tls-files');
});

const at = (name: string): string => path.join(folder, name);

async function loaded(section: string): Promise<LoadedConfig> {
  const file = at('gateway.yaml');
  await writeFile(
    file,
    `server:\n  admin_bind: 127.0.0.1:1\n  ${section}:\n    cert_file: ${at('cert')}\n    key_file: ${at('key')}\n`,
  );
  const read = await loadConfig(file, {});
  if (read._tag === 'Left') throw new Error(JSON.stringify(read.left));
  return read.right;
}

const shown = (problems: readonly ConfigProblem[]): readonly string[] =>
  problems.map((each) => `${each.line}: ${each.path}: ${each.message}`);

const problemsOf = async (section: string): Promise<readonly string[]> =>
  shown(await tlsProblems(await loaded(section)));

describe('the files of a certificate', () => {
  it.each(['tls', 'admin_tls'])('are accepted where the key matches the certificate: %s', async (section) => {
    await writeFile(at('cert'), own.cert + other.cert);
    await writeFile(at('key'), own.key);
    expect(await problemsOf(section)).toEqual([]);
  });

  it.each([
    ['no certificate', 'nothing', own.key, '4: server.tls.cert_file', 'does not begin with a certificate'],
    ['no key', own.cert, 'nothing', '5: server.tls.key_file', 'does not hold a private key'],
    ['a key with a passphrase', own.cert, locked, '5: server.tls.key_file', 'does not hold a private key'],
    [
      'the key of another certificate',
      own.cert,
      other.key,
      '5: server.tls.key_file',
      'is not the key of the certificate',
    ],
    ['a corrupt chain', own.cert + torn, own.key, '4: server.tls.cert_file', 'cannot be used for TLS'],
    ['the files swapped', own.key, own.cert, '4: server.tls.cert_file', 'does not begin with a certificate'],
  ])('are rejected with the configuration key and their path: %s', async (_, cert, key, place, why) => {
    await writeFile(at('cert'), cert);
    await writeFile(at('key'), key);
    const [problem, ...more] = await problemsOf('tls');
    expect([problem, more]).toEqual([expect.stringContaining(`${place}: ${folder}`), []]);
    expect(problem).toContain(why);
    expect(problem).not.toContain('PRIVATE');
  });
});

describe('a certificate that clients reject now or soon', () => {
  const days = 24 * 60 * 60 * 1000;

  it.each([
    ['that has expired', 2, 'has expired at 20'],
    ['that is not valid yet', -2, 'is not valid before 20'],
    ['that expires soon', 0.75, 'expires soon, at 20'],
  ])('causes a warning: one %s', async (_, ahead, why) => {
    await writeFile(at('cert'), own.cert);
    await writeFile(at('key'), own.key);
    const config = await loaded('admin_tls');
    const [note, ...more] = shown(await tlsWarnings(config, Date.now() + ahead * days));
    expect([note, more]).toEqual([
      expect.stringContaining(`4: server.admin_tls.cert_file: ${at('cert')} ${why}`),
      [],
    ]);
    expect(await tlsWarnings(config, Date.now())).toEqual([]);
  });
});

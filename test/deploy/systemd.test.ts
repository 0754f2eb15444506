import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from '@jest/globals';
import * as E from 'fp-ts/lib/Either.js';
import { parseConfig } from '../../infrastructure/config/load.ts';
import { makeTestFolder } from '../support/test-server.ts';
import { ran, textOf } from './files.ts';
import { itWith } from './it-with.ts';

const unit = textOf('deploy/systemd/model-gateway.service');

/** The values of a key, in their order. */
const valuesOf = (key: string): readonly string[] =>
  unit.split('\n').flatMap((line) => (line.startsWith(`${key}=`) ? [line.slice(key.length + 1)] : []));

describe('the systemd unit', () => {
  it('leaves the gateway the time that its end takes: the grace and 25 seconds', () => {
    const loaded = parseConfig('models: []\n', {});
    const graceSecs = E.isRight(loaded) ? loaded.right.config.server.shutdownGraceSecs : Number.NaN;
    expect(valuesOf('TimeoutStopSec')).toEqual([String(graceSecs + 25)]);
    expect(valuesOf('KillSignal')).toEqual(['SIGTERM']);
  });

  it('starts the gateway itself, below no npm', () => {
    const { bin } = JSON.parse(textOf('package.json')) as { readonly bin: { readonly gateway: string } };
    expect(valuesOf('ExecStart')).toEqual([
      `/opt/model-gateway/node_modules/.bin/node node_modules/model-gateway/${bin.gateway} serve`,
    ]);
  });

  it('is started again for as long as its database is away', () => {
    expect(valuesOf('Restart')).toEqual(['on-failure']);
    expect(valuesOf('StartLimitIntervalSec')).toEqual(['0']);
  });

  it('is reloaded by what every system has', () => {
    expect(valuesOf('ExecReload')).toEqual([`/bin/sh -c 'kill -HUP $MAINPID'`]);
  });

  it('goes on when one of its workers runs out of memory', () => {
    expect(valuesOf('OOMPolicy')).toEqual(['continue']);
  });

  it('loses no line of its log, however many there are', () => {
    expect(valuesOf('LogRateLimitIntervalSec')).toEqual(['0']);
  });

  it('keeps the journal where systemd lets it write', () => {
    expect(valuesOf('StateDirectory')).toEqual(['model-gateway']);
    expect(valuesOf('Environment')).toContain('GATEWAY_DATA_DIR=/var/lib/model-gateway');
  });

  /** The unit with a Node that is there, in a file of its own. */
  async function unitFile(): Promise<string> {
    const file = path.join(await makeTestFolder('systemd'), 'model-gateway.service');
    await writeFile(file, unit.replace('/opt/model-gateway/node_modules/.bin/node', process.execPath));
    return file;
  }

  itWith('systemd-analyze', 'is one that systemd takes without a word', async () => {
    expect(ran('systemd-analyze', ['verify', '--man=no', await unitFile()])).toEqual({
      code: 0,
      out: '',
      err: '',
    });
  });

  itWith('systemd-analyze', 'is little exposed, as systemd reckons it: at most 2.0 of 10', async () => {
    const { code, out, err } = ran('systemd-analyze', [
      'security',
      '--offline=true',
      '--no-pager',
      '--threshold=20',
      await unitFile(),
    ]);
    expect({ code, said: code === 0 ? '' : out + err }).toEqual({ code: 0, said: '' });
  });
});

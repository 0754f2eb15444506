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
  it('has a stop timeout of the default grace plus 25 seconds, and stops with SIGTERM', () => {
    const loaded = parseConfig('models: []\n', {});
    const graceSecs = E.isRight(loaded) ? loaded.right.config.server.shutdownGraceSecs : Number.NaN;
    expect(valuesOf('TimeoutStopSec')).toEqual([String(graceSecs + 25)]);
    expect(valuesOf('KillSignal')).toEqual(['SIGTERM']);
  });

  it('starts the gateway directly with Node, without npm', () => {
    const { bin } = JSON.parse(textOf('package.json')) as { readonly bin: { readonly gateway: string } };
    expect(valuesOf('ExecStart')).toEqual([
      `/opt/model-gateway/node_modules/.bin/node node_modules/model-gateway/${bin.gateway} serve`,
    ]);
  });

  it('is restarted on failure, with no limit on the number of starts', () => {
    expect(valuesOf('Restart')).toEqual(['on-failure']);
    expect(valuesOf('StartLimitIntervalSec')).toEqual(['0']);
  });

  it('sends SIGHUP to its main process on a reload', () => {
    expect(valuesOf('ExecReload')).toEqual([`/bin/sh -c 'kill -HUP $MAINPID'`]);
  });

  it('continues if the kernel kills one of its processes for lack of memory', () => {
    expect(valuesOf('OOMPolicy')).toEqual(['continue']);
  });

  it('has no rate limit on log lines', () => {
    expect(valuesOf('LogRateLimitIntervalSec')).toEqual(['0']);
  });

  it('keeps the journal in the state directory of systemd', () => {
    expect(valuesOf('StateDirectory')).toEqual(['model-gateway']);
    expect(valuesOf('Environment')).toContain('GATEWAY_DATA_DIR=/var/lib/model-gateway');
  });

  /** Writes the unit into a file, with the path of the present Node. */
  async function unitFile(): Promise<string> {
    const file = path.join(await makeTestFolder('systemd'), 'model-gateway.service');
    await writeFile(file, unit.replace('/opt/model-gateway/node_modules/.bin/node', process.execPath));
    return file;
  }

  itWith('systemd-analyze', 'is accepted by `systemd-analyze verify` without output', async () => {
    expect(ran('systemd-analyze', ['verify', '--man=no', await unitFile()])).toEqual({
      code: 0,
      out: '',
      err: '',
    });
  });

  itWith('systemd-analyze', 'has an exposure of at most 2.0 in `systemd-analyze security`', async () => {
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

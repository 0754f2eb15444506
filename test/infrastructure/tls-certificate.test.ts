import { X509Certificate } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { beforeEach, describe, expect, it } from '@jest/globals';
import type { TlsConfig } from '../../infrastructure/config/listener-config.ts';
import { type Certificate, certificateOf } from '../../infrastructure/tls-certificate.ts';
import { memoryLog } from '../support/gateway.ts';
import { renewedFor, selfSigned } from '../support/self-signed.ts';
import { makeTestFolder } from '../support/test-server.ts';

const [first, second, third] = [selfSigned(), selfSigned(), selfSigned()];
const refused = 'the certificate was refused, and the old one stays';
let settings: TlsConfig | undefined;
let files: Pick<TlsConfig, 'certFile' | 'keyFile'>;
let log: ReturnType<typeof memoryLog>;
let shown: string[];
let certificate: Certificate;

const write = async (cert: string, key: string): Promise<void> => {
  await writeFile(files.certFile, cert);
  await writeFile(files.keyFile, key);
};
const told = () => log.lines.map(({ level, message, fields }) => [level, message, fields['problem']]);

beforeEach(async () => {
  const folder = await makeTestFolder('certificate');
  files = { certFile: path.join(folder, 'cert'), keyFile: path.join(folder, 'key') };
  settings = { ...files, minVersion: 'TLSv1.2' };
  await write(first.cert, first.key);
  log = memoryLog();
  shown = [];
  const made = await certificateOf('tls', () => settings, log);
  if (made === undefined) throw new Error('there is none');
  made.follow(({ cert, minVersion }) => void shown.push(`${minVersion} ${cert}`));
  certificate = made;
});

describe('a changed pair of files', () => {
  it('is taken up once, and told of', async () => {
    await certificate.look();
    expect([shown, told()]).toEqual([[], []]);
    await write(second.cert, second.key);
    await certificate.look();
    await certificate.look();
    expect(shown).toEqual([`TLSv1.2 ${second.cert}`]);
    expect(told()).toEqual([['info', 'the certificate was reloaded', undefined]]);
  });

  it('is another one when the certificate was renewed for the same key', async () => {
    const renewed = renewedFor(first.key);
    await write(renewed.cert, renewed.key);
    await certificate.look();
    expect(shown).toEqual([`TLSv1.2 ${renewed.cert}`]);
  });

  it('that is not whole yet at one look is taken up at the next, and nothing is told of it', async () => {
    await write(second.cert, first.key);
    await certificate.look();
    await write(second.cert, second.key);
    await certificate.look();
    expect(shown).toEqual([`TLSv1.2 ${second.cert}`]);
    expect(told()).toEqual([['info', 'the certificate was reloaded', undefined]]);
  });

  it('that is not fit at two looks with a whole one between them is not told of', async () => {
    for (const key of [third.key, second.key, third.key]) {
      await write(second.cert, key);
      await certificate.look();
    }
    expect(told()).toEqual([['info', 'the certificate was reloaded', undefined]]);
  });

  it('that is not fit is told of once, at the second look, and again when it is another fault', async () => {
    await write(second.cert, third.key);
    for (let look = 0; look < 4; look += 1) await certificate.look();
    await write('', third.key);
    for (let look = 0; look < 3; look += 1) await certificate.look();
    expect(told()).toEqual([
      ['error', refused, expect.stringContaining('is not the key of the certificate')],
      ['error', refused, expect.stringContaining('does not begin with a certificate')],
    ]);
    expect([shown, certificate.files().cert]).toEqual([[], first.cert]);
  });

  it('that has the same fault again after it was whole is told of again', async () => {
    for (const key of [third.key, third.key, second.key, third.key, third.key]) {
      await write(second.cert, key);
      await certificate.look();
    }
    const fault = ['error', refused, expect.stringContaining('is not the key of the certificate')];
    expect(told()).toEqual([fault, ['info', 'the certificate was reloaded', undefined], fault]);
  });
});

describe('the settings of a certificate', () => {
  it('that name other files or another version count at the next look', async () => {
    settings = { ...files, minVersion: 'TLSv1.3' };
    await certificate.look();
    expect(shown).toEqual([`TLSv1.3 ${first.cert}`]);
  });

  it('that are gone leave what they named', async () => {
    settings = undefined;
    await write(second.cert, second.key);
    await certificate.look();
    expect(shown).toEqual([`TLSv1.2 ${second.cert}`]);
  });

  it('that are not there are none; a first pair that is not fit is an error with its key', async () => {
    expect(await certificateOf('tls', () => undefined, log)).toBeUndefined();
    await write(first.cert, third.key);
    await expect(certificateOf('admin_tls', () => settings, log)).rejects.toThrow(
      `server.admin_tls.key_file: ${files.keyFile} is not the key`,
    );
  });
});

describe('a certificate whose time ends', () => {
  it('is told of once a day with a third of its time left, and as soon as it is over', async () => {
    const hour = 60 * 60 * 1000;
    const beganAt = Date.now();
    let now = beganAt;
    const made = await certificateOf(
      'tls',
      () => settings,
      log,
      () => now,
    );
    const end = new X509Certificate(first.cert).validToDate;
    const told = () => log.lines.map(({ level, message, fields }) => [level, message, fields]);
    // It is good for two days, of which one is left.
    await made?.look();
    expect(told()).toEqual([]);
    const about = { section: 'server.tls', at: end.toISOString() };
    const soon = ['warn', 'the certificate expires soon', about];
    for (const later of [9, 10, 20]) {
      now = beganAt + later * hour;
      await made?.look();
    }
    expect(told()).toEqual([soon]);
    now = end.getTime() + 1;
    await made?.look();
    await made?.look();
    const over = ['error', 'the certificate has expired: clients refuse it', about];
    expect(told()).toEqual([soon, over]);
    now += 24 * hour;
    await made?.look();
    expect(told()).toEqual([soon, over, over]);
  });
});

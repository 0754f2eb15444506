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

describe('a changed pair of certificate and key', () => {
  it('is loaded once, and logged', async () => {
    await certificate.look();
    expect([shown, told()]).toEqual([[], []]);
    await write(second.cert, second.key);
    await certificate.look();
    await certificate.look();
    expect(shown).toEqual([`TLSv1.2 ${second.cert}`]);
    expect(told()).toEqual([['info', 'the certificate was reloaded', undefined]]);
  });

  it('is loaded where the certificate was renewed for the same key', async () => {
    const renewed = renewedFor(first.key);
    await write(renewed.cert, renewed.key);
    await certificate.look();
    expect(shown).toEqual([`TLSv1.2 ${renewed.cert}`]);
  });

  it('is loaded at the next check where it does not match yet at one, and no fault is logged', async () => {
    await write(second.cert, first.key);
    await certificate.look();
    await write(second.cert, second.key);
    await certificate.look();
    expect(shown).toEqual([`TLSv1.2 ${second.cert}`]);
    expect(told()).toEqual([['info', 'the certificate was reloaded', undefined]]);
  });

  it('is not logged as a fault where it is unusable at two checks with a usable one in between', async () => {
    for (const key of [third.key, second.key, third.key]) {
      await write(second.cert, key);
      await certificate.look();
    }
    expect(told()).toEqual([['info', 'the certificate was reloaded', undefined]]);
  });

  it('is logged once where it is unusable, at the second check, and again for another fault', async () => {
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

  it('is logged again where it has the same fault again after it was usable', async () => {
    for (const key of [third.key, third.key, second.key, third.key, third.key]) {
      await write(second.cert, key);
      await certificate.look();
    }
    const fault = ['error', refused, expect.stringContaining('is not the key of the certificate')];
    expect(told()).toEqual([fault, ['info', 'the certificate was reloaded', undefined], fault]);
  });
});

describe('the settings of a certificate', () => {
  it('apply another TLS version at the next check', async () => {
    settings = { ...files, minVersion: 'TLSv1.3' };
    await certificate.look();
    expect(shown).toEqual([`TLSv1.3 ${first.cert}`]);
  });

  it('do not end the reload of the files that they named when they are removed', async () => {
    settings = undefined;
    await write(second.cert, second.key);
    await certificate.look();
    expect(shown).toEqual([`TLSv1.2 ${second.cert}`]);
  });

  it('give no certificate where they are absent, and an error with the key where the first pair is unusable', async () => {
    expect(await certificateOf('tls', () => undefined, log)).toBeUndefined();
    await write(first.cert, third.key);
    await expect(certificateOf('admin_tls', () => settings, log)).rejects.toThrow(
      `server.admin_tls.key_file: ${files.keyFile} is not the key`,
    );
  });
});

describe('a certificate that is about to expire', () => {
  it('is logged once a day when a third of its lifetime is left, and as soon as it has expired', async () => {
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
    // It is valid for two days, of which one is left.
    await made?.look();
    now = beganAt + 7 * hour;
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
    now += 24 * hour - 1;
    await made?.look();
    expect(told()).toEqual([soon, over]);
    now += 1;
    await made?.look();
    expect(told()).toEqual([soon, over, over]);
  });

  it('is logged at the start, also if it is not yet valid, and again if the one that replaces it expires soon', async () => {
    const { validFromDate: begin, validToDate: end } = new X509Certificate(first.cert);
    let now = begin.getTime() - 1;
    const made = await certificateOf(
      'tls',
      () => settings,
      log,
      () => now,
    );
    const early = ['error', 'the certificate is not valid yet: clients refuse it', undefined];
    expect(told()).toEqual([early]);
    now = end.getTime() - 1;
    await made?.look();
    const soon = ['warn', 'the certificate expires soon', undefined];
    expect(told()).toEqual([early, soon]);
    await write(second.cert, second.key);
    await made?.look();
    await made?.look();
    expect(told()).toEqual([early, soon, ['info', 'the certificate was reloaded', undefined], soon]);
  });
});

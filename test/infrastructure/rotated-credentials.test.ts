import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import { signingCredentials } from '../../infrastructure/providers/auth/aws-credentials.ts';
import { eventually } from '../e2e/traces.ts';
import { recordedContext } from '../support/credential-context.ts';

const before = { ...process.env };
let folder: string;
let file: string;

const { context, warnings, concealed, forget } = recordedContext();

beforeEach(async () => {
  forget();
  folder = await mkdtemp(path.join(tmpdir(), 'rotated-credentials-'));
  file = path.join(folder, 'credentials');
  for (const name of Object.keys(process.env)) if (name.startsWith('AWS_')) delete process.env[name];
  Object.assign(process.env, {
    AWS_EC2_METADATA_DISABLED: 'true',
    AWS_CONFIG_FILE: '/nowhere',
    AWS_SHARED_CREDENTIALS_FILE: file,
  });
});
afterEach(async () => {
  jest.restoreAllMocks();
  for (const name of Object.keys(process.env)) if (name.startsWith('AWS_')) delete process.env[name];
  for (const [name, value] of Object.entries(before)) if (name.startsWith('AWS_')) process.env[name] = value;
  await rm(folder, { recursive: true });
});

const rotate = (key: string): Promise<void> =>
  writeFile(file, `[default]\naws_access_key_id = ${key}\naws_secret_access_key = secret-of-${key}\n`);

const minute = 60_000;

it('a credentials file is read again after five minutes, and its credentials are used until that has worked', async () => {
  await rotate('AKIAOLD');
  const began = Date.now();
  const now = jest.spyOn(Date, 'now').mockReturnValue(began);
  const credentials = signingCredentials({ mode: 'default_chain' }, 'eu-west-1', context);
  const old = { accessKeyId: 'AKIAOLD', secretAccessKey: 'secret-of-AKIAOLD' };
  expect(await credentials.current()).toMatchObject({ right: old });

  await rm(file);
  now.mockReturnValue(began + 4 * minute);
  expect(credentials.current()).toEqual(old);
  now.mockReturnValue(began + 6 * minute);
  expect(credentials.current()).toEqual(old);
  await eventually(async () => warnings.length > 0 || undefined);
  expect(warnings).toEqual([
    'the signing credentials could not be renewed: the default chain found no credentials (CredentialsProviderError); the present one stays in use',
  ]);

  await rotate('AKIANEW');
  now.mockReturnValue(began + 7 * minute);
  expect(credentials.current()).toEqual(old);
  await eventually(async () => concealed.includes('secret-of-AKIANEW') || undefined);
  expect(await credentials.current()).toEqual({
    accessKeyId: 'AKIANEW',
    secretAccessKey: 'secret-of-AKIANEW',
  });
});

it('a web identity token that cannot be read is reported with the code of the system, without its path', async () => {
  Object.assign(process.env, {
    AWS_ROLE_ARN: 'arn:aws:iam::123456789012:role/gateway',
    AWS_WEB_IDENTITY_TOKEN_FILE: path.join(folder, 'token'),
  });
  await signingCredentials({ mode: 'default_chain' }, 'eu-west-1', context).current();
  expect(warnings).toEqual([
    'the signing credentials could not be renewed: the default chain found no credentials (ENOENT)',
  ]);
});

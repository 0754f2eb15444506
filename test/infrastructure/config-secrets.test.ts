import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import type { Json } from '../../domain/shared/json.ts';
import type { Variables } from '../../infrastructure/config/interpolation.ts';
import { type LoadedConfig, parseConfig } from '../../infrastructure/config/load.ts';
import { resolvePersisted, samePersisted } from '../../infrastructure/config/persistable.ts';
import { problemsOf, provider } from './config-reading.ts';

const none = { variables: {}, files: new Map<string, never>() };

function load(file: object, variables: Variables = {}): LoadedConfig {
  // JSON is YAML.
  const loaded = parseConfig(JSON.stringify(file), variables);
  if (loaded._tag === 'Left') throw new Error(JSON.stringify(loaded.left, null, 2));
  return loaded.right;
}

/** A file with a secret in every place that can have one; `secret(n)` is the text in place n. */
const fileWith = (secret: (place: number) => string) => ({
  providers: [
    { id: 'bearer', type: 'compat', base_url: 'http://h', auth: { mode: 'bearer', token: secret(0) } },
    {
      id: 'header',
      type: 'compat',
      base_url: 'http://h',
      auth: { mode: 'header', name: 'x-any', value: secret(1) },
      default_headers: { 'X-Tenant-Key': secret(2), cookie: secret(3), 'x-plain': 'plain' },
    },
    {
      id: 'run',
      type: 'cloud_run_compat',
      base_url: 'https://h',
      auth: { mode: 'bearer', token: secret(4) },
    },
    { id: 'a', type: 'cloud_a_platform', project_id: 'p', auth: { mode: 'bearer', token: secret(5) } },
    {
      id: 'b',
      type: 'cloud_b_platform',
      region: 'us-east-1',
      auth: {
        mode: 'static_credentials',
        access_key_id: 'AKIA',
        secret_access_key: secret(6),
        session_token: secret(7),
      },
    },
  ],
  models: [
    {
      id: 'm',
      routes: [
        {
          provider: 'bearer',
          upstream_model: 'u',
          extra_headers: {
            'x-auth-token': secret(8),
            'x-client-secret': secret(9),
            'x-credential': secret(10),
          },
          extra_body: {
            token: secret(11),
            deep: [{ 'Access-Token': secret(12), refresh_token: secret(13), apiKey: secret(14) }],
            Client_secret: secret(15),
            credentials: { user: secret(16), list: [secret(17)] },
            Private_Key: secret(18),
            secret: secret(19),
            PASSWORD: secret(20),
            anthropic_api_key: secret(21),
            'anthropicApi-Key': secret(22),
            authorization_token: secret(23),
            plain: 'plain',
          },
        },
      ],
    },
  ],
});
const places = 24;

/** A secret that is too long to occur by chance, and valid in a header. */
const aSecret = fc.stringMatching(/^S[A-Za-z0-9]{15,30}$/);
const secrets = fc.array(aSecret, { minLength: places, maxLength: places });

const everywhere = ({ persistable }: LoadedConfig): readonly (readonly ['provider' | 'route', Json])[] => [
  ...persistable.providers.map(({ value }) => ['provider', value] as const),
  ...persistable.models.flatMap(({ routes }) => routes.map((value) => ['route', value] as const)),
];

describe('the persistable form of providers and routes', () => {
  it('never contains an inline secret', () => {
    fc.assert(
      fc.property(secrets, (written) => {
        const { persistable, inlineSecrets } = load(fileWith((place) => written[place]!));
        const text = JSON.stringify(persistable);
        return written.every((secret) => !text.includes(secret)) && inlineSecrets.length === places - 1;
      }),
    );
  });

  it('never contains the value of an environment variable, and keeps its placeholder', () => {
    fc.assert(
      fc.property(secrets, (values) => {
        const variables = Object.fromEntries(values.map((value, place) => [`V${place}`, value]));
        const loaded = load(
          fileWith((place) => `\${V${place}}`),
          variables,
        );
        const text = JSON.stringify(loaded.persistable);
        return (
          values.every((value) => !text.includes(value)) &&
          values.every((_, place) => text.includes(`\${V${place}}`)) &&
          loaded.inlineSecrets.length === 0
        );
      }),
    );
  });

  it('resolves to the same configuration in the same environment', () => {
    fc.assert(
      fc.property(secrets, (values) => {
        const variables = Object.fromEntries(values.map((value, place) => [`V${place}`, value]));
        const loaded = load(
          fileWith((place) => `\${V${place}}`),
          variables,
        );
        const { providers, models } = loaded.config;
        const expected = [...providers, ...models.flatMap(({ routes }) => routes)];
        const stored = everywhere(JSON.parse(JSON.stringify(loaded)) as LoadedConfig);
        expect(
          stored.map(([kind, value]) => resolvePersisted(kind, value, { variables, files: new Map() })),
        ).toEqual(expected.map((right) => ({ _tag: 'Right', right })));
      }),
      { numRuns: 20 },
    );
  });

  it('cannot be used by another replica when the secret is inline in the file', () => {
    for (const [kind, value] of everywhere(load(fileWith(() => 'SecretSecretSecret'))))
      expect(resolvePersisted(kind, value, none)).toEqual({
        _tag: 'Left',
        left: `this ${kind}'s secret is only in another replica's file`,
      });
  });

  it.each([
    ['Bearer ${T}', true],
    ['${T}', true],
    ['sk-${T}', false],
    ['$${T}', false],
    ['Bearer sk-1', false],
  ])('keeps the header value %j: %p', (value, kept) => {
    const file = {
      providers: [{ id: 'p', type: 'compat', base_url: 'http://h', default_headers: { 'x-api-key': value } }],
    };
    const { persistable } = load(file, { T: 'secret-value' });
    expect(persistable.providers[0]!.value).toMatchObject({
      default_headers: { 'x-api-key': kept ? value : '$inline' },
    });
  });

  it('is equal regardless of the order of keys', () => {
    expect(samePersisted({ a: 1, b: [{ c: 1, d: 2 }] }, { b: [{ d: 2, c: 1 }], a: 1 })).toBe(true);
    expect(samePersisted({ a: [1, 2] }, { a: [2, 1] })).toBe(false);
  });

  it('fails to resolve with the name of the missing variable or invalid key, without values', () => {
    const provider = {
      id: 'p',
      type: 'compat',
      base_url: 'http://h',
      auth: { mode: 'bearer', token: '${T}' },
    };
    expect(resolvePersisted('provider', provider, none)).toEqual({
      _tag: 'Left',
      left: 'this provider cannot be used here: auth.token the environment variable T is not set',
    });
    const left = resolvePersisted('provider', provider, { ...none, variables: { T: 'has a blank' } });
    expect(left).toMatchObject({ _tag: 'Left', left: expect.stringContaining('auth.token must be a token') });
    expect(JSON.stringify(left)).not.toContain('has a blank');
    expect(resolvePersisted('route', null, none)).toMatchObject({ _tag: 'Left' });
  });
});

describe('secrets outside providers and routes', () => {
  it('are listed as inline secrets when they are in the file, and not when they are placeholders', () => {
    const file = (password: string, key: string, url: string) => ({
      database: { url },
      mail: { from: 'a@x.org', smtp: { host: 'h', username: 'u', password } },
      teams: [{ id: 't' }],
      api_keys: [{ name: 'k', owner: 'team:t', value: key }],
    });
    const key = `gwk_public00.${'s'.repeat(32)}`;
    const inline = load(file('hunter2', key, 'postgres://u:p@h/db')).inlineSecrets;
    expect(inline).toEqual([
      ['database', 'url'],
      ['mail', 'smtp', 'password'],
      ['api_keys', 0, 'value'],
    ]);
    const variables = { P: 'hunter2', K: key, S: 's'.repeat(32) };
    expect(load(file('${P}', '${K}', 'postgres://u:${P}@h/db'), variables).inlineSecrets).toEqual([]);
    expect(load(file('${P}', 'gwk_public00.${S}', 'postgres://h/db'), variables).inlineSecrets).toEqual([]);
  });
});

describe('a variable in upstream headers or bodies', () => {
  const variables = {
    TENANT: 'tenant-value',
    ROUTE: 'route-value',
    BODY: 'body-value',
    MODEL: 'model-value',
  };
  const loaded = load(
    {
      providers: [
        {
          id: 'p',
          type: 'compat',
          base_url: 'http://h',
          default_headers: { 'x-tenant': 'id ${TENANT} of $${X}' },
        },
      ],
      models: [
        {
          id: 'm',
          routes: [
            {
              provider: 'p',
              upstream_model: '${MODEL}',
              extra_headers: { 'x-route': '${ROUTE}', 'x-plain': 'plain-value' },
              extra_body: { deep: [{ any: '${BODY}' }], plain: 'plain-value' },
            },
          ],
        },
      ],
    },
    variables,
  );

  it('is a credential, regardless of the name of its header or key', () => {
    expect(loaded.credentials).toEqual(expect.arrayContaining(['tenant-value', 'route-value', 'body-value']));
  });

  it('is a credential, unlike a variable in another place and a literal text', () => {
    expect(loaded.credentials).not.toContain('model-value');
    expect(loaded.credentials).not.toContain('plain-value');
  });
});

describe('a message of a problem', () => {
  it('never contains a secret, even an invalid one', () => {
    fc.assert(
      fc.property(secrets, fc.constantFrom(' ', '\n', '\u0000', '\u{1f512}'), (written, wrong) => {
        const loaded = parseConfig(JSON.stringify(fileWith((place) => `${written[place]!}${wrong}x`)), {});
        const text = JSON.stringify(loaded._tag === 'Left' ? loaded.left : []);
        return loaded._tag === 'Left' && written.every((secret) => !text.includes(secret));
      }),
    );
  });
});

describe('a problem of the configuration', () => {
  it.each<[string, string, string, RegExp]>([
    [
      'a token without a blank before it',
      provider('    auth: {mode: bearer, token:hunter2-secret}\n'),
      'providers[0].auth["token…"]',
      /^unknown key `token…`, did you mean `token`\?$/,
    ],
    [
      'an assignment',
      'mail:\n  SMTP_PASSWORD=hunter2-secret: x\n',
      'mail["SMTP_PASSWORD…"]',
      /^unknown key `SMTP_PASSWORD…`/,
    ],
    [
      'a header on one line',
      provider('    default_headers: {"authorization Bearer hunter2-secret": ""}\n'),
      'providers[0].default_headers["authorization…"]',
      /^is no valid header name$/,
    ],
    [
      'a long text',
      `server: {${'x'.repeat(64)}hunter2-secret: 1}`,
      `server["${'x'.repeat(64)}…"]`,
      /x{64}…`/,
    ],
    ['a duplicate key', 'a:hunter2-secret: 1\na:hunter2-secret: 2\n', '', /^the key `a…` is there/],
  ])('does not show a secret in the place of a key: %s', (_, text, at, message) => {
    const problems = problemsOf(text);
    expect(problems).toContainEqual(
      expect.objectContaining({ path: at, message: expect.stringMatching(message) }),
    );
    expect(JSON.stringify(problems)).not.toContain('hunter2');
  });
});

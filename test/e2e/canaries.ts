import { randomBytes } from 'node:crypto';
import type { ProviderKind } from '../../domain/routing/model.ts';
import { basicConfig, type ConfigFile } from '../support/gateway.ts';

/** The planted secrets, which must not be found anywhere afterwards, by the place of each. */
export const planted = new Map<string, string>();

const coreChars = 22;

/** The prefixes of canaries: letters that rarely occur together, and hex digits for places that allow hex only. */
const [anywhere, inHex] = ['knry', 'caca'];

/** A canary of letters and digits, which JSON and URLs do not escape. */
export const canary = (place: string): string => plantedAs(place, anywhere);

function plantedAs(place: string, beginning: string): string {
  const core = `${beginning}${randomBytes(9).toString('hex')}`;
  planted.set(`${place} #${planted.size}`, core);
  return core;
}

/** A canary among characters that JSON and URLs escape. */
export const odd = (place: string): string => `"${canary(place)}/+\\=%&é<`;
/** The same with characters that a header or a token may have. */
const oddToken = (place: string): string => `t-"${canary(place)}/+\\=%&<'`;

/** Texts that must be stored beside the canaries: they show that the search covers what is stored. */
export const staying = new Set<string>();

/** A text that must be stored, except in answers and errors, where it may be split or reworded. */
export function plain(place = 'body'): string {
  const text = `plain${randomBytes(9).toString('hex')}`;
  if (!/answer|stream|error text/.test(place)) staying.add(text);
  return text;
}

export const ownKey = `gwk_${randomBytes(8).toString('hex')}.${canary('a caller’s own key')}-"\\/+%=&${'x'.repeat(20)}`;
export const otherKey = `gwk_${randomBytes(16).toString('hex')}.${canary('another caller’s key')}${randomBytes(8).toString('hex')}`;
export const ownSecret = ownKey.slice(ownKey.indexOf('.') + 1);
/** A token of an admin, which callers never need. */
export const adminToken = `gwa_${randomBytes(16).toString('hex')}.${plantedAs('an admin’s token', inHex)}${randomBytes(21).toString('hex')}`;
/** A key whose secret is valid as the value and as the key of a tag. */
export const plainKey = `gwk_${randomBytes(8).toString('hex')}.${canary('a caller’s plain key')}${'y'.repeat(10)}`;
export const plainSecret = plainKey.slice(plainKey.indexOf('.') + 1);

/** Every credential of the configuration file, by its place. */
export const credentials = {
  bearer: oddToken('bearer token of compat'),
  header: `h ${oddToken('header value of compat')}`,
  defaultHeader: oddToken('default header'),
  routeHeader: oddToken('route header'),
  extraBody: odd('extra_body'),
  extraBodyDeep: odd('extra_body, nested'),
  extraBodyMcp: odd('authorization in extra_body'),
  cloudRun: oddToken('bearer token of cloud_run_compat'),
  cloudA: oddToken('bearer token of cloud_a_platform'),
  secretAccessKey: oddToken('secret_access_key of cloud_b_platform'),
  sessionToken: oddToken('session_token of cloud_b_platform'),
  smtp: odd('smtp password'),
};

/** Providers of each kind by id, with every type of credential that the file accepts. */
const providersOf = {
  compat: {
    up: {
      auth: { mode: 'bearer', token: credentials.bearer },
      default_headers: { 'x-gateway-auth-token': credentials.defaultHeader },
    },
    headed: { auth: { mode: 'header', name: 'x-upstream-auth', value: credentials.header } },
  },
  cloud_run_compat: { run: { auth: { mode: 'bearer', token: credentials.cloudRun } } },
  cloud_a_platform: { a: { auth: { mode: 'bearer', token: credentials.cloudA } } },
  cloud_b_platform: {
    b: {
      auth: {
        mode: 'static_credentials',
        access_key_id: 'AKIDEXAMPLE',
        secret_access_key: credentials.secretAccessKey,
        session_token: credentials.sessionToken,
      },
    },
  },
} as const satisfies Record<ProviderKind, Readonly<Record<string, object>>>;

/** The address of each kind of provider; `url` is the base URL of a chat-style host. */
const placeOf: Readonly<Record<ProviderKind, (url: string) => object>> = {
  compat: (url) => ({ base_url: url }),
  cloud_run_compat: (url) => ({ base_url: url }),
  cloud_a_platform: (url) => ({ project_id: 'p', api_host: url.replace('/v1', '') }),
  cloud_b_platform: (url) => ({ region: 'us-east-1', runtime_endpoint_url: url.replace('/v1', '') }),
};

/** Further members of a route to a kind of provider. */
const routeTo: Readonly<Partial<Record<ProviderKind, object>>> = {
  cloud_a_platform: { upstream_model: 'google/m' },
  cloud_b_platform: {
    compatibility: { cloud_b: { api_style: 'runtime_unified' } },
    capabilities: { embeddings: false, json_schema: false, responses: false },
  },
};

const providers = (Object.keys(providersOf) as ProviderKind[]).flatMap((kind) =>
  Object.entries(providersOf[kind]).map(([id, members]) => ({ id, kind, members })),
);

const byProvider = providers.map(({ id, kind }) => ({
  id: `by-${id}`,
  routes: [{ provider: id, upstream_model: 'm', ...routeTo[kind] }],
}));

/** The models, one for each provider. */
export const modelsByProvider = byProvider.map(({ id }) => id);

/** All providers point to one upstream; every other place that accepts a credential has one, too. */
export const canaryConfig = (url: string, key: string, collectorUrl: string): ConfigFile =>
  basicConfig(url, key, {
    more: {
      server: {
        bind: '127.0.0.1:0',
        otel_endpoint: collectorUrl,
        otel_export_interval_secs: 1,
        otel_bespoke_tags: ['a'],
      },
      providers: providers.map(({ id, kind, members }) => ({
        id,
        type: kind,
        ...placeOf[kind](url),
        ...members,
      })),
      models: [
        {
          id: 'fast',
          routes: [
            {
              provider: 'up',
              upstream_model: 'simulated-fast',
              extra_headers: { 'x-route-secret': credentials.routeHeader },
              extra_body: {
                api_key: credentials.extraBody,
                options: { tools: [{ Client_Secret: { value: [credentials.extraBodyDeep] } }] },
                tools: [{ type: 'mcp', server_label: 'm', authorization: credentials.extraBodyMcp }],
              },
            },
          ],
        },
        ...byProvider,
      ],
      mail: {
        from: 'alerts@example.com',
        smtp: { host: '127.0.0.1', port: 9, username: 'mailer', password: credentials.smtp },
      },
      users: [{ email: 'a@example.com', name: 'A' }],
      api_keys: [ownKey, plainKey, otherKey, key].map((value, index) => ({
        name: `key ${index}`,
        owner: 'user:a@example.com',
        value,
      })),
    },
  });

/** How logs, shells, proxies and the JSON and URL libraries of common languages encode a text. */
export const spellings: readonly (readonly [name: string, spell: (text: string) => string])[] = [
  ['as it is', (text) => text],
  ['in JSON', (text) => JSON.stringify({ a: text })],
  ['in JSON in JSON', (text) => JSON.stringify(JSON.stringify([text]))],
  ['in JSON in JSON in JSON', (text) => JSON.stringify(JSON.stringify(JSON.stringify([text])))],
  ['with escaped slashes', (text) => JSON.stringify([text]).replaceAll('/', '\\/')],
  ['with every sign escaped', (text) => text.replace(/[^a-zA-Z0-9]/g, escaped)],
  ['with HTML signs escaped', (text) => JSON.stringify(text).replace(/[<>&']/g, escaped)],
  ['with escapes of ASCII', (text) => JSON.stringify(text).replace(/[^\0-\x7f]/g, escaped)],
  ['in a URL', (text) => encodeURIComponent(text)],
  [
    'in a URL, in lower case',
    (text) => encodeURIComponent(text).replace(/%../g, (each) => each.toLowerCase()),
  ],
  ['in a URL, slashes kept', (text) => encodeURIComponent(text).replaceAll('%2F', '/')],
  ['in JSON in a URL', (text) => encodeURIComponent(JSON.stringify(text))],
  ['in a form', (text) => new URLSearchParams({ a: text }).toString()],
];
export const escaped = (sign: string): string => `\\u${sign.charCodeAt(0).toString(16).padStart(4, '0')}`;

/** A text unchanged, in hex, and in base64 at each of its three alignments. */
const formsOf = (text: string): readonly string[] => [
  text,
  Buffer.from(text).toString('hex'),
  ...[0, 1, 2].map((shift) =>
    Buffer.from(' '.repeat(shift) + text)
      .toString('base64')
      .slice(Math.ceil((shift * 8) / 6), Math.floor(((shift + text.length) * 8) / 6)),
  ),
];

/** Matches the prefix of every canary, in each form. */
const beginnings = new RegExp([anywhere, inHex].flatMap(formsOf).join('|'), 'g');
const formChars = 24;

/** Returns a search for all canaries planted so far. */
export function finder(): (where: string, text: string) => readonly string[] {
  const places = new Map<string, string>();
  for (const [place, core] of planted)
    for (const form of formsOf(core)) places.set(form.slice(0, formChars), place);
  return (where, text) => {
    const found = new Set<string>();
    for (const { index } of text.matchAll(beginnings))
      for (const length of [coreChars, formChars]) {
        const place = places.get(text.slice(index, index + length));
        if (place !== undefined)
          found.add(`${place} is in ${where}: ${text.slice(Math.max(0, index - 60), index + 90)}`);
      }
    return [...found];
  };
}

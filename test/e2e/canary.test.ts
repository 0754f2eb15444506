import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { basicConfig, type ConfigFile } from '../support/gateway.ts';
import { type OtlpReceiver, startOtlpReceiver, until } from '../support/otlp-receiver.ts';
import { type Answer, type Loose, scene, streamed, whole } from './scene.ts';
import { chat, messages, responses, type Talk } from './talk.ts';

/** What must not be found anywhere afterwards, by the name of the place that it was planted in. */
const planted = new Map<string, string>();

const coreChars = 22;

/** Letters and digits, which every spelling leaves as they are. */
function canary(place: string): string {
  const core = `knry${randomBytes(9).toString('hex')}`;
  planted.set(`${place} #${planted.size}`, core);
  return core;
}

/** A canary among signs that JSON and URLs spell in other ways. */
const odd = (place: string): string => `"${canary(place)}/+\\=%&é<`;
/** The same of signs that a header or a token may have. */
const oddToken = (place: string): string => `t-"${canary(place)}/+\\=%&<'`;

/** What stays beside what does not: it shows that what was looked through is what was kept. */
const staying = new Set<string>();

/** In answers it may stand across frames, or in words that the caller's are not. */
function plain(place = 'body'): string {
  const text = `plain${randomBytes(9).toString('hex')}`;
  if (!/answer|stream|error text/.test(place)) staying.add(text);
  return text;
}

const ownKey = `gwk_${randomBytes(8).toString('hex')}.${canary('a caller’s own key')}-"\\/+%=&${'x'.repeat(20)}`;
const otherKey = `gwk_${randomBytes(16).toString('hex')}.${canary('another caller’s key')}${randomBytes(8).toString('hex')}`;
const ownSecret = ownKey.slice(ownKey.indexOf('.') + 1);
/** One whose secret fits into a tag, as its value and as its key. */
const plainKey = `gwk_${randomBytes(8).toString('hex')}.${canary('a caller’s plain key')}${'y'.repeat(10)}`;
const plainSecret = plainKey.slice(plainKey.indexOf('.') + 1);

/** Every credential of the file, by where it stands. */
const credentials = {
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

const config = (url: string, key: string): ConfigFile =>
  basicConfig(url, key, {
    more: {
      server: {
        bind: '127.0.0.1:0',
        otel_endpoint: collector.url,
        otel_export_interval_secs: 1,
        otel_bespoke_tags: ['a'],
      },
      providers: [
        {
          id: 'up',
          type: 'compat',
          base_url: url,
          auth: { mode: 'bearer', token: credentials.bearer },
          default_headers: { 'x-gateway-auth-token': credentials.defaultHeader },
        },
        {
          id: 'headed',
          type: 'compat',
          base_url: url,
          auth: { mode: 'header', name: 'x-upstream-auth', value: credentials.header },
        },
        {
          id: 'run',
          type: 'cloud_run_compat',
          base_url: url,
          auth: { mode: 'bearer', token: credentials.cloudRun },
        },
        {
          id: 'a',
          type: 'cloud_a_platform',
          project_id: 'p',
          api_host: url.replace('/v1', ''),
          auth: { mode: 'bearer', token: credentials.cloudA },
        },
        {
          id: 'b',
          type: 'cloud_b_platform',
          region: 'us-east-1',
          runtime_endpoint_url: url.replace('/v1', ''),
          auth: {
            mode: 'static_credentials',
            access_key_id: 'AKIDEXAMPLE',
            secret_access_key: credentials.secretAccessKey,
            session_token: credentials.sessionToken,
          },
        },
      ],
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
        ...['headed', 'run', 'a', 'b'].map((provider) => ({
          id: `by-${provider}`,
          routes: [
            {
              provider,
              upstream_model: 'm',
              ...(provider === 'b'
                ? {
                    compatibility: { cloud_b: { api_style: 'runtime_unified' } },
                    capabilities: { embeddings: false, json_schema: false, responses: false },
                  }
                : {}),
            },
          ],
        })),
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

let collector: OtlpReceiver;
beforeAll(async () => {
  collector = await startOtlpReceiver();
});
const { ask, open, query, gateway, databaseUrl } = scene(config);
afterAll(() => collector?.close());

/** Everything that a caller was told of a failure. */
const told: string[] = [];
/** Requests that leave a log row. */
let logged = 0;

/** The events of a stream that tell of a failure. */
const failuresIn = ({ events }: Answer): string =>
  events
    .map(({ data }) => data)
    .filter((data) => /"error"\s*:\s*[{"]|"type":\s*"(?:error|response\.failed)"/.test(data))
    .join('\n');

async function asks(...args: Parameters<typeof ask>): Promise<Answer> {
  const [talk, replay, asked] = args;
  const answer = await ask(talk, replay, { key: ownKey, ...asked });
  if (answer.status === 200) told.push(failuresIn(answer));
  else told.push(answer.text);
  if (answer.status !== 401) logged += 1;
  return answer;
}

/** URLs of a field: the query, the fragment and the userinfo are not kept; scheme, host and path are. */
const url = (place: string): string =>
  `https://user:${canary(`${place}: userinfo`)}@host.example:8443/${plain(place)}/a.png?X-Sig=${encodeURIComponent(odd(`${place}: query`))}&t=${canary(`${place}: query`)}#${canary(`${place}: fragment`)}`;

const mixed = ['token', 'Access_Token', 'refresh-token', 'API-Key', 'client_SECRET', 'Credentials'] as const;
const more = [
  'private-key',
  'SECRET',
  'Password',
  'ANTHROPIC_API_KEY',
  'authorization',
  'X-Api-Key',
] as const;

/** Redacted keys in every case, with values of every kind, at any depth. */
const underKeys = (place: string): object => ({
  [plain(place)]: plain(place),
  ...Object.fromEntries(mixed.map((key) => [key, odd(`${place}: ${key}`)])),
  deep: [
    { deeper: Object.fromEntries(more.map((key) => [key, { in: [odd(`${place}: ${key}, nested`)] }])) },
    [[{ credentials: [canary(`${place}: in arrays`), { password: canary(`${place}: in arrays`) }] }]],
  ],
});

const pem = (place: string): string =>
  `-----BEGIN PRIVATE KEY-----\nMIIE${canary(place)}\n${canary(place)}==\n-----END PRIVATE KEY-----\n`;

const serviceAccount = (place: string): object => ({
  type: 'service_account',
  project_id: plain(place),
  private_key: pem(`${place}: key material`),
  token_uri: `https://oauth.example/token?x=${canary(`${place}: token_uri`)}`,
});

/** JSON in strings, as tool arguments and tool results are, down to JSON in JSON in JSON. */
const inJson = (place: string): string =>
  JSON.stringify({
    [plain(place)]: plain(place),
    ...underKeys(`${place}, JSON`),
    image_url: url(`${place}, JSON: image_url`),
    again: JSON.stringify({
      'API-KEY': odd(`${place}, JSON in JSON`),
      account: serviceAccount(`${place}, JSON in JSON`),
      error: { message: `GET ${url(`${place}, JSON in JSON: error`)} failed` },
      once_more: JSON.stringify({ password: odd(`${place}, JSON in JSON in JSON`) }, null, 2),
    }),
  });

const mcpTools = (place: string): object[] => [
  {
    type: 'mcp',
    server_label: plain(place),
    server_url: url(`${place}: server_url`),
    authorization: canary(`${place}: mcp authorization`),
    headers: {
      Authorization: `Bearer ${canary(`${place}: mcp header`)}`,
      'X-API-Key': canary(`${place}: mcp`),
    },
  },
];

const chatBody = (): object => ({
  messages: [
    { role: 'system', content: plain() },
    {
      role: 'user',
      content: [
        { type: 'text', text: plain() },
        { type: 'image_url', image_url: { url: url('chat: image_url object'), detail: 'low' } },
        { type: 'image_url', image_url: url('chat: image_url string') },
        { type: 'video_url', video_url: { url: url('chat: video_url object') } },
        { type: 'input_audio', input_audio: { data: url('chat: input_audio'), format: 'wav' } },
        { type: 'file', file: { file_url: url('chat: file_url'), file_data: url('chat: file_data') } },
      ],
    },
    {
      role: 'assistant',
      tool_calls: [
        { id: 'c1', type: 'function', function: { name: 'f', arguments: inJson('chat: arguments') } },
      ],
    },
    { role: 'tool', tool_call_id: 'c1', content: inJson('chat: tool result') },
    {
      role: 'tool',
      tool_call_id: 'c2',
      content: [{ type: 'text', text: `\`\`\`json\n${inJson('chat: tool result in text')}\n\`\`\`` }],
    },
  ],
  tools: [{ type: 'function', function: { name: 'f', parameters: {} } }, ...mcpTools('chat')],
  metadata: underKeys('chat: metadata'),
  [plain()]: serviceAccount('chat: key file'),
});

const responsesBody = (): object => ({
  input: [
    {
      type: 'message',
      role: 'user',
      content: [
        { type: 'input_text', text: plain() },
        { type: 'input_image', image_url: url('responses: image_url') },
        { type: 'input_image', image_url: { url: url('responses: image_url object') } },
        { type: 'input_file', file_url: url('responses: file_url'), filename: plain() },
      ],
    },
    { type: 'function_call', call_id: 'c1', name: 'f', arguments: inJson('responses: arguments') },
    { type: 'function_call_output', call_id: 'c1', output: inJson('responses: output') },
    { type: 'computer_call_output', call_id: 'c2', output: { image_url: url('responses: computer') } },
  ],
  tools: mcpTools('responses'),
  metadata: underKeys('responses: metadata'),
  [plain()]: serviceAccount('responses: key file'),
});

const messagesContent = (place: string): object[] => [
  { type: 'text', text: plain() },
  { type: 'image', source: { type: 'url', url: url(`${place}: image source`) } },
];

const messagesBody = (): object => ({
  messages: [
    { role: 'user', content: messagesContent('messages') },
    {
      role: 'assistant',
      content: [
        {
          type: 'tool_use',
          id: 't1',
          name: 'f',
          input: { ...underKeys('messages: input'), json: inJson('messages: input') },
        },
      ],
    },
    {
      role: 'user',
      content: [
        { type: 'tool_result', tool_use_id: 't1', content: inJson('messages: tool result') },
        {
          type: 'tool_result',
          tool_use_id: 't1',
          is_error: true,
          content: `Could not get ${url('messages: tool error')} at all`,
        },
      ],
    },
  ],
  metadata: underKeys('messages: metadata'),
});

/** What no chat-style upstream can be asked for is refused, and logged all the same. */
const messagesForItself = (): object => ({
  messages: [
    {
      role: 'user',
      content: [
        { type: 'document', source: { type: 'url', url: url('messages: document source') } },
        { type: 'search_result', source: url('messages: source string') },
      ],
    },
  ],
  mcp_servers: [
    {
      type: 'url',
      url: url('messages: mcp url'),
      name: 'm',
      authorization_token: canary('messages: mcp token'),
    },
  ],
});

const embeddingsBody = (): object => ({
  model: 'fast',
  input: [plain(), { type: 'image_url', image_url: { url: url('embeddings: image_url') } }],
  ...underKeys('embeddings'),
  instruction: inJson('embeddings: JSON'),
});

const embeddings = { ...chat, path: '/v1/embeddings', body: () => ({}) } as unknown as Talk;

type Family = readonly [name: string, talk: Talk, body: () => object, stream: boolean];
const families: readonly Family[] = [
  ['chat completions', chat, chatBody, false],
  ['chat completions, streamed', chat, chatBody, true],
  ['responses', responses, responsesBody, false],
  ['responses, streamed', responses, responsesBody, true],
  ['messages', messages, messagesBody, false],
  ['messages, streamed', messages, messagesBody, true],
  ['embeddings', embeddings, embeddingsBody, false],
];

const toolCalls = (place: string): object[] => [
  { index: 0, id: 'c1', type: 'function', function: { name: 'f', arguments: inJson(`${place}: arguments`) } },
];

/** A whole answer that is full of secrets, for each path. */
const wholeAnswers: Readonly<Record<string, () => object>> = {
  [chat.path]: () => ({
    ...JSON.parse(chat.upstream.whole),
    choices: [
      {
        index: 0,
        finish_reason: 'stop',
        message: {
          role: 'assistant',
          content: plain(),
          tool_calls: toolCalls('chat answer'),
          images: [{ type: 'image_url', image_url: { url: url('chat answer: images') } }],
          annotations: [{ type: 'url_citation', url_citation: { url: url('chat answer: citation') } }],
        },
      },
    ],
    debug: underKeys('chat answer'),
    last_error: `Tried ${url('chat answer: last_error')} first`,
  }),
  [responses.path]: () => ({
    ...JSON.parse(responses.upstream.whole),
    output: [
      { type: 'function_call', call_id: 'c', name: 'f', arguments: inJson('responses answer: arguments') },
      {
        type: 'message',
        role: 'assistant',
        content: [
          {
            type: 'output_text',
            text: plain(),
            annotations: [{ type: 'url_citation', url: url('responses answer: citation') }],
          },
        ],
      },
      {
        type: 'mcp_call',
        server_url: url('responses answer: mcp'),
        error: `At ${url('responses answer: error')}`,
      },
    ],
    tools: mcpTools('responses answer'),
    metadata: underKeys('responses answer'),
  }),
  [embeddings.path]: () => ({
    object: 'list',
    data: [{ index: 0, embedding: [0.5] }],
    model: plain(),
    usage: { prompt_tokens: 1, total_tokens: 1 },
    debug: underKeys('embeddings answer'),
    source: url('embeddings answer: source'),
  }),
};
const wholeAnswer = ({ path }: Talk): object => (wholeAnswers[path] ?? wholeAnswers[chat.path])?.() ?? {};

const frame = (payload: object): string => `data: ${JSON.stringify(payload)}\n\n`;
const named = (type: string, members: object): string => `event: ${type}\n${frame({ type, ...members })}`;

/** A text in pieces, as a stream tells it. */
const inPieces = (text: string, chars: number): readonly string[] =>
  Array.from({ length: Math.ceil(text.length / chars) }, (_, index) =>
    text.slice(index * chars, (index + 1) * chars),
  );

/** A stream whose deltas hold secrets, in one frame and across frames. */
function streamedAnswer({ path, upstream: { begin, finish, usage, done } }: Talk): string {
  if (path === responses.path) {
    const place = { item_id: 'i', output_index: 0, content_index: 0 };
    const split = inPieces(inJson('responses stream: arguments'), 7).map((delta) =>
      named('response.function_call_arguments.delta', { item_id: 'i', output_index: 1, delta }),
    );
    const item = {
      type: 'function_call',
      name: 'f',
      call_id: 'c',
      arguments: inJson('responses stream: item'),
    };
    return [
      begin,
      named('response.output_text.delta', { ...place, delta: plain() }),
      ...split,
      named('response.output_item.done', { output_index: 1, item }),
      named('response.image', {
        image_url: url('responses stream: image_url'),
        ...underKeys('responses stream'),
      }),
      usage,
    ].join('');
  }
  const delta = (members: object): string =>
    frame({ id: 'c', object: 'chat.completion.chunk', choices: [{ index: 0, delta: members }] });
  const split = inPieces(inJson('chat stream: arguments'), 7).map((text, index) =>
    delta({
      tool_calls: [
        { index: 0, ...(index === 0 ? { id: 'c1' } : {}), function: { name: 'f', arguments: text } },
      ],
    }),
  );
  return [
    begin,
    delta({ content: plain() }),
    ...split,
    delta({ images: [{ image_url: { url: url('chat stream: image_url') } }], ...underKeys('chat stream') }),
    finish,
    usage,
    done,
  ].join('');
}

const answerOf = (talk: Talk, stream: boolean) =>
  stream ? streamed(streamedAnswer(talk)) : whole(wholeAnswer(talk));

describe('secrets that a caller or an upstream puts into places that are known for them', () => {
  it.each(families)('in the body and in the answer: %s', async (_, talk, body, stream) => {
    const answer = await asks(talk, answerOf(talk, stream), { stream, body: { ...body() } });
    expect(answer.status).toBe(200);
  });

  it('in a messages body that is refused', async () => {
    const answer = await asks(messages, whole('{}'), { stream: false, body: { ...messagesForItself() } });
    expect(answer.status).toBe(400);
  });

  it.each(families)('in the headers and the query: %s', async (_, talk, body, stream) => {
    const headers = {
      cookie: `session=${canary('cookie')}; other=${canary('cookie')}`,
      'x-api-key': canary('x-api-key'),
      'anthropic-api-key': canary('anthropic-api-key'),
      'X-Goog-Api-Key': canary('x-goog-api-key'),
      'proxy-authorization': `Basic ${canary('proxy-authorization')}`,
      'set-cookie': canary('set-cookie'),
      referer: `https://app.example/${plain()}?code=${canary('referer')}`,
      'x-original-url': `https://user:${canary('x-original-url')}@app.example/?code=${canary('x-original-url')}`,
      'api-key': canary('api-key'),
      token: canary('token header'),
      'user-agent': plain(),
    };
    const path = `${talk.path}?key=${canary('query of the path')}`;
    const answer = await asks(talk, answerOf(talk, stream), { stream, body: { ...body() }, headers, path });
    expect(answer.status).toBe(200);
  });

  it('in a key that is not valid, in the path and in a body that nobody reads', async () => {
    for (const headers of [
      { authorization: `Bearer ${canary('an invalid key')}` },
      { authorization: `Basic ${canary('another scheme')}` },
      { authorization: `Bearer gwk_12345678.${canary('an unknown key')}${'x'.repeat(32)}` },
      { 'x-api-key': canary('an invalid x-api-key') },
    ]) {
      const body = { password: canary('a body that nobody reads') };
      const answer = await asks(chat, whole('{}'), { key: undefined, headers, body });
      expect(answer.status).toBe(401);
    }
    const named = plain('path in an error text');
    for (const secret of [ownSecret, ownKey]) {
      const path = `/v1/${named}/${encodeURIComponent(secret)}?key=${canary('query of an unknown path')}`;
      const { response } = await open(chat, whole('{}'), { key: ownKey, path });
      expect(response.status).toBe(404);
      const text = await response.text();
      expect(text).toContain(named);
      told.push(text);
    }
  });

  it('in a body that is not valid', async () => {
    const secret = () => JSON.stringify(odd('an invalid body'));
    for (const spelled of [
      () => `{"password":${secret()},`,
      () => `[{"password":${secret()}}]`,
      () => `{"model":"fast","messages":[],"password":${secret()},"password":1}`,
      () =>
        `{"model":"fast","messages":"${canary('a field of the wrong type')}"}`.replace(
          'messages',
          'password',
        ),
      () => `{"model":{"api_key":${secret()}},"messages":[]}`,
    ]) {
      const answer = await asks(chat, whole('{}'), { spelled });
      expect(answer.status).toBe(400);
    }
  });
});

/** How logs, shells, proxies and the JSON and URL libraries of common languages spell a text. */
const spellings: readonly (readonly [name: string, spell: (text: string) => string])[] = [
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
const escaped = (sign: string): string => `\\u${sign.charCodeAt(0).toString(16).padStart(4, '0')}`;

const callerKeys = (): readonly string[] => [ownKey, ownSecret, otherKey];

/** Every text that may be kept nowhere: the credentials of the file, the database's, and callers' keys. */
const knownSecrets = (): readonly string[] => [
  ...Object.values(credentials),
  databasePassword(),
  ...callerKeys(),
];
const databasePassword = (): string => new URL(databaseUrl()).password;

const everySpelling = (): string =>
  knownSecrets()
    .flatMap((secret) => spellings.map(([, spell]) => `«${spell(secret)}»`))
    .join(' ');

describe('credentials of the configuration and callers’ keys', () => {
  it('the password of the database is one that can be told apart', () => {
    expect(databasePassword().length).toBeGreaterThanOrEqual(16);
  });

  it.each(families)('in any text, in any spelling: %s', async (_, talk, __, stream) => {
    const text = everySpelling();
    const shapes: Readonly<Record<string, object>> = {
      [chat.path]: { messages: [{ role: 'user', content: text }], [credentials.bearer]: { [ownKey]: text } },
      [messages.path]: { messages: [{ role: 'user', content: text }], system: text },
      [responses.path]: { input: text, instructions: [text] },
      [embeddings.path]: { model: 'fast', input: [text] },
    };
    const said = JSON.stringify(text).slice(1, -1);
    const replay = stream
      ? streamed(
          inPieces(text, 11)
            .map((piece) => talk.upstream.piece.replace('piece', JSON.stringify(piece).slice(1, -1)))
            .reduce((all, each) => all + each, talk.upstream.begin) +
            talk.upstream.finish +
            talk.upstream.usage +
            talk.upstream.done,
        )
      : whole(
          talk === embeddings ? { data: [], model: text } : talk.upstream.whole.replace('all', () => said),
        );
    const answer = await asks(talk, replay, { stream, body: shapes[talk.path] as Record<string, unknown> });
    expect(answer.status).toBe(200);
  });

  it.each([ownKey, ownSecret, plainSecret, ...Object.values(credentials)])(
    'as the model, in the user agent and other headers (%#)',
    async (secret) => {
      // A header holds no character beyond ASCII: it says them as JSON may.
      const asText = secret.replace(/[^\x20-\x7e]/g, escaped);
      const key = secret === plainSecret ? plainKey : ownKey;
      const headers = {
        'user-agent': `agent/1.0 (${asText})`,
        'x-forwarded-for': asText,
        tracestate: `v=${encodeURIComponent(asText)}`,
        'x-note': JSON.stringify(asText),
      };
      const unknown = await asks(chat, whole('{}'), { key, headers, body: { model: secret } });
      expect(unknown.status).toBe(404);
      const known = await asks(chat, whole(chat.upstream.whole), { key, headers, stream: false });
      expect(known.status).toBe(200);
    },
  );

  it('as a caller tag', async () => {
    for (const headers of [
      { 'x-gateway-service': plainSecret },
      { 'x-gateway-component': plainSecret, 'x-gateway-env': plainSecret },
      { 'x-gateway-tags': `a=${plainSecret}; ${plainSecret}=b` },
    ]) {
      const answer = await asks(chat, whole(chat.upstream.whole), { key: plainKey, headers, stream: false });
      expect(answer.status).toBe(200);
    }
    const refused = await asks(chat, whole('{}'), {
      key: plainKey,
      headers: { 'x-gateway-tags': `a=${plainKey}`, 'x-gateway-service': `${plainSecret} ${plainSecret}` },
    });
    expect(refused.status).toBe(400);
  });

  it('as a key, also of a body that is refused for it', async () => {
    for (const [key, secret] of [
      [ownKey, ownKey],
      [ownKey, ownSecret],
      [plainKey, plainKey],
      [ownKey, credentials.bearer],
    ] as const) {
      const member = `${JSON.stringify(secret)}:1`;
      const twice = await asks(chat, whole('{}'), {
        key,
        spelled: () => `{"model":"fast",${member},${member},"messages":[]}`,
      });
      expect(twice.status).toBe(400);
    }
  });

  it.each(['by-headed', 'by-run', 'by-a', 'by-b'])(
    'of a provider that cannot be reached or is: %s',
    async (model) => {
      const answer = await asks(chat, whole(chat.upstream.whole), { stream: false, body: { model } });
      expect(answer.status).toBeGreaterThanOrEqual(200);
    },
  );
});

describe('upstreams that repeat what they were sent', () => {
  /** What an upstream may say about a request that it does not like. */
  const echoes: readonly (readonly [string, (received: Loose) => string])[] = [
    ['the authorization header', ({ headers }) => `Bad credentials: ${headers['authorization']}`],
    ['all headers', ({ headers }) => `Received: ${JSON.stringify(headers)}`],
    ['the body', ({ text }) => `Cannot read ${text}`],
    ['the body as a string', ({ text }) => `Cannot read ${JSON.stringify(text)}`],
    ['a URL', () => `Could not fetch "${url('error text')}", giving up`],
    ['the body behind a long text', ({ text }) => `${'x'.repeat(1000)}${text}`],
    ...[980, 1000, 1015].map((chars): readonly [string, (received: Loose) => string] => [
      `a key where a message is cut off (${chars})`,
      ({ headers }) => `${'x'.repeat(chars)} ${ownKey} ${headers['authorization']}`,
    ]),
  ];

  const body = (talk: Talk): object => {
    const text = `My keys: ${ownKey} and ${ownSecret}`;
    if (talk === embeddings) return { model: 'fast', input: text, password: odd('echoed body') };
    const spoken = talk === responses ? { input: text } : { messages: [{ role: 'user', content: text }] };
    return { ...spoken, metadata: { password: odd('echoed body'), note: inJson('echoed body') } };
  };

  /** The upstream's request is only known once it is there: it is asked twice, and repeats the first one. */
  async function received(talk: Talk, stream: boolean): Promise<Loose> {
    const replay = stream ? streamed('') : whole(wholeAnswer(talk));
    const { upstream } = await asks(talk, replay, { stream, body: body(talk) as Record<string, unknown> });
    expect(upstream?.headers['authorization']).toBe(`Bearer ${credentials.bearer}`);
    expect(upstream?.headers['x-route-secret']).toBe(credentials.routeHeader);
    expect(upstream?.text).toContain(JSON.stringify(credentials.extraBody));
    return upstream;
  }

  const wholeErrors = (message: string, sent: Loose): readonly (readonly [number, object])[] => [
    [400, { error: { message, type: 'invalid_request_error', param: message, code: message } }],
    [401, { error: message }],
    [429, { message }],
    [500, { detail: message }],
    [403, [{ error: { message } }]],
    [200, { error: { message, request: { headers: sent.headers, body: sent.body } } }],
  ];

  it.each(families)('in an error answer: %s', async (_, talk, __, stream) => {
    const sent = await received(talk, stream);
    for (const [, echo] of echoes)
      for (const [status, error] of wholeErrors(echo(sent), sent)) {
        const replay = whole(error, { status });
        const answer = await asks(talk, replay, { stream, body: body(talk) as Record<string, unknown> });
        expect(answer.status).toBeGreaterThanOrEqual(400);
      }
  });

  const streamErrors = ({ path }: Talk, message: string, sent: Loose): readonly string[] => {
    const error = { message, code: message, request: { headers: sent.headers, body: sent.body } };
    if (path !== responses.path) return [frame({ error }), `event: error\n${frame({ message })}`];
    return [
      named('error', { code: 'server_error', message, param: null }),
      named('error', { error }),
      named('response.failed', { response: { id: 'r', status: 'failed', error, output: [] } }),
      frame({ error }),
    ];
  };

  it.each(families.filter(([, , , stream]) => stream))('midway in a stream: %s', async (_, talk) => {
    const sent = await received(talk, true);
    for (const [, echo] of echoes)
      for (const error of streamErrors(talk, echo(sent), sent)) {
        const { begin, piece } = talk.upstream;
        const answer = await asks(talk, streamed(begin + piece + error), {
          body: body(talk) as Record<string, unknown>,
        });
        expect(answer.after.logs).toEqual([expect.objectContaining({ status_code: 502 })]);
        expect(failuresIn(answer)).not.toBe('');
      }
  });
});

/** Every table of the database, every column as text. */
async function everyRow(): Promise<ReadonlyMap<string, string>> {
  const tables = await query<{ name: string }>(
    `select format('%I.%I', table_schema, table_name) as name from information_schema.tables
     where table_schema not in ('pg_catalog', 'information_schema') and table_type = 'BASE TABLE'`,
  );
  const rows = new Map<string, string>();
  for (const { name } of tables) {
    const found = await query<{ row: string }>(`select t::text as row from ${name} t`);
    rows.set(name, found.map(({ row }) => row).join('\n'));
  }
  return rows;
}

/** A text as it is, as bytes are printed, and as base64 has it wherever it begins. */
const formsOf = (text: string): readonly string[] => [
  text,
  Buffer.from(text).toString('hex'),
  ...[0, 1, 2].map((shift) =>
    Buffer.from(' '.repeat(shift) + text)
      .toString('base64')
      .slice(Math.ceil((shift * 8) / 6), Math.floor(((shift + text.length) * 8) / 6)),
  ),
];

/** How every canary begins, in each form. */
const beginnings = new RegExp(formsOf('knry').join('|'), 'g');
const formChars = 24;

/** Finds what was planted so far. */
function finder(): (where: string, text: string) => readonly string[] {
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

describe('what finds the canaries', () => {
  it('finds each of them, however it is spelled, and nothing else', () => {
    const [[place, core] = ['', '']] = planted;
    const leaksIn = finder();
    const leak = [expect.stringContaining(`${place} is in x`)];
    const bytes = Buffer.from(`ab${core}cd`);
    for (const text of [`a${core}b`, bytes.toString('hex'), bytes.toString('base64'), `knry knry${core}`])
      expect(leaksIn('x', text)).toEqual(leak);
    for (const text of ['', 'knry', core.slice(1), `knry${core.slice(5)}`])
      expect(leaksIn('x', text)).toEqual([]);
  });
});

describe('afterwards', () => {
  it('every request has its payload', async () => {
    for (let tries = 0; tries < 500; tries += 1) {
      const [row] = await query<{ all: string; without: string }>(
        `select count(*) as all, count(*) filter (where not has_payload) as without from request_logs`,
      );
      if (row?.without === '0' && Number(row.all) === logged) return;
      await sleep(20);
    }
    expect(await query('select count(*)::int, has_payload from request_logs group by has_payload')).toEqual([
      { count: logged, has_payload: true },
    ]);
  });

  it('no canary is in any table of the database, and what is none is there', async () => {
    const leaksIn = finder();
    const rows = await everyRow();
    expect([...rows].flatMap(([table, text]) => leaksIn(table, text))).toEqual([]);
    const all = [...rows.values()].join('\n');
    expect(all).not.toContain(databasePassword());
    expect([...staying].filter((text) => !all.includes(text))).toEqual([]);
    expect(planted.size).toBeGreaterThan(500);
  });

  it('no canary is in any span or metric', async () => {
    const requests = gateway().log.lines.filter(({ message }) => message === 'request').length;
    const counted = (): number =>
      collector
        .metrics()
        .get('gateway.requests')
        ?.points.reduce((sum, { value }) => sum + value, 0) ?? 0;
    await until(() => counted() === requests);
    await until(() => collector.spans().filter(({ kind }) => kind === 'server').length === requests);
    expect(requests).toBeGreaterThan(100);
    expect(finder()('telemetry', collector.text())).toEqual([]);
    expect(collector.text()).toContain('"caller_tag.a"');
  });

  it('no canary is in the log', () => {
    const lines = gateway().log.lines.map((line) => JSON.stringify(line));
    expect(lines.length).toBeGreaterThan(100);
    expect(finder()('the log', lines.join('\n'))).toEqual([]);
  });

  it('no canary is in what a caller was told of a failure', () => {
    const failures = told.filter((text) => text !== '');
    expect(failures.length).toBeGreaterThan(100);
    const leaksIn = finder();
    expect(failures.flatMap((text) => leaksIn('an error', text))).toEqual([]);
  });
});

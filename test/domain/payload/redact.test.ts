import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { forCaller, redacted as redactedWritten, redactionRules } from '../../../domain/payload/redact.ts';
import { isObject, type Json, type JsonObject, parseExact } from '../../../domain/shared/json.ts';
import { aJsonObject, exactJsonText } from '../../support/arbitraries/json-text.ts';
import {
  aCanary,
  aCanaryUrl,
  aCredential,
  aPlainKey,
  aPlantedText,
  aPlantedTree,
  aRedactedKey,
  canaryLetter,
  holding,
} from '../../support/arbitraries/payloads.ts';
import { onJson } from '../../support/written.ts';

const redacted = onJson(redactedWritten);
const builtIn = redactionRules([], []);
const clean = (body: Json, rules = builtIn): Json | undefined => redacted({ body }, rules)['body'];
const marker = '[REDACTED]';

/** How printed JSON may spell a canary's letter. */
const spellings = [canaryLetter, '\\u0416', encodeURIComponent(canaryLetter)];

function expectNoCanary(value: Json | undefined): void {
  const printed = JSON.stringify(value).toLowerCase();
  for (const spelling of spellings) expect(printed).not.toContain(spelling.toLowerCase());
}

describe('built-in redacted JSON keys', () => {
  it.each([
    'token',
    'access_token',
    'refresh_token',
    'api_key',
    'client_secret',
    'credentials',
    'private_key',
    'secret',
    'password',
    'anthropic_api_key',
  ])('%s: the whole value becomes one marker string', (key) => {
    for (const value of ['s', 1, true, null, '', [], {}, ['s', { a: 's' }], { a: { b: 's' } }])
      expect(clean({ a: [{ [key]: value, b: 1 }] })).toEqual({ a: [{ [key]: marker, b: 1 }] });
  });

  it.each(['API-Key', 'Access-TOKEN', 'private-key', 'Anthropic-Api_Key', 'PASSWORD'])(
    '%s: they match case-insensitively with `-` equal to `_`',
    (key) => {
      expect(clean({ [key]: 's' })).toEqual({ [key]: marker });
    },
  );

  it.each([
    'tokens',
    'max_tokens',
    'prompt_tokens',
    'token_type',
    'apikey',
    'my_secret',
    'passwords',
    'secret ',
    'api key',
    'x_token',
    'key',
    '',
  ])('%j is none: it stays', (key) => {
    const body = { [key]: 's' };
    expect(clean(body)).toBe(body);
  });
});

describe('sensitive headers', () => {
  it.each([
    'authorization',
    'cookie',
    'set-cookie',
    'x-api-key',
    'anthropic-api-key',
    'x-goog-api-key',
    'Authorization',
    'X-API-Key',
  ])('%s', (name) => {
    const headers = { [name]: 's', 'user-agent': 'codex_exec/0.1', accept: ['a', 'b'] };
    expect(redacted({ headers, body: null }, builtIn)).toEqual({
      headers: { ...headers, [name]: marker },
      body: null,
    });
  });

  it('with several values become one marker', () => {
    expect(redacted({ headers: { 'set-cookie': ['a=1', 'b=2'] } }, builtIn)).toEqual({
      headers: { 'set-cookie': marker },
    });
  });

  it('are sensitive in a body, too: it names those of the servers that a provider is to call', () => {
    const responses = {
      tools: [{ type: 'mcp', server_label: 'a', headers: { 'X-API-Key': 's' }, authorization: 's' }],
    };
    expect(clean(responses)).toEqual({
      tools: [{ type: 'mcp', server_label: 'a', headers: { 'X-API-Key': marker }, authorization: marker }],
    });
    const messages = { mcp_servers: [{ type: 'url', name: 'a', authorization_token: 's' }] };
    expect(clean(messages)).toEqual({
      mcp_servers: [{ type: 'url', name: 'a', authorization_token: marker }],
    });
  });
});

describe('admin `redaction_paths`', () => {
  const payload: JsonObject = {
    headers: { 'x-a': '1', 'x-b': '2' },
    body: {
      metadata: { user: 'u', nested: { a: 1 } },
      messages: [
        { role: 'user', name: 'n', content: [{ type: 'text', text: 't' }] },
        { role: 'tool', name: 'm', content: 'c' },
      ],
      matrix: [[{ a: 1 }], [{ a: 2 }]],
    },
  };

  it.each<[string, readonly (string | number)[][]]>([
    ['body.metadata.user', [['body', 'metadata', 'user']]],
    [
      'body.metadata.*',
      [
        ['body', 'metadata', 'user'],
        ['body', 'metadata', 'nested'],
      ],
    ],
    ['body.metadata', [['body', 'metadata']]],
    ['body.*.user', [['body', 'metadata', 'user']]],
    ['*.x-a', [['headers', 'x-a']]],
    [
      'headers.*',
      [
        ['headers', 'x-a'],
        ['headers', 'x-b'],
      ],
    ],
    ['*', [['headers'], ['body']]],
    [
      'body.messages.*.name',
      [
        ['body', 'messages', 0, 'name'],
        ['body', 'messages', 1, 'name'],
      ],
    ],
    [
      'body.messages.*',
      [
        ['body', 'messages', 0],
        ['body', 'messages', 1],
      ],
    ],
    ['body.messages.*.content.*.text', [['body', 'messages', 0, 'content', 0, 'text']]],
    [
      'body.messages.name',
      [
        ['body', 'messages', 0, 'name'],
        ['body', 'messages', 1, 'name'],
      ],
    ],
    [
      'body.matrix.*.*.a',
      [
        ['body', 'matrix', 0, 0, 'a'],
        ['body', 'matrix', 1, 0, 'a'],
      ],
    ],
    [
      'body.matrix.a',
      [
        ['body', 'matrix', 0, 0, 'a'],
        ['body', 'matrix', 1, 0, 'a'],
      ],
    ],
    ['body.messages.*.text', []],
    ['metadata.user', []],
    ['body.user', []],
    ['body.metadata.User', []],
    ['body.metadata.us*', []],
    ['body.messages.0', []],
    ['body.metadata.nested.a.b', []],
    ['', []],
  ])('%s', (path, places) => {
    const expected = structuredClone(payload) as Record<string, unknown>;
    for (const place of places) {
      const parent = valueAt(expected, place.slice(0, -1)) as Record<string | number, unknown>;
      parent[place.at(-1)!] = marker;
    }
    expect(redacted(payload, redactionRules([path], []))).toEqual(expected);
  });

  const valueAt = (root: unknown, place: readonly (string | number)[]): unknown =>
    place.reduce((value, step) => (value as Record<string | number, unknown>)[step], root);

  it.each(['headers.X-A', 'headers.x-a', '*.X-a', 'HEADERS.x-a', 'body.METADATA'])(
    'name headers in any case, and nothing else: %s',
    (path) => {
      const matches = !/^[A-Z]|\.METADATA/.test(path);
      expect(redacted(payload, redactionRules([path], []))).toEqual(
        matches ? { ...payload, headers: { 'x-a': marker, 'x-b': '2' } } : payload,
      );
    },
  );

  it('are anchored at the wrapped payload root', () => {
    const rules = redactionRules(['events.*.choices.*.delta.content'], []);
    const events = [{ choices: [{ delta: { content: 'a' } }] }, { content: 'b' }];
    expect(redacted({ stream: true, events, usage: null, error: null }, rules)).toEqual({
      stream: true,
      events: [{ choices: [{ delta: { content: marker } }] }, { content: 'b' }],
      usage: null,
      error: null,
    });
  });

  it('of any number are applied together', () => {
    const rules = redactionRules(['body.metadata.user', 'body.*.nested', 'headers.x-b'], []);
    expect(redacted(payload, rules)).toMatchObject({
      headers: { 'x-a': '1', 'x-b': marker },
      body: { metadata: { user: marker, nested: marker } },
    });
  });

  it('of a wildcard stand for one segment: an array and its item are two', () => {
    const rules = redactionRules(['body.messages.*.text', 'body.messages.role'], []);
    expect(redacted(payload, rules)).toEqual(redacted(payload, redactionRules(['body.messages.*.role'], [])));
  });

  type Step = string | number;

  /** Every place in a value. */
  const placesOf = (value: Json | undefined): readonly (readonly Step[])[] => {
    if (typeof value !== 'object' || value === null) return [];
    return Object.entries(value).flatMap(([key, inner]) => {
      const step = Array.isArray(value) ? Number(key) : key;
      return [[step], ...placesOf(inner as Json).map((rest) => [step, ...rest])];
    });
  };

  it('never leave anything of what stands at one, whichever of its segments are wildcards', () => {
    const aPlace = fc
      .tuple(holding(aCanary), fc.nat(), fc.infiniteStream(fc.boolean()))
      .map(([body, at, wild]) => {
        const places = placesOf({ body }).filter((place) =>
          JSON.stringify(valueAt({ body }, place)).includes(canaryLetter),
        );
        const place = places[at % places.length]!;
        const path = place.map((step) => (typeof step === 'number' || wild.next().value ? '*' : step));
        return { body, place, path };
      })
      .filter(({ path }) => path.every((segment) => !segment.includes('.')));
    fc.assert(
      fc.property(aPlace, ({ body, path }) => {
        expectNoCanary(redacted({ body }, redactionRules([path.join('.')], [])));
      }),
    );
  });
});

describe('configured credentials and caller keys survive nowhere', () => {
  const configured = 'sk-configured-0123456789';
  const key = 'gwk_0123456789abcdef.0123456789abcdef0123456789abcdef';
  const secret = key.slice(key.indexOf('.') + 1);
  const rules = forCaller(redactionRules([], [configured]), [key, secret]);

  it.each<[string, Json, Json]>([
    ['as a text', configured, marker],
    ['in a text', `a ${configured}, b`, `a ${marker}, b`],
    ['twice', `${key} ${key}`, `${marker} ${marker}`],
    ['twice without a gap: what stands across both is one', `${key}${key}`, marker],
    ['without its public id', `key: ${secret}.`, `key: ${marker}.`],
    ['in an array', [[configured]], [[marker]]],
    ['as a key', { [configured]: 1, b: 2 }, { [marker]: 1, b: 2 }],
    ['in a key', { [`x-${secret}`]: { [key]: configured } }, { [`x-${marker}`]: { [marker]: marker } }],
    ['in a URL', `https://h/${key}/a`, `https://h/${marker}/a`],
    ['in JSON inside a text', `{"a":"${configured}"}`, `{"a":"${marker}"}`],
    ['in a part of a word', `xx${configured}yy`, `xx${marker}yy`],
  ])('%s', (_, body, expected) => {
    expect(clean(body, rules)).toEqual(expected);
  });

  it('nor in a header', () => {
    expect(redacted({ headers: { 'x-forwarded-for': ['a', key] } }, rules)).toEqual({
      headers: { 'x-forwarded-for': ['a', marker] },
    });
  });

  it('two that overlap leave nothing of either', () => {
    const overlapping = forCaller(redactionRules([], ['abcdefgh-1234']), ['1234-ijklmnop']);
    expect(clean('x abcdefgh-1234-ijklmnop y', overlapping)).toBe(`x ${marker} y`);
  });

  it('a longer one first: it may begin with a shorter one', () => {
    const nested = redactionRules([], ['token-12345678', 'token-12345678-and-more']);
    expect(clean('token-12345678-and-more', nested)).toBe(marker);
  });

  it('one of digits may stand as a number', () => {
    const digits = redactionRules([], ['1234567890123456789']);
    expect(clean(parseExact('{"a":1234567890123456789,"b":12.50}'), digits)).toEqual({
      a: marker,
      b: parseExact('12.50'),
    });
  });

  it.each(['', 'a', 'EMPTY', '1234567', 'REDACTED'])('%j is a word and no secret', (word) => {
    const body = { a: `${word} and more EMPTY words a 1234567`, b: word };
    expect(clean(body, redactionRules([], [word]))).toBe(body);
  });

  it('wherever they stood, as they are, in JSON, in JSON inside JSON, or in a URL', () => {
    const spelt = (secret: string): readonly string[] => [
      secret,
      JSON.stringify({ a: `x${secret}` }),
      JSON.stringify({ a: JSON.stringify([secret]) }),
      JSON.stringify({ a: secret }).replaceAll('/', '\\/'),
      `https://h/${encodeURIComponent(secret)}/x`,
    ];
    const aBody = fc
      .tuple(aCredential, fc.nat(4), fc.string(), fc.string())
      .chain(([secret, how, before, after]) =>
        fc
          .tuple(holding(fc.constant(`${before}${spelt(secret)[how]}${after}`)), fc.boolean())
          .map(([body, asKey]) => ({ secret, body: asKey ? { [`k${secret}`]: body } : body })),
      );
    fc.assert(
      fc.property(aBody, fc.boolean(), ({ secret, body }, ofCaller) => {
        const rules = ofCaller ? forCaller(builtIn, [secret]) : redactionRules([], [secret]);
        const printed = JSON.stringify(clean(body, rules));
        for (const text of spelt(secret)) expect(printed).not.toContain(text);
        expect(printed).not.toContain(JSON.stringify(secret).slice(1, -1));
        expect(printed).toContain(marker);
      }),
      { numRuns: 500 },
    );
  });
});

describe('for any JSON with secrets', () => {
  it('under sensitive keys or in URL queries at random depth none survives', () => {
    fc.assert(
      fc.property(aPlantedTree, (body) => {
        expectNoCanary(clean(body));
      }),
      { numRuns: 1000 },
    );
  });

  it('in JSON inside a text, however it is written, nested and cut off, none survives', () => {
    fc.assert(
      fc.property(holding(aPlantedText), (body) => {
        expectNoCanary(clean(body));
      }),
      { numRuns: 3000 },
    );
  });

  it('in headers none survives', () => {
    fc.assert(
      fc.property(
        fc.dictionary(aRedactedKey, fc.oneof(aCanary, fc.array(aCanary)), { minKeys: 1 }),
        (headers) => {
          expectNoCanary(redacted({ headers, body: null }, builtIn));
        },
      ),
    );
  });

  const keysKept = (before: Json | undefined, after: Json | undefined): boolean => {
    if (after === marker || typeof before !== 'object' || before === null) return true;
    if (Array.isArray(before))
      return (
        Array.isArray(after) &&
        after.length === before.length &&
        before.every((item: Json, index) => keysKept(item, after[index]))
      );
    return (
      isObject(after) &&
      JSON.stringify(Object.keys(before)) === JSON.stringify(Object.keys(after)) &&
      Object.entries(before).every(([key, value]) => keysKept(value as Json, after[key]))
    );
  };

  it('redaction keeps keys and array lengths above what it replaced', () => {
    fc.assert(
      fc.property(aPlantedTree, (body) => {
        expect(keysKept(body, clean(body))).toBe(true);
      }),
      { numRuns: 500 },
    );
  });

  /** Parts of texts that look like JSON, and are none when they are put together. */
  const scraps = fc
    .array(
      fc.constantFrom(
        '"',
        '\\',
        '\\"',
        '{',
        '}',
        '[',
        ']',
        ':',
        ',',
        '"token":',
        '\\"token\\":',
        '"url":"',
        '"error":',
        '"image":[',
        '\\"url\\":\\"',
        'https://',
        "'a://",
        '?',
        '#',
        "'",
        '@',
        ' ',
        '\\n',
        'x',
        marker,
        'sk-configured-0123456789',
        'data:',
        '\\u0074oken"',
        '\\u003f',
        'null',
      ),
      { maxLength: 14 },
    )
    .map((parts) => parts.join(''));

  it('redaction is idempotent', () => {
    const rules = forCaller(redactionRules(['body.*.x'], ['sk-configured-0123456789']), ['p@ss"w\\rd?x']);
    const aKey = fc.constantFrom('a', 'url', 'data', 'error', 'content');
    const aBody = fc.oneof(
      aPlantedTree,
      aPlantedText,
      fc.json(),
      fc.tuple(aKey, scraps).map(([key, text]) => ({ [key]: text })),
    );
    fc.assert(
      fc.property(aBody, (body) => {
        const once = redacted({ body }, rules);
        expect(redacted(once, rules)).toEqual(once);
      }),
      { numRuns: 5000 },
    );
  });

  it.each([
    '\\"token\\":data:\\u0074oken":"x',
    '\\"token\\":[REDACTED]"token":"x',
    '"data":"a://#"token":"x',
    '"token":{}token":"x"',
    '\\"token\\":"error":"error":"a://#x',
  ])('also of a text that only looks like JSON: %s', (text) => {
    const once = clean(text);
    expect(once).not.toBe(text);
    expect(clean(once ?? null)).toBe(once);
  });

  it('redaction never throws on any JSON, and what no rule touches is the very same value', () => {
    fc.assert(
      fc.property(aJsonObject, (body) => {
        const payload = { body };
        expect(redacted(payload, redactionRules(['headers.*'], ['some-credential']))).toBe(payload);
      }),
    );
  });

  it('every digit of a number survives beside what was replaced', () => {
    fc.assert(
      fc.property(exactJsonText, aPlainKey, (text, key) => {
        fc.pre(!text.includes('"__proto__"'));
        const body = parseExact(`{"token":1,${JSON.stringify(key)}:${text}}`);
        const expected = `{"body":{"token":"${marker}",${JSON.stringify(key)}:${JSON.stringify(parseExact(text))}}}`;
        expect(JSON.stringify(redacted({ body }, builtIn))).toBe(expected);
      }),
    );
  });

  it('a key named `__proto__` stays a key', () => {
    const body = JSON.parse('{"__proto__":{"token":"s"},"constructor":1,"secret":2}') as Json;
    expect(JSON.stringify(clean(body))).toBe(
      `{"__proto__":{"token":"${marker}"},"constructor":1,"secret":"${marker}"}`,
    );
  });
});

/** Where bodies of each family hold URLs of media: each is given a URL, and shows it again. */
const mediaFields: readonly (readonly [family: string, field: string, body: (url: string) => Json])[] = [
  ['chat', 'image_url.url', (url) => chatPart({ type: 'image_url', image_url: { url, detail: 'auto' } })],
  ['chat', 'image_url as a string', (url) => chatPart({ type: 'image_url', image_url: url })],
  ['chat', 'input_image.image_url', (url) => chatPart({ type: 'input_image', image_url: url })],
  ['chat', 'image.image', (url) => chatPart({ type: 'image', image: url })],
  ['chat', 'video_url.url', (url) => chatPart({ type: 'video_url', video_url: { url } })],
  ['chat', 'video_url as a string', (url) => chatPart({ type: 'video_url', video_url: url })],
  ['chat', 'video as an array of frames', (url) => chatPart({ type: 'video', video: [url, url] })],
  ['chat', 'audio_url.url', (url) => chatPart({ type: 'audio_url', audio_url: { url } })],
  [
    'chat',
    'input_audio.url',
    (url) => chatPart({ type: 'input_audio', input_audio: { url, format: 'mp3' } }),
  ],
  ['chat', 'input_audio.data', (url) => chatPart({ type: 'input_audio', input_audio: { data: url } })],
  ['chat', 'file.file_url', (url) => chatPart({ type: 'file', file: { file_url: url } })],
  [
    'chat',
    'file.file_data',
    (url) => chatPart({ type: 'file', file: { filename: 'a.pdf', file_data: url } }),
  ],
  ['chat', 'file_url.url', (url) => chatPart({ type: 'file_url', file_url: { url } })],
  [
    'chat',
    'a tool’s content',
    (url) => ({ messages: [{ role: 'tool', content: [{ image_url: { url } }] }] }),
  ],
  ['chat', 'message.images', (url) => ({ choices: [{ message: { images: [{ image_url: { url } }] } }] })],
  ['chat', 'delta.images', (url) => ({ choices: [{ delta: { images: [{ image_url: { url } }] } }] })],
  [
    'chat',
    'annotations.url_citation.url',
    (url) => ({ choices: [{ message: { annotations: [{ type: 'url_citation', url_citation: { url } }] } }] }),
  ],
  ['responses', 'input_image.image_url', (url) => inputPart({ type: 'input_image', image_url: url })],
  ['responses', 'input_file.file_url', (url) => inputPart({ type: 'input_file', file_url: url })],
  ['responses', 'input_file.file_data', (url) => inputPart({ type: 'input_file', file_data: url })],
  ['responses', 'input_video.video_url', (url) => inputPart({ type: 'input_video', video_url: url })],
  [
    'responses',
    'function_call_output.output',
    (url) => ({
      input: [{ type: 'function_call_output', output: [{ type: 'input_image', image_url: url }] }],
    }),
  ],
  [
    'responses',
    'computer_call_output.output.image_url',
    (url) => ({
      input: [{ type: 'computer_call_output', output: { type: 'computer_screenshot', image_url: url } }],
    }),
  ],
  ['responses', 'code_interpreter outputs', (url) => ({ output: [{ outputs: [{ type: 'image', url }] }] })],
  ['responses', 'annotations.url', (url) => ({ output: [{ content: [{ annotations: [{ url }] }] }] })],
  [
    'responses',
    'web_search sources',
    (url) => ({ output: [{ action: { sources: [{ type: 'url', url }] } }] }),
  ],
  ['responses', 'tools.server_url', (url) => ({ tools: [{ type: 'mcp', server_url: url }] })],
  [
    'responses',
    'the input image mask of image generation',
    (url) => ({ tools: [{ type: 'image_generation', input_image_mask: { image_url: url } }] }),
  ],
  ['messages', 'image.source.url', (url) => block({ type: 'image', source: { type: 'url', url } })],
  ['messages', 'document.source.url', (url) => block({ type: 'document', source: { type: 'url', url } })],
  ['messages', 'source as a string', (url) => block({ type: 'image', source: url })],
  [
    'messages',
    'a document of blocks',
    (url) =>
      block({
        type: 'document',
        source: { type: 'content', content: [{ type: 'image', source: { type: 'url', url } }] },
      }),
  ],
  [
    'messages',
    'tool_result.content',
    (url) =>
      block({
        type: 'tool_result',
        content: [{ type: 'image', source: { type: 'url', url } }],
        is_error: false,
      }),
  ],
  [
    'messages',
    'web_search_result.url',
    (url) => block({ type: 'web_search_tool_result', content: [{ url }] }),
  ],
  ['messages', 'citations.url', (url) => block({ type: 'text', text: 't', citations: [{ url }] })],
  ['messages', 'mcp_servers.url', (url) => ({ mcp_servers: [{ type: 'url', url }] })],
  ['embeddings', 'input.image_url.url', (url) => ({ input: [{ type: 'image_url', image_url: { url } }] })],
  [
    'embeddings',
    'input.image_url',
    (url) => ({ input: [{ content: [{ type: 'image_url', image_url: url }] }] }),
  ],
  ['embeddings', 'input.image', (url) => ({ input: [{ image: url }] })],
  ['embeddings', 'input.url', (url) => ({ input: [{ url }] })],
  ['embeddings', 'images', (url) => ({ images: [url] })],
  ['embeddings', 'input.video_url', (url) => ({ input: [{ video_url: url }] })],
  ['native', 'fileData.fileUri', (url) => ({ contents: [{ parts: [{ fileData: { fileUri: url } }] }] })],
  ['native', 'file_data.file_uri', (url) => ({ contents: [{ parts: [{ file_data: { file_uri: url } }] }] })],
  ['native', 's3Location.uri', (url) => ({ source: { s3Location: { uri: url } } })],
];

const chatPart = (part: Json): Json => ({ messages: [{ role: 'user', content: [part] }] });
const inputPart = (part: Json): Json => ({ input: [{ role: 'user', content: [part] }] });
const block = (content: Json): Json => ({ messages: [{ role: 'user', content: [content] }] });

describe('URL query redaction keeps scheme, authority and path', () => {
  const url = 'https://user:pass@files.example.com:8443/a/b.png?X-Signature=s&e=1#part';
  const shown = 'https://files.example.com:8443/a/b.png?[REDACTED]';

  it.each(mediaFields)('in a media URL of %s: %s', (_, __, body) => {
    expect(clean(body(url))).toEqual(body(shown));
    expect(clean(body(shown))).toEqual(body(shown));
  });

  it.each(mediaFields)('in tool arguments, as in %s: %s', (_, __, body) => {
    const call = (args: Json): Json => ({ tool_calls: [{ function: { arguments: JSON.stringify(args) } }] });
    expect(clean(call(body(url)))).toEqual(call(body(shown)));
  });

  it.each(mediaFields)('and a URL without a query stays, as does inline data: %s, %s', (_, __, body) => {
    for (const text of [
      'https://h/a.png',
      'data:image/png;base64,AA+/=?#',
      'gs://bucket/a b',
      'file-123',
      '',
    ]) {
      const value = body(text);
      expect(clean(value)).toBe(value);
    }
  });

  it.each([
    ['url', '//h/a?sig=s', '//h/a?[REDACTED]'],
    ['url', '/files/a?sig=s', '/files/a?[REDACTED]'],
    ['image_url', 'h/a?sig=s', 'h/a?[REDACTED]'],
    ['imageURL', ' HTTPS://h/a?sig=s ', ' HTTPS://h/a?[REDACTED]'],
    ['url', 'https:\\/\\/u:p@h\\/a?sig=s', 'https:\\/\\/h\\/a?[REDACTED]'],
    ['file-uri', 'https://h/a#sig=s', 'https://h/a'],
    ['image', '//h/a?sig=s', '//h/a?[REDACTED]'],
    ['source', ' //u:p@h/a?sig=s#f', ' //h/a?[REDACTED]'],
    ['data', '\\/\\/u:p@h\\/a?sig=s', '\\/\\/h\\/a?[REDACTED]'],
  ])('%s: %j', (key, text, expected) => {
    expect(clean({ [key]: text })).toEqual({ [key]: expected });
  });

  it.each([
    ['text', 'see https://h/a?b=c'],
    ['content', 'https://h/a?b=c'],
    ['source', 'what? this'],
    ['data', 'is it? #yes'],
    ['curl', 'https://h/a?b=c'],
    ['urls_seen', 'https://h/a?b=c'],
  ])('what is no URL field stays: %s: %j', (key, text) => {
    const body = { [key]: text };
    expect(clean(body)).toBe(body);
  });

  const words = `Could not fetch ${url}, or '${url}'`;
  const shownWords = `Could not fetch ${shown} or '${shown}'`;

  it.each<[string, (words: string) => Json]>([
    ['error.message', (message) => ({ error: { message, type: 't', param: null, code: 1 } })],
    ['error as a string', (error) => ({ error })],
    ['error.metadata.raw', (raw) => ({ error: { message: 'm', metadata: { raw } } })],
    ['error.metadata.raw as JSON', (raw) => ({ error: { metadata: { raw: JSON.stringify({ m: raw }) } } })],
    ['error.failed_generation', (failed_generation) => ({ error: { failed_generation } })],
    ['error.details', (message) => ({ error: { details: [{ reason: [message] }] } })],
    ['errors', (message) => ({ errors: [message, { message }] })],
    ['response.error', (message) => ({ type: 'response.failed', response: { error: { message } } })],
    ['last_error', (message) => ({ last_error: { message } })],
    ['choices.error', (message) => ({ choices: [{ error: { message } }] })],
    ['an item’s error', (error) => ({ output: [{ type: 'mcp_call', error }] })],
    ['message', (message) => ({ message })],
    ['Message', (Message) => ({ Message })],
    ['detail', (detail) => ({ detail })],
    ['detail as an array', (msg) => ({ detail: [{ loc: ['body'], msg }] })],
    ['a failed tool result', (text) => block({ type: 'tool_result', is_error: true, content: text })],
    [
      'blocks of a failed tool result',
      (text) => block({ type: 'tool_result', is_error: true, content: [{ type: 'text', text }] }),
    ],
  ])('in an error message: %s', (_, body) => {
    expect(clean(body(words))).toEqual(body(shownWords));
  });

  it.each<[string, (words: string) => Json]>([
    ['error.message', (message) => ({ error: { message } })],
    ['error', (error) => ({ type: 'error', error })],
    ['an array', (message) => [{ errors: [{ deep: { message } }, message] }]],
  ])('in an error message in JSON inside a text: %s', (_, body) => {
    for (const inText of [
      (value: Json) => JSON.stringify(value),
      (value: Json) => JSON.stringify(value).replaceAll('/', '\\/'),
      (value: Json) => `Error: ${JSON.stringify({ body: JSON.stringify(value, null, 1) })} (500)`,
    ])
      expect(clean({ content: inText(body(words)) })).toEqual({ content: inText(body(shownWords)) });
  });

  it.each<[string, (words: string) => Json]>([
    ['before its content', (content) => ({ is_error: true, content })],
    ['behind it', (content) => ({ content, isError: true })],
    ['of blocks', (text) => ({ is_error: true, content: [{ type: 'text', text }] })],
    ['deeper', (content) => [{ a: { result: { is_error: true, content } } }]],
  ])('in a failed result in JSON inside a text, where it says so %s', (_, body) => {
    for (const inText of [
      (value: Json) => JSON.stringify(value),
      (value: Json) => JSON.stringify(value, null, 2),
      (value: Json) => `Result: ${JSON.stringify({ body: JSON.stringify(value) })}`,
      (value: Json) => JSON.stringify(value).replaceAll('is', '\\u0069s'),
    ])
      expect(clean({ content: inText(body(words)) })).toEqual({ content: inText(body(shownWords)) });
    const succeeded = JSON.stringify(body(words)).replaceAll('true', 'false');
    expect(clean({ content: succeeded })).toEqual({ content: succeeded });
  });

  it('in the message of a stream’s event, and in what its caller was told', () => {
    const stream = (message: string): JsonObject => ({
      stream: true,
      events: [{ type: 'error', message, code: 'c' }],
      usage: null,
      error: { error: { message } },
    });
    expect(redacted(stream(words), builtIn)).toEqual(stream(shownWords));
  });

  it('an answer’s message is no error message', () => {
    const body = {
      choices: [{ message: { role: 'assistant', content: words } }],
      message: { content: words },
    };
    expect(clean(body)).toBe(body);
  });

  it('never leaves a query, userinfo or a fragment in any of these fields', () => {
    fc.assert(
      fc.property(fc.constantFrom(...mediaFields), aCanaryUrl, ([, , body], url) => {
        expectNoCanary(clean(body(url)));
      }),
    );
  });
});

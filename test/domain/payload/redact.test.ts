import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { redactedRequest } from '../../../domain/payload/payload.ts';
import { forCaller, redactedError, redactionRules } from '../../../domain/payload/redact.ts';
import { isObject, type Json, parseExact } from '../../../domain/shared/json.ts';
import { aJsonObject, exactJsonText } from '../../support/arbitraries/json-text.ts';
import {
  aCanary,
  aCredential,
  aPlainKey,
  aPlantedText,
  aPlantedTree,
  aRedactedKey,
  holding,
} from '../../support/arbitraries/payloads.ts';
import { costWithin } from '../../support/cost.ts';
import { builtIn, clean, expectNoCanary, marker, redacted } from './redacting.ts';

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
    '%s: keys match case-insensitively, with `-` equal to `_`',
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
  ])('%j is not a redacted key', (key) => {
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

  it.each([
    'x-forwarded-access-token',
    'x-auth-request-access-token',
    'x-amzn-oidc-accesstoken',
    'x-amzn-oidc-data',
    'x-amz-security-token',
    'x-goog-iap-jwt-assertion',
    'cf-access-jwt-assertion',
    'cf-access-client-secret',
    'x-ms-token-aad-access-token',
    'Ocp-Apim-Subscription-Key',
    'x-auth-token',
    'x-auth',
    'Helicone-Auth',
    'x-mcp-auth',
    'x-id-token',
    'x-forwarded-authorization',
    'authentication',
    'apikey',
    'openai-api-key',
    'DPoP',
    'x-original-idempotency-key',
    'idempotency-key-secret',
  ])('include those of proxies and other services: %s', (name) => {
    const kept = JSON.parse(redactedRequest({ [name]: 's', accept: 'a' }, undefined, builtIn, 1000).text);
    expect(kept).toEqual({ headers: { [name]: marker, accept: 'a' }, body: null });
  });

  it.each([
    'idempotency-key',
    'X-Idempotency-Key',
    'x-author',
    'x-request-id',
    'x-forwarded-for',
    'traceparent',
    'x-stainless-retry-count',
  ])('do not include headers without a credential: %s', (name) => {
    const kept = JSON.parse(redactedRequest({ [name]: 's' }, undefined, builtIn, 1000).text);
    expect(kept).toEqual({ headers: { [name]: 's' }, body: null });
  });

  it('are also redacted in a body that defines MCP servers', () => {
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

describe('the signature of a request in an error', () => {
  const signature = 'c9aa38ea'.repeat(8);
  const header = (sign: string) =>
    `AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20261126/us-east-1/bedrock/aws4_request, SignedHeaders=host, Signature${sign}`;

  it.each(['=', '%3D', '%253d', '\\u003d'])(
    'is replaced, and the rest of the error is kept: after %s',
    (sign) => {
      expect(redactedError(`refused: ${header(sign)}${signature} is expired`, builtIn)).toBe(
        `refused: ${header(sign)}${marker} is expired`,
      );
    },
  );

  it('is not stored', () => {
    expect(clean({ error: { message: header('=') + signature } })).toEqual({
      error: { message: header('=') + marker },
    });
  });

  it('is searched in time proportional to the text', () => {
    const work = (): void => {
      redactedError('Signature='.repeat(500_000), builtIn);
      redactedError(`Signature=${'a'.repeat(5_000_000)}`, builtIn);
    };
    expect(costWithin(2000, work)).toBeLessThan(2000);
  });
});

describe('configured credentials and caller keys are redacted everywhere', () => {
  const configured = 'sk-configured-0123456789';
  const key = 'gwk_0123456789abcdef.0123456789abcdef0123456789abcdef';
  const secret = key.slice(key.indexOf('.') + 1);
  const rules = forCaller(redactionRules([], [configured]), [key, secret]);

  it.each<[string, Json, Json]>([
    ['as a text', configured, marker],
    ['in a text', `a ${configured}, b`, `a ${marker}, b`],
    ['twice', `${key} ${key}`, `${marker} ${marker}`],
    ['twice without a gap, replaced by one marker', `${key}${key}`, marker],
    ['without its public id', `key: ${secret}.`, `key: ${marker}.`],
    ['in an array', [[configured]], [[marker]]],
    ['as a key', { [configured]: 1, b: 2 }, { [marker]: 1, b: 2 }],
    ['in a key', { [`x-${secret}`]: { [key]: configured } }, { [`x-${marker}`]: { [marker]: marker } }],
    ['in a URL', `https://h/${key}/a`, `https://h/${marker}/a`],
    ['in JSON inside a text', `{"a":"${configured}"}`, `{"a":"${marker}"}`],
    ['inside a word', `xx${configured}yy`, `xx${marker}yy`],
  ])('%s', (_, body, expected) => {
    expect(clean(body, rules)).toEqual(expected);
  });

  it.each([
    ['a caller’s key', key],
    ['a key with a readable id', `gwk_ci-1.${'s'.repeat(32)}`],
    ['a key with the shortest id and the longest secret', `gwk_a.${'s'.repeat(512)}`],
    ['a key with the longest id', `gwk_${'a'.repeat(64)}.${'s'.repeat(32)}`],
    ['an admin’s API token', `gwa_${'0123456789abcdef'.repeat(2)}.${'fedcba9876543210'.repeat(4)}`],
  ])('%s that is unknown here is recognised by its form, also with escapes', (_, unknown) => {
    const anybody = redactionRules([], []);
    const escaped = unknown.replace('_', '\\u005F').replace('.', '%2e');
    expect(clean({ a: `x ${unknown}, ${escaped}!`, [unknown]: 1 }, anybody)).toEqual({
      a: `x ${marker}, ${marker}!`,
      [marker]: 1,
    });
    expect(clean(unknown.slice(0, 30), anybody)).toBe(unknown.slice(0, 30));
  });

  it('a secret of eight characters is redacted', () => {
    expect(clean('a hunter-2', redactionRules([], ['hunter-2']))).toBe(`a ${marker}`);
  });

  it('each of many secrets is redacted, also if one of them has no letter', () => {
    const many = [...Array.from({ length: 20 }, (_, index) => `sk-${index}-abcdefgh`), '!!-??-!!'];
    const all = redactionRules([], many);
    for (const each of many) expect(clean(`say ${each}.`, all)).toBe(`say ${marker}.`);
  });

  it('a secret in a header is redacted', () => {
    expect(redacted({ headers: { 'x-forwarded-for': ['a', key] } }, rules)).toEqual({
      headers: { 'x-forwarded-for': ['a', marker] },
    });
  });

  it('two overlapping secrets are redacted as one', () => {
    const overlapping = forCaller(redactionRules([], ['abcdefgh-1234']), ['1234-ijklmnop']);
    expect(clean('x abcdefgh-1234-ijklmnop y', overlapping)).toBe(`x ${marker} y`);
  });

  it('a secret that begins with a shorter one is redacted as a whole', () => {
    const nested = redactionRules([], ['token-12345678', 'token-12345678-and-more']);
    expect(clean('token-12345678-and-more', nested)).toBe(marker);
  });

  it.each([
    ['configured', forCaller(redactionRules([], ['1234567890123456789', configured]), [key])],
    ['caller’s', forCaller(redactionRules([], [configured]), ['1234567890123456789', key])],
  ])('a %s secret of digits is redacted also where it is a number', (_, digits) => {
    expect(clean(parseExact('{"a":1234567890123456789,"b":12.50}'), digits)).toEqual({
      a: marker,
      b: parseExact('12.50'),
    });
  });

  it.each(['', 'a', 'EMPTY', '1234567', 'REDACTED'])(
    '%j is too short or too common a word to be redacted',
    (word) => {
      const body = { a: `${word} and more EMPTY words a 1234567`, b: word };
      expect(clean(body, redactionRules([], [word]))).toBe(body);
    },
  );

  it('a secret is redacted as it is, in JSON, in JSON inside JSON, and in a URL', () => {
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

describe('redaction of any JSON', () => {
  it('leaves no secret under a redacted key or in a URL query, at any depth', () => {
    fc.assert(
      fc.property(aPlantedTree, (body) => {
        expectNoCanary(clean(body));
      }),
      { numRuns: 1000 },
    );
  });

  it('leaves no secret in JSON inside a text, however it is written, nested or cut off', () => {
    fc.assert(
      fc.property(holding(aPlantedText), (body) => {
        expectNoCanary(clean(body));
      }),
      { numRuns: 3000 },
    );
  });

  it('leaves no secret in JSON inside a text in which every quote is spelled `\\u0022`', () => {
    const inside = (value: string): string => `{"password":"${value}"}`.replaceAll('"', '\\u0022');
    expect(clean(inside('hunter2'))).toBe(inside(marker));
  });

  it('leaves no secret in a header with a redacted name', () => {
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

  it('keeps keys and array lengths outside the replaced values', () => {
    fc.assert(
      fc.property(aPlantedTree, (body) => {
        expect(keysKept(body, clean(body))).toBe(true);
      }),
      { numRuns: 500 },
    );
  });

  /** Fragments that look like JSON, but do not form JSON when they are joined. */
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

  it('is idempotent', () => {
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
  ])('is idempotent for a text that only looks like JSON: %s', (text) => {
    const once = clean(text);
    expect(once).not.toBe(text);
    expect(clean(once ?? null)).toBe(once);
  });

  it('returns the very same value if no rule applies', () => {
    fc.assert(
      fc.property(aJsonObject, (body) => {
        const payload = { body };
        expect(redacted(payload, redactionRules(['headers.*'], ['some-credential']))).toBe(payload);
      }),
    );
  });

  it('keeps every digit of a number beside replaced values', () => {
    fc.assert(
      fc.property(exactJsonText, aPlainKey, (text, key) => {
        fc.pre(!text.includes('"__proto__"'));
        const body = parseExact(`{"token":1,${JSON.stringify(key)}:${text}}`);
        const expected = `{"body":{"token":"${marker}",${JSON.stringify(key)}:${JSON.stringify(parseExact(text))}}}`;
        expect(JSON.stringify(redacted({ body }, builtIn))).toBe(expected);
      }),
    );
  });

  it('keeps a key named `__proto__`', () => {
    const body = JSON.parse('{"__proto__":{"token":"s"},"constructor":1,"secret":2}') as Json;
    expect(JSON.stringify(clean(body))).toBe(
      `{"__proto__":{"token":"${marker}"},"constructor":1,"secret":"${marker}"}`,
    );
  });
});

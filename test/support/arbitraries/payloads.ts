import * as fc from 'fast-check';
import type { Json } from '../../../domain/shared/json.ts';
import { writtenOf } from './json-text.ts';
import { textOf } from './text.ts';

/** A letter that occurs only in secrets: any remains of a canary are visible. */
export const canaryLetter = 'Ж';

export const aCanary: fc.Arbitrary<string> = fc
  .tuple(textOf('abcXYZ019-_.~', 0, 6), fc.integer({ min: 1, max: 8 }))
  .map(([text, count]) => `${canaryLetter.repeat(count)}${text}${canaryLetter}`);

const scalar: fc.Arbitrary<Json> = fc.oneof(
  fc.constantFrom<Json>(
    null,
    true,
    false,
    0,
    -1.5,
    9_007_199_254_740_991,
    '',
    'text',
    'a "quoted" word: yes',
    '\\',
  ),
  fc.string({ maxLength: 12 }),
);

/** JSON with one of these values somewhere in it. */
export const holding = (value: fc.Arbitrary<Json>): fc.Arbitrary<Json> =>
  fc.letrec<{ tree: Json; object: Json; array: Json }>((tie) => ({
    tree: fc.oneof({ maxDepth: 4, depthSize: 'small' }, value, tie('object'), tie('array')),
    array: fc
      .tuple(fc.array(scalar, { maxLength: 2 }), tie('tree'), fc.array(scalar, { maxLength: 2 }))
      .map(([before, tree, after]) => [...before, tree, ...after]),
    object: fc
      .tuple(fc.dictionary(aPlainKey, scalar, { maxKeys: 2 }), aPlainKey, tie('tree'))
      .map(([others, key, tree]) => ({ ...others, [key]: tree })),
  })).tree;

/** A key that no rule matches. */
export const aPlainKey: fc.Arbitrary<string> = fc.oneof(
  fc.constantFrom(
    'messages',
    'content',
    'text',
    'model',
    'input',
    'output',
    'arguments',
    'tokens',
    'max_tokens',
  ),
  fc.string({ maxLength: 6 }).map((key) => `k${key}_`),
);

const cased = (name: string): fc.Arbitrary<string> =>
  fc.array(fc.nat(3), { minLength: name.length, maxLength: name.length }).map((choices) =>
    name
      .split('')
      .map((letter, index) => {
        if (letter === '_' || letter === '-') return (choices[index] ?? 0) < 2 ? '_' : '-';
        return choices[index] === 0 ? letter.toUpperCase() : letter;
      })
      .join(''),
  );

/** Built-in redacted keys and sensitive headers, in any spelling. */
export const aRedactedKey: fc.Arbitrary<string> = fc
  .constantFrom(
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
    'authorization',
    'cookie',
    'set-cookie',
    'x-api-key',
    'anthropic-api-key',
    'x-goog-api-key',
  )
  .chain(cased);

const aUrlStart = fc.constantFrom(
  'https://example.com/a/b.png',
  'HTTP://h:8443',
  'gs://bucket/o',
  'https://h/@a/',
);

/** A URL with a canary in its query or its fragment. */
const aQueryUrl: fc.Arbitrary<string> = fc.oneof(
  fc.tuple(aUrlStart, aCanary).map(([start, canary]) => `${start}?sig=${canary}&x=${canary}`),
  fc.tuple(aUrlStart, aCanary).map(([start, canary]) => `${start}?#${canary}`),
  fc.tuple(aUrlStart, aCanary).map(([start, canary]) => `${start}#${canary}?a=b`),
);

/** A URL with a canary in its query, its fragment or its userinfo. */
export const aCanaryUrl: fc.Arbitrary<string> = fc.oneof(
  aQueryUrl,
  aCanary.map((canary) => `https://user:${canary}@example.com/a`),
);

const underKey = fc.tuple(aRedactedKey, holding(aCanary)).map(([key, value]) => ({ [key]: value }));

const inUrlField = (aUrl: fc.Arbitrary<string>): fc.Arbitrary<Json> =>
  fc.oneof(
    fc
      .tuple(fc.constantFrom('url', 'image_url', 'file_url', 'video_url', 'fileUri', 'image_urls'), aUrl)
      .map(([key, url]) => ({ [key]: url })),
    aUrl.map((url) => ({ image_url: { url, detail: 'low' } })),
    fc.array(aUrl, { minLength: 1, maxLength: 3 }).map((urls) => ({ image_urls: ['x', ...urls] })),
  );

const inError: fc.Arbitrary<Json> = fc.oneof(
  aCanaryUrl.map((url) => ({ error: { message: `Could not fetch ${url} now`, code: null } })),
  aCanaryUrl.map((url) => ({ error: `'${url}' and "${url}"` })),
);

/** JSON with canaries at any depth, in positions where none may remain. */
export const aPlantedTree: fc.Arbitrary<Json> = holding(fc.oneof(underKey, inUrlField(aCanaryUrl), inError));

/** JSON as text, as serializers write it, or with any character of its keys and values escaped. */
const aPlantedPrint: fc.Arbitrary<string> = fc.oneof(
  aPlantedTree.chain((value) =>
    fc.constantFrom(JSON.stringify(value), JSON.stringify(value, null, 2), JSON.stringify(value, null, '\t')),
  ),
  holding(fc.oneof(underKey, inUrlField(aQueryUrl))).chain(writtenOf),
);

/** The same JSON inside a text, inside JSON inside a text, and so on. */
const wrapped = (text: string): fc.Arbitrary<string> =>
  fc.constantFrom(
    text,
    JSON.stringify({ arguments: text }),
    JSON.stringify([{ a: JSON.stringify({ b: [text], n: 1.5 }) }]),
    `Here it is:\n\`\`\`json\n${text}\n\`\`\``,
    `${text}\n${text}`,
  );

/** A URL that is cut off inside its userinfo looks like one with a host. */
const endsInUserinfo = /user[^@]*$/;

/** JSON with canaries inside a text, cut off anywhere. */
export const aPlantedText: fc.Arbitrary<string> = fc
  .tuple(aPlantedPrint.chain(wrapped), fc.double({ min: 0, max: 2, noNaN: true }))
  .map(([text, part]) => text.slice(0, Math.ceil(text.length * part)))
  .filter((text) => !endsInUserinfo.test(text));

/** A credential as in configurations, including characters that JSON and URLs escape. */
export const aCredential: fc.Arbitrary<string> = textOf('abcdefXYZ0123456789-_.=+/"\\ %ü\n', 16, 40).map(
  (text) => `sk-${text}`,
);

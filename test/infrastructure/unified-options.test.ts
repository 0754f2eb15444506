import { describe, expect, it } from '@jest/globals';
import * as E from 'fp-ts/lib/Either.js';
import * as fc from 'fast-check';
import type { JsonObject } from '../../domain/shared/json.ts';
import { unifiedRequest } from '../../infrastructure/providers/cloud-b/unified-request.ts';
import { textDigest } from '../../infrastructure/text-digest.ts';

const asked = (body: JsonObject, stream = false) =>
  unifiedRequest(
    { messages: [{ role: 'user', content: 'Hi' }], ...body },
    { route: { upstreamModel: 'm', compatibility: {}, extraBody: {} }, stream },
    textDigest,
  );

const accepted = (body: JsonObject, stream?: boolean): JsonObject => {
  const request = asked(body, stream);
  if (E.isLeft(request)) throw new Error(request.left.message);
  return request.right.body;
};

const rejected = (body: JsonObject, stream?: boolean) => {
  const request = asked(body, stream);
  if (E.isRight(request)) throw new Error('accepted');
  expect(request.left.code).toBe('invalid_request');
  return request.left;
};

const a = (length: number): string => 'a'.repeat(length);
const entries = (count: number, key = 1, value = 1): JsonObject =>
  Object.fromEntries(Array.from({ length: count }, (_, n) => [String(n).padEnd(key, 'k'), a(value)]));
const pointers = (count: number): readonly string[] => Array.from({ length: count }, (_, n) => `/${n}`);
const guardrail = (more: JsonObject = {}): JsonObject => ({
  guardrailIdentifier: 'g1',
  guardrailVersion: '1',
  ...more,
});
const arn = (tail: string): string => `arn:aws:bedrock:us-east-1:123456789012:guardrail/${tail}`;
const arnOf = (length: number): string => arn(a(length - arn('').length));
const tools = (name: string): readonly JsonObject[] => [{ type: 'function', function: { name } }];

/** Each limit that the platform documents: a value at the limit, and one just beyond it. */
describe('limits of the platform are validated before dispatch', () => {
  const table: readonly (readonly [limit: string, within: JsonObject, beyond: JsonObject, param: string])[] =
    [
      ['max_tokens from 1', { max_tokens: 1 }, { max_tokens: 0 }, 'max_tokens'],
      ['max_tokens in 32 bits', { max_tokens: 2 ** 31 - 1 }, { max_tokens: 2 ** 31 }, 'max_tokens'],
      ['temperature from 0', { temperature: 0 }, { temperature: -0.001 }, 'temperature'],
      ['temperature up to 1', { temperature: 1 }, { temperature: 1.001 }, 'temperature'],
      ['top_p from 0', { top_p: 0 }, { top_p: -0.001 }, 'top_p'],
      ['top_p up to 1', { top_p: 1 }, { top_p: 1.001 }, 'top_p'],
      [
        '2500 stop sequences',
        { stop: Array.from({ length: 2500 }, () => 'x') },
        { stop: Array.from({ length: 2501 }, () => 'x') },
        'stop',
      ],
      ['stop sequences of 1 character', { stop: ['x'] }, { stop: [''] }, 'stop'],
      [
        'tool names of 64 characters',
        { tools: tools(a(64)) },
        { tools: tools(a(65)) },
        'tools[0].function.name',
      ],
      [
        'requestMetadata from 1 entry',
        { requestMetadata: entries(1) },
        { requestMetadata: {} },
        'requestMetadata',
      ],
      [
        'requestMetadata up to 16 entries',
        { requestMetadata: entries(16) },
        { requestMetadata: entries(17) },
        'requestMetadata',
      ],
      [
        'requestMetadata keys from 1 character',
        { requestMetadata: { k: 'v' } },
        { requestMetadata: { '': 'v' } },
        'requestMetadata.',
      ],
      [
        'requestMetadata keys up to 256',
        { requestMetadata: { [a(256)]: 'v' } },
        { requestMetadata: { [a(257)]: 'v' } },
        `requestMetadata.${a(128)}…`,
      ],
      [
        'requestMetadata values up to 256',
        { requestMetadata: { k: a(256) } },
        { requestMetadata: { k: a(257) } },
        'requestMetadata.k',
      ],
      [
        '10 response field paths',
        { additionalModelResponseFieldPaths: pointers(10) },
        { additionalModelResponseFieldPaths: pointers(11) },
        'additionalModelResponseFieldPaths',
      ],
      [
        'paths from 1 character',
        { additionalModelResponseFieldPaths: ['/'] },
        { additionalModelResponseFieldPaths: [''] },
        'additionalModelResponseFieldPaths[0]',
      ],
      [
        'paths up to 256 characters',
        { additionalModelResponseFieldPaths: [`/${a(255)}`] },
        { additionalModelResponseFieldPaths: [`/${a(256)}`] },
        'additionalModelResponseFieldPaths[0]',
      ],
      [
        'paths up to 256 characters, not UTF-16 units',
        { additionalModelResponseFieldPaths: [`/${'😀'.repeat(255)}`] },
        { additionalModelResponseFieldPaths: [`/${'😀'.repeat(256)}`] },
        'additionalModelResponseFieldPaths[0]',
      ],
      [
        'guardrail ids up to 2048',
        { guardrailConfig: guardrail({ guardrailIdentifier: a(2048) }) },
        { guardrailConfig: guardrail({ guardrailIdentifier: a(2049) }) },
        'guardrailConfig.guardrailIdentifier',
      ],
      [
        'guardrail ARNs up to 2048',
        { guardrailConfig: guardrail({ guardrailIdentifier: arnOf(2048) }) },
        { guardrailConfig: guardrail({ guardrailIdentifier: arnOf(2049) }) },
        'guardrailConfig.guardrailIdentifier',
      ],
      [
        'guardrail versions of 8 digits',
        { guardrailConfig: guardrail({ guardrailVersion: '99999999' }) },
        { guardrailConfig: guardrail({ guardrailVersion: '100000000' }) },
        'guardrailConfig.guardrailVersion',
      ],
    ];

  it.each(table)('accepted at the limit, rejected beyond it: %s', (_, within, beyond, param) => {
    expect(accepted(within)).toHaveProperty('messages');
    const error = rejected(beyond);
    expect(error.param).toBe(param);
    expect(error.message).toContain(`\`${param}\``);
  });
});

describe('the platform’s own request fields', () => {
  const options: JsonObject = {
    requestMetadata: { 'team name': 'a:b_c@d$e#f=g/h+i,j-k.l', empty: '' },
    performanceConfig: { latency: 'optimized' },
    guardrailConfig: { guardrailIdentifier: 'g1', guardrailVersion: 'DRAFT', trace: 'enabled_full' },
    additionalModelResponseFieldPaths: ['/stop_sequence', '/a~0b/~1/', '/é'],
  };
  const names: Readonly<Record<string, string>> = {
    requestMetadata: 'request_metadata',
    performanceConfig: 'performance_config',
    guardrailConfig: 'guardrail_config',
    additionalModelResponseFieldPaths: 'additional_model_response_field_paths',
  };

  it('are sent unchanged', () => {
    expect(accepted(options)).toMatchObject(options);
  });

  it('are accepted under their snake_case aliases, nested fields too', () => {
    const aliased = Object.fromEntries(Object.entries(options).map(([name, value]) => [names[name]!, value]));
    expect(accepted(aliased)).toEqual(accepted(options));
    expect(
      accepted(
        {
          guardrail_config: {
            guardrail_identifier: 'g1',
            guardrail_version: '7',
            stream_processing_mode: 'async',
          },
        },
        true,
      )['guardrailConfig'],
    ).toEqual({ guardrailIdentifier: 'g1', guardrailVersion: '7', streamProcessingMode: 'async' });
  });

  it.each(Object.entries(names))(
    'are rejected, with both names, where both spellings are present: %s',
    (name, alias) => {
      const error = rejected({ [name]: options[name], [alias]: options[name] });
      expect(error.param).toBe(name);
      expect(error.message).toContain(`\`${name}\``);
      expect(error.message).toContain(`\`${alias}\``);
    },
  );

  it('are rejected, with both names, where both spellings of a nested field are present', () => {
    const error = rejected({ guardrailConfig: { ...guardrail(), guardrail_version: '1' } });
    expect(error.message).toContain('`guardrailConfig.guardrailVersion`');
    expect(error.message).toContain('`guardrailConfig.guardrail_version`');
  });

  it('count as absent where they are null', () => {
    const nulls = Object.fromEntries(Object.keys(names).map((name) => [name, null]));
    expect(accepted(nulls)).toEqual(accepted({}));
    expect(accepted({ requestMetadata: null, request_metadata: { a: 'b' } })).toMatchObject({
      requestMetadata: { a: 'b' },
    });
    expect(accepted({ guardrailConfig: guardrail({ trace: null }) })['guardrailConfig']).toEqual(guardrail());
  });

  it.each([
    [{ requestMetadata: [] }, 'requestMetadata'],
    [{ requestMetadata: 'a' }, 'requestMetadata'],
    [{ requestMetadata: { k: 1 } }, 'requestMetadata.k'],
    [{ requestMetadata: { k: null } }, 'requestMetadata.k'],
    [{ requestMetadata: { k: 'ä' } }, 'requestMetadata.k'],
    [{ requestMetadata: { k: 'a\u00a0b' } }, 'requestMetadata.k'],
    [{ request_metadata: { 'k!': 'a' } }, 'request_metadata.k!'],
    [{ performanceConfig: 'optimized' }, 'performanceConfig'],
    [{ performanceConfig: { latency: 'fast' } }, 'performanceConfig.latency'],
    [{ performanceConfig: { speed: 'optimized' } }, 'performanceConfig.speed'],
    [{ guardrailConfig: [] }, 'guardrailConfig'],
    [{ guardrailConfig: { guardrailIdentifier: 'g1' } }, 'guardrailConfig'],
    [{ guardrailConfig: { guardrailVersion: '1' } }, 'guardrailConfig'],
    [{ guardrailConfig: guardrail({ guardrailIdentifier: 'G-1' }) }, 'guardrailConfig.guardrailIdentifier'],
    [{ guardrailConfig: guardrail({ guardrailIdentifier: '' }) }, 'guardrailConfig.guardrailIdentifier'],
    [
      { guardrailConfig: guardrail({ guardrailIdentifier: arn('A') }) },
      'guardrailConfig.guardrailIdentifier',
    ],
    [{ guardrailConfig: guardrail({ guardrailVersion: 'draft' }) }, 'guardrailConfig.guardrailVersion'],
    [{ guardrailConfig: guardrail({ guardrailVersion: '0' }) }, 'guardrailConfig.guardrailVersion'],
    [{ guardrailConfig: guardrail({ guardrailVersion: 1 }) }, 'guardrailConfig.guardrailVersion'],
    [{ guardrailConfig: guardrail({ trace: 'yes' }) }, 'guardrailConfig.trace'],
    [{ guardrailConfig: guardrail({ mode: 'sync' }) }, 'guardrailConfig.mode'],
    [{ additionalModelResponseFieldPaths: '/a' }, 'additionalModelResponseFieldPaths'],
    [{ additionalModelResponseFieldPaths: ['/a', 1] }, 'additionalModelResponseFieldPaths[1]'],
    [{ additionalModelResponseFieldPaths: ['a'] }, 'additionalModelResponseFieldPaths[0]'],
    [{ additionalModelResponseFieldPaths: ['/a~'] }, 'additionalModelResponseFieldPaths[0]'],
    [{ additionalModelResponseFieldPaths: ['/a~2'] }, 'additionalModelResponseFieldPaths[0]'],
  ])('are rejected with the field named: %j', (body, param) => {
    expect(rejected(body as JsonObject).param).toBe(param);
  });

  it('`streamProcessingMode` is accepted for streams only', () => {
    for (const mode of ['sync', 'async']) {
      const body = { guardrailConfig: guardrail({ streamProcessingMode: mode }) };
      expect(accepted(body, true)).toMatchObject(body);
      expect(rejected(body).param).toBe('guardrailConfig.streamProcessingMode');
    }
    expect(rejected({ guardrailConfig: guardrail({ stream_processing_mode: 'sync' }) }).param).toBe(
      'guardrailConfig.stream_processing_mode',
    );
    expect(rejected({ guardrailConfig: guardrail({ streamProcessingMode: 'off' }) }, true).param).toBe(
      'guardrailConfig.streamProcessingMode',
    );
  });

  it('any RFC 6901 path is accepted and sent unchanged', () => {
    const token = fc
      .string({ unit: 'grapheme', maxLength: 8 })
      .map((text) => text.replaceAll('~', '~0').replaceAll('/', '~1'));
    const pointer = fc
      .array(token, { minLength: 1, maxLength: 4 })
      .map((tokens) => `/${tokens.join('/')}`)
      .filter((path) => Array.from(path).length <= 256);
    fc.assert(
      fc.property(fc.array(pointer, { maxLength: 10 }), (paths) => {
        expect(accepted({ additionalModelResponseFieldPaths: paths })).toMatchObject({
          additionalModelResponseFieldPaths: paths,
        });
      }),
    );
  });
});

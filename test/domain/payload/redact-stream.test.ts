import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { redactedAcross as redactedAcrossWritten } from '../../../domain/payload/redact-stream.ts';
import { redacted as redactedWritten, redactionRules } from '../../../domain/payload/redact.ts';
import { noSecrets, type Secrets, secretsOf } from '../../../domain/payload/secrets.ts';
import { isString, type Json, type JsonObject } from '../../../domain/shared/json.ts';
import { aCredential, aPlantedText, canaryLetter } from '../../support/arbitraries/payloads.ts';
import { jsonOf, onJson, writtenOf } from '../../support/written.ts';

const redacted = onJson(redactedWritten);

const redactedAcross = (events: readonly JsonObject[], secrets: Secrets, isCut = false): readonly Json[] => {
  const written = events.map(writtenOf);
  const clean = redactedAcrossWritten(written, secrets, isCut);
  return clean.map((event, index) => (event === written[index] ? (events[index] ?? null) : jsonOf(event)));
};

/** How each family sends one text in several events. */
const families: readonly (readonly [what: string, event: (piece: string, index: number) => JsonObject])[] = [
  ['chat content', (content) => ({ id: 'c', choices: [{ index: 0, delta: { content } }] })],
  ['chat reasoning', (reasoning) => ({ choices: [{ index: 0, delta: { reasoning } }] })],
  [
    'chat tool arguments',
    (piece) => ({
      choices: [{ index: 0, delta: { tool_calls: [{ index: 1, function: { arguments: piece } }] } }],
    }),
  ],
  ['a legacy call', (piece) => ({ choices: [{ delta: { function_call: { arguments: piece } } }] })],
  [
    'responses text',
    (delta) => ({ type: 'response.output_text.delta', output_index: 0, content_index: 0, delta }),
  ],
  [
    'responses arguments',
    (delta, index) => ({
      type: 'response.function_call_arguments.delta',
      output_index: 2,
      item_id: `another-${index}`,
      delta,
    }),
  ],
  [
    'a responses item',
    (delta) => ({ type: 'response.function_call_arguments.delta', item_id: 'fc_1', delta }),
  ],
  [
    'messages text',
    (text) => ({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } }),
  ],
  [
    'messages input',
    (piece) => ({
      type: 'content_block_delta',
      index: 1,
      delta: { type: 'input_json_delta', partial_json: piece },
    }),
  ],
];

/** All texts of an event, joined. */
const textsOf = (value: Json | undefined): string => {
  if (isString(value)) return value;
  return typeof value === 'object' && value !== null ? Object.values(value).map(textsOf).join('') : '';
};

const cut = (text: string, places: readonly number[]): readonly string[] => {
  const at = [0, ...places.map((place) => place % (text.length + 1)), text.length].sort((a, b) => a - b);
  return at.slice(1).map((end, index) => text.slice(at[index], end));
};

const places = fc.array(fc.nat(), { minLength: 1, maxLength: 12 });

describe('a text that a stream sends in several events', () => {
  it.each(families)('is redacted as one text: %s', (_, event) => {
    const events = ['{"pass', 'word', '": "hun', 'ter2", "a": 1.', '50}'].map(event);
    const clean = ['{"pass', 'word', '": "[REDACTED]', '", "a": 1.', '50}'].map(event);
    expect(redactedAcross(events, noSecrets)).toEqual(clean);
  });

  it.each(families)('never shows the value of a redacted key or the query of a URL: %s', (_, event) => {
    fc.assert(
      fc.property(aPlantedText, places, (text, at) => {
        fc.pre(!/user/.test(text));
        const events = cut(text, at).map(event);
        const rules = redactionRules([], []);
        const clean = redacted({ events: redactedAcross(events, rules.secrets) }, rules)['events'];
        expect(textsOf(clean)).not.toMatch(new RegExp(`${canaryLetter}|\\\\u0416`, 'i'));
        expect(clean).toHaveLength(events.length);
      }),
      { numRuns: 200 },
    );
  });

  it.each(families)('never shows a credential: %s', (_, event) => {
    fc.assert(
      fc.property(aCredential, fc.string(), fc.string(), places, (secret, before, after, at) => {
        fc.pre(!`${before}${after}`.includes('sk-'));
        const events = cut(`${before}${secret}${after}`, at).map(event);
        const told = (redactedAcross(events, secretsOf([secret])) as JsonObject[]).map(textsOf).join('');
        expect(told).not.toContain(secret);
        for (let length = 8; length < secret.length; length += 1)
          expect(told).not.toContain(secret.slice(0, length));
      }),
      { numRuns: 100 },
    );
  });

  it.each(families)('does not end with part of a credential if later events are missing: %s', (_, event) => {
    const events = ['the key: ', 'hunter2-con', 'figured-01'].map(event);
    const secrets = secretsOf(['hunter2-configured-0123456789']);
    const clean = ['the key: ', '[REDACTED]', ''].map(event);
    expect(redactedAcross(events, secrets, true)).toEqual(clean);
    expect(redactedAcross(events, secrets, false)).toEqual(events);
  });

  it('does not end with part of a credential if only one of its events is there', () => {
    const event = (content: string): JsonObject => ({ choices: [{ index: 0, delta: { content } }] });
    const secrets = secretsOf(['hunter2-configured-0123456789']);
    expect(redactedAcross([event('the key: hunter2-conf')], secrets, true)).toEqual([
      event('the key: [REDACTED]'),
    ]);
  });

  it('is separate for each block and each item', () => {
    const text = (index: number, piece: string): JsonObject => ({
      type: 'content_block_delta',
      index,
      delta: { type: 'text_delta', text: piece },
    });
    const input = (output_index: number, delta: string): JsonObject => ({
      type: 'response.function_call_arguments.delta',
      output_index,
      delta,
    });
    for (const event of [text, input])
      expect(
        redactedAcross([event(0, '{"token":'), event(1, '"shown"'), event(0, '"hidden"}')], noSecrets),
      ).toEqual([event(0, '{"token":'), event(1, '"shown"'), event(0, '"[REDACTED]"}')]);
  });

  it.each<[string, string | number, string | number]>([
    ['type', 'response.output_text.delta', 'response.refusal.delta'],
    ['output_index', 0, 1],
    ['content_index', 0, 1],
    ['summary_index', 0, 1],
    ['index', 0, 1],
    ['item_id', 'msg_1', 'msg_2'],
  ])('is separate for events that differ in their `%s`', (name, one, other) => {
    const event = (value: string | number, delta: string): JsonObject => ({ [name]: value, delta });
    expect(
      redactedAcross([event(one, '{"token":'), event(other, '"shown"'), event(one, '"hidden"}')], noSecrets),
    ).toEqual([event(one, '{"token":'), event(other, '"shown"'), event(one, '"[REDACTED]"}')]);
  });

  it('is separate for each choice and tool call', () => {
    const event = (choice: number, call: number, piece: string): JsonObject => ({
      choices: [{ index: choice, delta: { tool_calls: [{ index: call, function: { arguments: piece } }] } }],
    });
    const events = [
      event(0, 0, '{"token":'),
      event(0, 1, '"shown"'),
      event(1, 0, '"shown too"'),
      event(0, 0, '"hidden"}'),
    ];
    expect(redactedAcross(events, noSecrets)).toEqual([
      event(0, 0, '{"token":'),
      event(0, 1, '"shown"'),
      event(1, 0, '"shown too"'),
      event(0, 0, '"[REDACTED]"}'),
    ]);
  });

  it('is kept, in the very same events, if no rule applies', () => {
    fc.assert(
      fc.property(
        fc.array(fc.string(), { maxLength: 8 }),
        fc.constantFrom(...families),
        (pieces, [, event]) => {
          fc.pre(!/"\s*:/.test(pieces.join('')));
          const events = pieces.map(event);
          const clean = redactedAcross(events, secretsOf(['some-credential']));
          for (const [index, each] of clean.entries()) expect(each).toBe(events[index]);
        },
      ),
    );
  });

  it('is not changed when it is redacted a second time', () => {
    fc.assert(
      fc.property(aPlantedText, places, fc.constantFrom(...families), (text, at, [, event]) => {
        const once = redactedAcross(cut(text, at).map(event), noSecrets);
        expect(redactedAcross(once as JsonObject[], noSecrets)).toEqual(once);
      }),
      { numRuns: 300 },
    );
  });

  it.each([
    '\\"token\\":data:\\u0074oken":"x',
    '\\"token\\":[REDACTED]"token":"x',
    '"data":"a://#"token":"x',
    '"token":{}token":"x"',
    '\\"token\\":"error":"error":"a://#x',
  ])('is not changed a second time where it only looks like JSON, however it is cut: %s', (text) => {
    const event = (delta: string): JsonObject => ({ delta });
    for (let at = 1; at < text.length; at += 1)
      for (const rest of [[], [' end']]) {
        const once = redactedAcross([text.slice(0, at), text.slice(at), ...rest].map(event), noSecrets);
        expect(redactedAcross(once as JsonObject[], noSecrets)).toEqual(once);
      }
  });
});

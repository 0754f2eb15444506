import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import * as E from 'fp-ts/lib/Either.js';
import { readResponse } from '../../../domain/responses/response-object.ts';

const sanitise = (message: string): string => message.replaceAll('hunter2', '[REDACTED]');
const read = (text: string) => readResponse(text, sanitise);
const fault = (message: string) => E.left({ kind: 'protocol', message });

describe('an upstream’s unary response', () => {
  it.each<[string, object]>([
    ['completed', { status: 'completed', output: [{ type: 'message' }] }],
    ['incomplete', { status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' }, output: [] }],
    ['an unknown status', { status: 'complete', output: [] }],
    ['no status', { output: [] }],
    ['a queued background response', { status: 'queued', background: true, output: [] }],
    ...['', {}, false, [], { code: null, message: '' }].map((error): [string, object] => [
      `an error of ${JSON.stringify(error)}`,
      { status: 'completed', error, output: [] },
    ]),
    ['a null error', { status: 'completed', error: null, output: [] }],
    ['unknown members', { status: 'completed', output: [{ type: 'program' }], x: { y: 1 } }],
  ])('is read: %s', (_, response) => {
    expect(read(JSON.stringify(response))).toEqual(E.right(response));
  });

  it.each<[string, string, string]>([
    ['not JSON', '<html>', 'The upstream answered with something that is not a JSON object.'],
    ['an empty body', '', 'The upstream answered with something that is not a JSON object.'],
    ['an array', '[]', 'The upstream answered with something that is not a JSON object.'],
    ['null', 'null', 'The upstream answered with something that is not a JSON object.'],
    ['an empty object', '{}', 'The upstream answered without `output`.'],
    [
      'a chat completion',
      '{"object":"chat.completion","choices":[]}',
      'The upstream answered without `output`.',
    ],
    ['output that is not a list', '{"output":"Hi"}', 'The upstream answered without `output`.'],
    ['an empty error and no output', '{"error":{}}', 'The upstream reported an error.'],
    ['an error body', '{"error":{"message":"No such model."}}', 'No such model.'],
    ['an error beside output', '{"error":{"message":"m"},"output":[],"status":"completed"}', 'm'],
    ['an error that is a string', '{"error":"overloaded","output":[]}', 'overloaded'],
    ['a failed response', '{"status":"failed","output":[],"error":{"message":"quota"}}', 'quota'],
    [
      'a failed response without an error',
      '{"status":"failed","output":[]}',
      'The upstream reported an error.',
    ],
    ['a cancelled response', '{"status":"cancelled","output":[]}', 'The upstream reported an error.'],
    ['another envelope', '{"detail":"Not found"}', 'Not found'],
    ['a secret', '{"error":{"message":"bad key hunter2"}}', 'bad key [REDACTED]'],
    ['a secret in another envelope', '{"message":"bad key hunter2"}', 'bad key [REDACTED]'],
  ])('is an upstream fault: %s', (_, text, message) => {
    expect(read(text)).toEqual(fault(message));
  });

  it.each([
    ['a failed response', { status: 'failed', error: { code: 'server_error', message: 'm' }, output: [] }],
    ['an error body', { message: 'm' }],
  ])('is an upstream fault that keeps the reported usage: %s', (_, told) => {
    const usage = { input_tokens: 100, output_tokens: 50, total_tokens: 150 };
    expect(read(JSON.stringify({ ...told, usage }))).toMatchObject({ left: { kind: 'protocol', usage } });
  });

  it('is a fault or has an `output` array, whatever the upstream sends', () => {
    fc.assert(
      fc.property(fc.oneof(fc.json(), fc.string()), (text) => {
        const response = read(text);
        return E.isLeft(response) || Array.isArray(response.right['output']);
      }),
    );
  });
});

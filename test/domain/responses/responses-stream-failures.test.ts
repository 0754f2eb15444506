import { describe, expect, it } from '@jest/globals';
import { maxJsonDepth, maxParsedDepth, maxStreamEventBytes } from '../../../domain/shared/limits.ts';
import { streamFailure } from '../../../domain/upstream/upstream-fault.ts';
import { outputsOf } from '../../support/machine-laws.ts';
import {
  completed,
  created,
  delta,
  endOf,
  errorEvent,
  event,
  eventsOf,
  type Failed,
  failedEvent,
  failure,
  machine,
  quota,
  reset,
  response,
  upstreamDone,
  wireOf,
} from './responses-stream-told.ts';

const malformed = failure('The upstream sent a malformed event.');
/** The upstream's code is kept only with the upstream's own message. */
const ofUpstream = (message: string): Failed => ({
  kind: 'failed',
  error: streamFailure(message, undefined, message === quota.message ? { code: quota.code } : undefined),
});
const cancelled = event({ type: 'response.cancelled', response: response('cancelled') });

describe('a malformed stream or a top-level error is one failure, with no [DONE] afterwards', () => {
  it.each([
    ['cut JSON', '{"type":"response.'],
    ['HTML', '<html><body>Bad Gateway</body></html>'],
    ['a word', 'ok'],
    ['an array', '[{"type":"response.completed"}]'],
    ['a number', '1'],
    ['null', 'null'],
    ['a string', '"response.completed"'],
    ['a lower-case [done]', '[done]'],
  ])('%s', (_, data) => {
    expect(eventsOf([`data: ${data}\n\n`, completed, upstreamDone])).toEqual([malformed]);
    expect(eventsOf([completed, `data: ${data}\n\n`, upstreamDone]).at(-1)).toEqual(malformed);
  });

  it.each([
    [
      'an object',
      'data: {"error":{"message":"Provider returned error","code":502}}\n\n',
      'Provider returned error',
    ],
    ['a string', 'data: {"error":"overloaded"}\n\n', 'overloaded'],
    ['beside a type', event({ type: 'response.created', error: { message: 'm' } }), 'm'],
    [
      'in a completed event',
      event({ type: 'response.completed', error: quota, response: {} }),
      quota.message,
    ],
    ['an event named error of another type', 'event: error\ndata: {"type":"x","message":"m"}\n\n', 'm'],
    ['without a message', 'data: {"error":{"code":500}}\n\n', 'The upstream reported an error.'],
    ['empty, and without a type', 'data: {"error":{}}\n\n', 'The upstream reported an error.'],
    ['with a secret', 'data: {"error":{"message":"bad key hunter2"}}\n\n', 'bad key [REDACTED]'],
    [
      'without an envelope',
      'data: {"object":"error","message":"bad key hunter2","type":"InternalServerError","code":500}\n\n',
      'bad key [REDACTED]',
    ],
    ['by its type', 'data: {"message":"hunter2","type":"server_error"}\n\n', '[REDACTED]'],
    ['as details', 'data: {"detail":"hunter2"}\n\n', '[REDACTED]'],
    ['in a list', 'data: {"errors":[{"message":"hunter2"}]}\n\n', '[REDACTED]'],
    ['as a message only', 'event: status\ndata: {"message":"hunter2"}\n\n', '[REDACTED]'],
    ['in a response without a type', 'data: {"response":{"error":{"message":"hunter2"}}}\n\n', '[REDACTED]'],
  ])(
    'a top-level error is sent in the gateway’s event, with the upstream’s message: %s',
    (_, block, message) => {
      const events = eventsOf([created, block, completed, upstreamDone]);
      expect(wireOf(events)).toBe(created);
      expect(events.slice(1)).toEqual([{ ...ofUpstream(message), chunk: expect.anything() }]);
    },
  );

  it('an error in a list keeps the upstream’s message', () => {
    const events = eventsOf([created, 'data: [{"error":{"message":"hunter2"}}]\n\n', completed]);
    expect(events.slice(1)).toEqual([failure('[REDACTED]')]);
  });

  it('an event over the size limit is a failure', () => {
    const big = Buffer.concat([
      Buffer.from(`${created}data: {"type":"response.completed","response":{"x":"`),
      Buffer.alloc(maxStreamEventBytes, 'a'),
    ]);
    expect(outputsOf(machine, [big, Buffer.from(`"}}\n\n${completed}`)]).slice(1)).toEqual([
      failure('The upstream sent an event that is too large.'),
    ]);
  });

  it('an event over the size limit after the upstream’s own failure adds no second failure', () => {
    const big = Buffer.concat([Buffer.from(`${errorEvent}data: `), Buffer.alloc(maxStreamEventBytes, 'a')]);
    const events = outputsOf(machine, [big]);
    expect(events.map((each) => [each.kind, 'alreadyShown' in each])).toEqual([
      ['chunk', false],
      ['failed', true],
    ]);
  });
});

describe('the upstream’s own failure is forwarded as it came and counts as one; the gateway adds none', () => {
  const told = (message: string): Failed => ({ ...ofUpstream(message), alreadyShown: true });

  it.each<[string, readonly string[], string]>([
    ['error, then response.failed', [errorEvent, failedEvent], quota.message],
    ['response.failed, then error', [failedEvent, errorEvent], quota.message],
    ['error alone', [errorEvent], quota.message],
    ['response.failed alone', [failedEvent], quota.message],
    ['response.cancelled', [cancelled], 'The upstream reported an error.'],
    ['error twice', [errorEvent, errorEvent], quota.message],
    ['response.failed, then another error', [failedEvent, 'data: {"error":"m"}\n\n'], quota.message],
    ['an unnamed error', ['data: {"type":"error","message":"m"}\n\n'], 'm'],
    ['an error by name alone', ['event: error\ndata: {"message":"m"}\n\n'], 'm'],
    ['an error by name alone, in an envelope', ['event: error\ndata: {"error":{"message":"m"}}\n\n'], 'm'],
    ['an error without a message', ['event: error\ndata: {}\n\n'], 'The upstream reported an error.'],
    [
      'an error whose code is a number',
      ['event: error\ndata: {"type":"error","code":500}\n\n'],
      'The upstream reported an error.',
    ],
    [
      'response.failed without an error',
      [event({ type: 'response.failed', response: response('failed') })],
      'The upstream reported an error.',
    ],
    [
      'response.failed without a response',
      [event({ type: 'response.failed' })],
      'The upstream reported an error.',
    ],
    [
      'response.failed with an unknown status',
      [event({ type: 'response.failed', response: response('broken', { error: quota }) })],
      quota.message,
    ],
    [
      'response.failed whose error is a string',
      [event({ type: 'response.failed', response: response('failed', { error: 'overloaded' }) })],
      'overloaded',
    ],
  ])('%s', (_, blocks, message) => {
    for (const rest of ['', upstreamDone, `${upstreamDone}${upstreamDone}`])
      for (const ending of [undefined, reset])
        expect(endOf([created, ...blocks, rest], ending)).toEqual([created + blocks.join(''), told(message)]);
  });

  it('each event of the failure is marked as failing', () => {
    const events = eventsOf([created, errorEvent, failedEvent]);
    expect(events.map((each) => each.kind === 'chunk' && each.failing)).toEqual([
      undefined,
      true,
      true,
      false,
    ]);
  });

  it.each<[string, string]>([
    ['an event', delta],
    ['a terminal event', completed],
    ['a contradiction', event({ type: 'response.completed', response: response('failed') })],
    ['a chat chunk', 'data: {"object":"chat.completion.chunk","choices":[]}\n\n'],
    ['a malformed event', 'data: {"type\n\n'],
  ])('a failure is final: %s after it is not forwarded', (_, block) => {
    const ending = told(quota.message);
    expect(endOf([errorEvent, block])).toEqual([errorEvent, ending]);
    expect(endOf([errorEvent, block, upstreamDone])).toEqual([errorEvent, ending]);
  });

  it('a failure after a terminal event is still a failure', () => {
    expect(endOf([created, completed, errorEvent, upstreamDone])).toEqual([
      created + completed + errorEvent,
      told(quota.message),
    ]);
  });
});

describe('secrets in a failure never reach the caller', () => {
  const sent = (block: string): unknown[] =>
    eventsOf([block]).map((each) =>
      each.kind === 'chunk' ? (each.wire ?? JSON.stringify(each.chunk)) : each.kind,
    );

  it.each<[string, string, string]>([
    [
      'in an error event',
      '{"type":"error","message":"key hunter2","n":9007199254740993,"m":1.50}',
      '{"type":"error","message":"key [REDACTED]","n":9007199254740993,"m":1.50}',
    ],
    [
      'in the envelope of an error event',
      '{"type":"error","error":{"message":"key hunter2","code":1.0}}',
      '{"type":"error","error":{"message":"key [REDACTED]","code":1.0}}',
    ],
    [
      'in an error that is a string',
      '{"type":"error","error":"hunter2"}',
      '{"type":"error","error":"[REDACTED]"}',
    ],
    [
      'in the error of another upstream that is quoted',
      '{"type":"error","error":{"message":"m","metadata":{"raw":"hunter2","all":["a","hunter2",7,null]}}}',
      '{"type":"error","error":{"message":"m","metadata":{"raw":"[REDACTED]","all":["a","[REDACTED]",7,null]}}}',
    ],
    [
      'in a failed response',
      '{"type":"response.failed","response":{"status":"failed","error":{"message":"hunter2"},"top_p":1.0}}',
      '{"type":"response.failed","response":{"status":"failed","error":{"message":"[REDACTED]"},"top_p":1.0}}',
    ],
    ['under another key', '{"type":"error","detail":"hunter2"}', '{"type":"error","detail":"[REDACTED]"}'],
    [
      'written with escapes',
      '{"type":"error","message":"\\u0068unter2"}',
      '{"type":"error","message":"[REDACTED]"}',
    ],
  ])('%s, and every digit is kept', (_, payload, out) => {
    expect(sent(`data: ${payload}\n\n`)).toEqual([out, 'failed']);
  });

  it('a redacted event keeps its event name if its payload has no type', () => {
    expect(eventsOf(['event: error\ndata: {"message":"hunter2"}\n\n'])[0]).toMatchObject({
      chunk: { message: '[REDACTED]' },
      name: 'error',
    });
  });

  it('a failure without secrets is forwarded byte for byte', () => {
    const words = { code: 'hunter', message: 'm', metadata: { raw: ['a', 1, null, { b: true }] } };
    const block = event({ type: 'error', ...words, error: words });
    expect(wireOf(eventsOf([block]))).toBe(block);
  });

  it('fields that do not describe the failure are unchanged', () => {
    const inside = response('failed', { instructions: 'hunter2', output: [{ content: 'hunter2' }] });
    const block = event({ type: 'response.failed', response: inside, note: 'hunter2' });
    expect(wireOf(eventsOf([block]))).toBe(block);
  });

  it('secrets are also redacted in the error that is logged', () => {
    const block = event({ type: 'response.failed', response: response('failed', { error: 'hunter2' }) });
    expect(eventsOf([block]).at(-1)).toEqual({ ...failure('[REDACTED]'), alreadyShown: true });
  });

  it('a failure that is nested too deeply is replaced by the gateway’s own failure', () => {
    const deep = (levels: number): string =>
      `data: {"type":"error","error":${'['.repeat(levels)}"hunter2"${']'.repeat(levels)}}\n\n`;
    expect(eventsOf([created, deep(maxJsonDepth)]).slice(1)).toEqual([
      failure('The upstream sent an event that is nested too deeply.'),
    ]);
    expect(eventsOf([created, deep(100_000)]).slice(1)).toEqual([
      failure('The upstream sent a malformed event.'),
    ]);
    for (const levels of [100, maxJsonDepth - 1])
      expect(sent(deep(levels))).toEqual([expect.stringContaining('[REDACTED]'), 'failed']);
  });

  it('other events never cause an exception, however deeply they are nested', () => {
    const deep = (levels: number): string =>
      `data: {"type":"x","a":${'['.repeat(levels)}${']'.repeat(levels)}}\n\n`;
    const block = deep(maxParsedDepth - 1);
    expect(wireOf(eventsOf([block, completed]))).toBe(block + completed);
    expect(eventsOf([created, deep(200_000), completed]).slice(1)).toEqual([
      failure('The upstream sent a malformed event.'),
    ]);
  });
});

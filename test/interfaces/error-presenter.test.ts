import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import {
  type ErrorCode,
  type GatewayError,
  outcomeOf,
  statusOf,
  type UpstreamLabels,
} from '../../domain/shared/gateway-error.ts';
import type { JsonObject } from '../../domain/shared/json.ts';
import {
  errorHeaders,
  messagesError,
  messagesErrorInStream,
  openAiError,
} from '../../interfaces/http/error-presenter.ts';
import { responsesFormat } from '../../interfaces/http/public/wire-format.ts';

const codes = Object.keys(statusOf) as ErrorCode[];
const ofUpstream = (status: number, labels?: UpstreamLabels): GatewayError => ({
  code: 'upstream_error',
  message: 'm',
  upstream: { status, ...(labels === undefined ? {} : { labels }) },
});
const typeIn = ({ error }: JsonObject): unknown => (error as JsonObject)['type'];

const aLabel = fc.stringMatching(/^[A-Za-z0-9_.-]{1,64}$/);
const someLabels: fc.Arbitrary<UpstreamLabels> = fc.record(
  { code: aLabel, param: aLabel, messagesType: aLabel },
  { requiredKeys: [] },
);

describe('error headers for clients', () => {
  it.each(codes)('%s: `x-gateway-error` names it', (code) => {
    expect(errorHeaders({ code, message: 'm' })['x-gateway-error']).toBe(code);
  });

  it("name the gateway's code for every upstream error, whatever the upstream's labels are", () => {
    fc.assert(
      fc.property(fc.integer({ min: 400, max: 599 }), someLabels, (status, labels) => {
        const error = ofUpstream(status, labels);
        expect(errorHeaders(error)['x-gateway-error']).toBe('upstream_error');
        const { code, type, param } = openAiError(error).error;
        expect({ code, type, param }).toEqual({
          code: labels.code ?? 'upstream_error',
          type: 'upstream_error',
          param: labels.param ?? null,
        });
        expect(outcomeOf[error.code]).toBe('upstream_error');
      }),
    );
  });

  const final = new Set([400, 401, 403, 404, 405, 409, 413, 415]);
  it('have `x-should-retry: false` exactly for errors that the same request cannot get past', () => {
    for (const code of codes.filter((each) => each !== 'upstream_error'))
      expect([code, errorHeaders({ code, message: 'm' })['x-should-retry']]).toEqual([
        code,
        final.has(statusOf[code]) || code === 'budget_exceeded' ? 'false' : undefined,
      ]);
    for (let status = 400; status < 600; status += 1)
      expect([status, errorHeaders(ofUpstream(status))['x-should-retry']]).toEqual([
        status,
        final.has(status) ? 'false' : undefined,
      ]);
  });

  it('give the time when a budget resets, and `retry-after` only if the error has one', () => {
    const budgetResetsAt = '2026-11-22T00:00:00.000Z';
    const error: GatewayError = { code: 'budget_exceeded', message: 'm', budgetResetsAt };
    expect(errorHeaders(error)).toEqual({
      'x-gateway-error': 'budget_exceeded',
      'x-gateway-budget-resets-at': budgetResetsAt,
      'x-should-retry': 'false',
    });
    expect(errorHeaders({ ...error, retryAfterSecs: 7 })['retry-after']).toBe('7');
  });
});

describe('the error envelopes', () => {
  it('have the type `insufficient_quota` and the code `budget_exceeded` for a spent budget', () => {
    const error: GatewayError = { code: 'budget_exceeded', message: 'm' };
    expect(openAiError(error).error).toMatchObject({ type: 'insufficient_quota', code: 'budget_exceeded' });
    expect(typeIn(messagesError(error, 'r'))).toBe('rate_limit_error');
  });

  it("of the messages API keep the type of a messages upstream, with the gateway's code", () => {
    const error = ofUpstream(503, { messagesType: 'overloaded_error', code: 'c' });
    expect(messagesError(error, 'r')['error']).toEqual({
      type: 'overloaded_error',
      message: 'm',
      details: { error_code: 'upstream_error' },
    });
    expect(typeIn(messagesError(ofUpstream(429, { code: 'c' }), 'r'))).toBe('rate_limit_error');
  });

  it('in messages streams have `overloaded_error`, which agents retry, only when the gateway shuts down', () => {
    fc.assert(
      fc.property(fc.oneof(aLabel, fc.constant('overloaded_error')), (messagesType) => {
        const told = typeIn(messagesErrorInStream(ofUpstream(502, { messagesType }), 'r'));
        expect(told).toBe(messagesType === 'overloaded_error' ? 'api_error' : messagesType);
      }),
    );
    for (const code of codes)
      expect([
        code,
        typeIn(messagesErrorInStream({ code, message: 'm' }, 'r')) === 'overloaded_error',
      ]).toEqual([code, code === 'shutting_down']);
  });
});

describe('a responses stream that a budget blocks', () => {
  type Context = Parameters<typeof responsesFormat.writer>[0];
  const blocked: GatewayError = { code: 'budget_exceeded', message: 'Used up.' };

  it('ends with `error` and then `response.failed`, also if no event came before', () => {
    const spelling = responsesFormat.writer({} as Context);
    const frames = String(spelling({ kind: 'failed', error: blocked }))
      .trimEnd()
      .split('\n\n');
    expect(frames.map((frame) => frame.split('\n')[0])).toEqual(['event: error', 'event: response.failed']);
    const payloads = frames.map((frame) => JSON.parse(frame.split('\ndata: ')[1] ?? '') as JsonObject);
    expect(payloads[0]).toMatchObject({ code: 'budget_exceeded', error: { type: 'insufficient_quota' } });
    expect(payloads[1]).toMatchObject({
      sequence_number: 1,
      response: { status: 'failed', error: { code: 'insufficient_quota', message: 'Used up.' } },
    });
  });

  it('tells which response failed, as it began, and which error blocked it', () => {
    const spelling = responsesFormat.writer({} as Context);
    const identity = { id: 'resp_1', created_at: 7, model: 'm' };
    for (const chunk of [
      { type: 'response.created', response: { ...identity, status: 'in_progress', output: [{}] } },
      { type: 'response.in_progress', response: { id: 'resp_2' } },
    ])
      spelling({ kind: 'chunk', chunk, name: undefined, wire: undefined, terminal: false });
    const [error, failed] = String(spelling({ kind: 'failed', error: blocked }))
      .split('\n')
      .filter((line) => line.startsWith('data: '))
      .map((line) => JSON.parse(line.slice('data: '.length)) as JsonObject);
    expect(error).toMatchObject({ type: 'error', code: 'budget_exceeded', message: 'Used up.', param: null });
    expect(failed).toEqual({
      type: 'response.failed',
      sequence_number: 1,
      response: {
        ...identity,
        object: 'response',
        status: 'failed',
        error: { code: 'insufficient_quota', message: 'Used up.' },
        incomplete_details: null,
        output: [],
        usage: null,
      },
    });
  });

  it('continues from the last sequence number, also after events without one', () => {
    const spelling = responsesFormat.writer({} as Context);
    for (const chunk of [{ sequence_number: 4 }, {}])
      spelling({ kind: 'chunk', chunk, name: undefined, wire: undefined, terminal: false });
    expect(String(spelling({ kind: 'failed', error: blocked })).match(/"sequence_number":\d+/g)).toEqual([
      '"sequence_number":5',
      '"sequence_number":6',
    ]);
  });

  it.each(codes.filter((code) => code !== 'budget_exceeded'))(
    'that fails with %s ends with the `error` event alone',
    (code) => {
      const spelling = responsesFormat.writer({} as Context);
      expect(String(spelling({ kind: 'failed', error: { code, message: 'm' } }))).not.toContain(
        'response.failed',
      );
    },
  );
});

describe('docs/errors.md', () => {
  const page = readFileSync(path.join(import.meta.dirname, '..', '..', 'docs', 'errors.md'), 'utf8');

  it.each(codes)('lists the status and the type of %s', (code) => {
    const status = code === 'upstream_error' ? 'see below' : String(statusOf[code]);
    const type = typeIn(openAiError({ code, message: 'm' })) as string;
    expect(page).toContain(`| \`${code}\` | ${status} | \`${type}\``);
  });

  it('lists no other code', () => {
    const told = [...page.matchAll(/^\| `([a-z_]+)` \| (?:\d{3}|see below) \|/gm)].map(([, code]) => code);
    expect(new Set(told)).toEqual(new Set(codes));
    expect(told).toHaveLength(codes.length);
  });
});

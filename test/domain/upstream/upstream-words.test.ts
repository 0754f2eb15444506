import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import type { Json } from '../../../domain/shared/json.ts';
import {
  askedWait,
  upstreamFailure,
  upstreamLabels,
  upstreamMessage,
} from '../../../domain/upstream/upstream-words.ts';
import { aJson } from '../../support/arbitraries/json-text.ts';

describe('the upstream’s own message', () => {
  it.each<[string, Json, string | undefined]>([
    ['{error: {message}}', { error: { message: 'm', type: 't', code: 1 } }, 'm'],
    ['{error: "…"}', { error: 'm' }, 'm'],
    ['{message}', { message: 'm' }, 'm'],
    ['{detail}', { detail: 'm' }, 'm'],
    ['{Message}', { Message: 'm' }, 'm'],
    [
      'an error of the messages family',
      { type: 'error', error: { type: 'overloaded_error', message: 'm' } },
      'm',
    ],
    ['an envelope in {detail}', { detail: { message: 'm' } }, 'm'],
    ['another envelope in {detail}', { detail: { error: { message: 'm' } } }, 'm'],
    ['a failed response', { type: 'response.failed', response: { error: { message: 'm' } } }, 'm'],
    [
      'field faults',
      {
        detail: [
          { loc: ['body', 'messages', 0, 'content'], msg: 'Field required', type: 'missing' },
          { loc: ['body'], msg: 'm' },
          { msg: 'n' },
          { loc: ['query', 'x'], msg: 'o' },
        ],
      },
      'messages.0.content: Field required; m; n',
    ],
    ['field faults without messages', { detail: [{ loc: ['body'] }, { msg: 1 }, 'm'] }, undefined],
    ['the first of an array', [{ error: { message: 'm' } }, { error: { message: 'n' } }], 'm'],
    ['error before message', { message: 'n', error: { message: 'm' } }, 'm'],
    ['a message beside a textual status', { statusCode: 400, error: 'Bad Request', message: 'm' }, 'm'],
    ['an envelope in {error}', { error: { error: { message: 'm', code: 'c' } } }, 'm'],
    ['details in {error}', { error: { code: 'c', detail: 'm' } }, 'm'],
    ['the title of a problem', { type: 'about:blank', title: 'm', status: 404 }, 'm'],
    ['the details of a problem', { title: 'n', status: 404, detail: 'm' }, 'm'],
    ['{msg}', { code: 500, msg: 'm', success: false }, 'm'],
    ['message before detail', { detail: 'n', message: 'm' }, 'm'],
    ['an error without a message, and a message', { error: { code: 7 }, message: 'm' }, 'm'],
    ['an empty message, and a detail', { error: { message: '' }, detail: 'm' }, 'm'],
    ['an empty object', {}, undefined],
    ['not an object', 'm', undefined],
    ['null', null, undefined],
    ['an empty array', [], undefined],
    ['an array of text', ['m'], undefined],
    ['an array in an array', [[{ message: 'm' }]], undefined],
    [
      'messages that are not text',
      { error: { message: { text: 'm' } }, message: 1, detail: ['m'] },
      undefined,
    ],
    [
      'field faults in {message}',
      {
        object: 'error',
        message: {
          detail: [{ loc: ['body', 'max_completion_tokens'], msg: 'Extra inputs are not permitted' }],
        },
      },
      'max_completion_tokens: Extra inputs are not permitted',
    ],
    ['field faults as {message}', { message: [{ loc: ['body', 'n'], msg: 'm' }] }, 'n: m'],
    ['the first of {errors}', { success: false, errors: [{ message: 'm' }, { message: 'n' }] }, 'm'],
    ['the first of {errors} as text', { errors: ['m', 'n'] }, 'm'],
    [
      'errors by field',
      {
        title: 'n',
        status: 400,
        errors: { model: ['m', 'n'], max_tokens: 'o', other: [], n: [7], stop: ['p'] },
      },
      'model: m; max_tokens: o; stop: p',
    ],
    [
      'at most three errors by field',
      { errors: { a: ['m'], b: ['n'], c: ['o'], d: ['p'] } },
      'a: m; b: n; c: o',
    ],
    ['a message beside errors by field', { message: 'm', errors: { model: ['n'] } }, 'm'],
    ['errors by field without messages', { errors: { model: [{ x: 1 }], n: '' } }, undefined],
    ['errors by field in {error}', { error: { code: 422, errors: { model: ['m'] } } }, 'model: m'],
    ['a description in {errors}', { tpe: 'BadRequest', errors: [{ description: 'm', key: 'k' }] }, 'm'],
    [
      'the first of {messages} beside a status',
      { httpStatus: 429, messages: [{ errorCode: 'c', message: 'm' }, { message: 'n' }] },
      'm',
    ],
    ['{messages} without a status', { messages: [{ role: 'user', message: 'm' }] }, undefined],
    ['{error: ["…"]}', { error: ['m', 'n'] }, 'm'],
    ['{originalMessage}', { originalStatusCode: 424, originalMessage: 'm' }, 'm'],
    ['{base_resp}', { base_resp: { status_code: 1004, status_msg: 'm' } }, 'm'],
    ['{text, error_code}', { text: 'm', error_code: 50002 }, 'm'],
    ['a text beside an `error_code` of 0', { text: 'm', error_code: 0 }, undefined],
    ['empty errors', { errors: [], message: {}, base_resp: { status_code: 0 } }, undefined],
    ['a status of success', { base_resp: { status_code: 0, status_msg: 'success' } }, undefined],
    ['other fields', { title: 'm', reason: 'm', faults: [{ message: 'm' }] }, undefined],
  ])('%s', (_, body, message) => {
    expect(upstreamMessage(body)).toBe(message);
  });

  it('is absent when there was no body', () => {
    expect(upstreamMessage(undefined)).toBeUndefined();
  });

  it('is never the raw body, but only the non-empty text of a known field', () => {
    fc.assert(
      fc.property(aJson, (body) => {
        const message = upstreamMessage(body);
        return (
          message === undefined || (message !== '' && JSON.stringify(body).includes(JSON.stringify(message)))
        );
      }),
    );
  });
});

const shown = (words: string): string => words;

describe('the upstream’s own error labels', () => {
  it.each<[string, Json, object | undefined]>([
    [
      '{error: {code, param}}',
      { error: { message: 'm', type: 't', code: 'context_length_exceeded', param: 'messages' } },
      { code: 'context_length_exceeded', param: 'messages' },
    ],
    ['{error: "…", code}', { error: 'm', code: 'rate_limit_exceeded' }, { code: 'rate_limit_exceeded' }],
    ['{message, code}', { message: 'm', code: 'content_filter' }, { code: 'content_filter' }],
    ['{detail: {code}}', { detail: { message: 'm', code: 'no_credit' } }, { code: 'no_credit' }],
    ['{error: {error: {code}}}', { error: { error: { code: 'no_credit' } } }, { code: 'no_credit' }],
    ['{detail: {error: {code}}}', { detail: { error: { code: 'no_credit' } } }, { code: 'no_credit' }],
    [
      'the path of the first field fault',
      { detail: [{ loc: ['body', 'messages', 0], msg: 'm' }] },
      { param: 'messages.0' },
    ],
    [
      'the path of the first field fault in {message}',
      { message: { detail: [{ loc: ['body', 'n'], msg: 'm' }] } },
      { param: 'n' },
    ],
    ['{errors: [{code}]}', { errors: [{ message: 'm', code: 'no_credit' }] }, { code: 'no_credit' }],
    ['an error event', { type: 'error', code: 'server_error', message: 'm' }, { code: 'server_error' }],
    [
      'a failed response',
      { type: 'response.failed', response: { error: { code: 'rate_limit_exceeded', message: 'm' } } },
      { code: 'rate_limit_exceeded' },
    ],
    [
      'the messages family’s type',
      { type: 'error', error: { type: 'overloaded_error', message: 'm' } },
      { messagesType: 'overloaded_error' },
    ],
    [
      'the messages family’s code',
      { type: 'error', error: { type: 'rate_limit_error', message: 'm', details: { error_code: 'c' } } },
      { code: 'c', messagesType: 'rate_limit_error' },
    ],
    [
      'a canonical name beside a number',
      { error: { code: 429, message: 'm', status: 'RESOURCE_EXHAUSTED' } },
      { code: 'RESOURCE_EXHAUSTED' },
    ],
    ['a status without an error', { status: 'SUCCESS', data: {} }, undefined],
    ['{error_code, message}', { error_code: 'BAD_REQUEST', message: 'm' }, { code: 'BAD_REQUEST' }],
    [
      '{__type, message}',
      { __type: 'a.b#ThrottlingException', message: 'm' },
      { code: 'ThrottlingException' },
    ],
    ['a number as {error_code}', { error_code: 7, message: 'm' }, undefined],
    ['the type of another family', { error: { type: 'invalid_request_error', message: 'm' } }, undefined],
    ['a number', { error: { code: 429, message: 'm' } }, undefined],
    ['null', { error: { code: null, param: null, message: 'm' } }, undefined],
    ['a sentence', { error: { code: 'Too many requests', param: 'messages[0]', message: 'm' } }, undefined],
    ['an empty code', { error: { code: '', message: 'm' } }, undefined],
    ['64 characters', { error: { code: 'c'.repeat(64) } }, { code: 'c'.repeat(64) }],
    ['65 characters', { error: { code: 'c'.repeat(65) } }, undefined],
    ['not an object', 'm', undefined],
  ])('%s', (_, body, labels) => {
    expect(upstreamLabels(body, shown)).toEqual(labels);
  });

  it('are only short identifiers that contain nothing to be redacted', () => {
    const some = fc.oneof(
      fc.constantFrom('hunter2', 'a.hunter2', 'overloaded_error', 'x y', '', 'c'.repeat(65)),
      fc.string(),
      fc.integer(),
    );
    const words = fc.record(
      { code: some, param: some, type: some, status: some, details: fc.record({ error_code: some }) },
      { requiredKeys: [] },
    );
    const body = fc.oneof(
      words,
      fc.record({ type: fc.constant('error'), error: words }),
      fc.record({ detail: words }),
      fc.record({ detail: fc.array(fc.record({ loc: fc.array(some), msg: some })) }),
      fc.record({ response: fc.record({ error: words }) }),
      aJson,
    );
    const sanitise = (text: string): string => text.replaceAll('hunter2', '***');
    fc.assert(
      fc.property(body, (told) => {
        for (const label of Object.values(upstreamLabels(told, sanitise) ?? {})) {
          expect(label).toMatch(/^[A-Za-z0-9_.-]{1,64}$/);
          expect(label).not.toContain('hunter2');
        }
      }),
      { numRuns: 500 },
    );
  });

  it('are kept with the upstream’s message, or with the default message', () => {
    const body = { error: { code: 'content_filter', message: 'of hunter2' } };
    const sanitise = (text: string): string => text.replaceAll('hunter2', '***');
    expect(upstreamFailure(body, 'No.', sanitise)).toEqual({
      message: 'of ***',
      labels: { code: 'content_filter' },
    });
    expect(upstreamFailure({ error: { code: 'content_filter' } }, 'No.', shown)).toEqual({
      message: 'No.',
      labels: { code: 'content_filter' },
    });
    expect(upstreamFailure(undefined, 'No.', shown)).toEqual({ message: 'No.' });
  });
});

describe('the wait that an upstream error asks for', () => {
  const info = (retryDelay: Json): Json => ({
    '@type': 'type.googleapis.com/google.rpc.RetryInfo',
    retryDelay,
  });
  const others: Json[] = [{ '@type': 'type.googleapis.com/google.rpc.Help', links: [] }, 'no object'];
  const refusal = (details: Json): Json => ({ error: { code: 429, status: 'RESOURCE_EXHAUSTED', details } });

  it.each<[Json, string | undefined]>([
    ['27s', '27'],
    ['27.000000001s', '28'],
    ['0.2s', '1'],
    ['0s', '0'],
    ['-3s', undefined],
    ['27', undefined],
    ['a while', undefined],
    [27, undefined],
    [null, undefined],
  ])('for a retryDelay of %j is %j', (delay, seconds) => {
    expect(askedWait(refusal([...others, info(delay)]))).toBe(seconds);
    expect(askedWait([refusal([info(delay)])])).toBe(seconds);
  });

  it.each<[string, Json]>([
    ['without details', { error: { message: 'm' } }],
    ['with other details only', refusal(others)],
    ['with details that are not a list', refusal('27s')],
    ['with a wait in its message', { error: 'Wait 27s.' }],
  ])('is undefined for an error %s', (_case, body) => {
    expect(askedWait(body)).toBeUndefined();
  });

  it('is undefined for any other body', () => {
    fc.assert(fc.property(aJson, (body) => expect(askedWait(body)).toBeUndefined()));
  });
});

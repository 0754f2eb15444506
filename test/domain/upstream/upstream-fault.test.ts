import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { errorStatus } from '../../../domain/shared/gateway-error.ts';
import { maxErrorMessageChars, maxNamedKeyChars } from '../../../domain/shared/limits.ts';
import { namedKey } from '../../../domain/shared/named-key.ts';
import {
  boundedMessage,
  callerStatus,
  headersOnError,
  prematureEnd,
  sanitiseMessage,
  streamFailure,
  upstreamError,
} from '../../../domain/upstream/upstream-fault.ts';
import { withoutSecretParts } from '../../../domain/text/urls.ts';
import { aWebUrl, textOf } from '../../support/arbitraries/text.ts';
import { costWithin } from '../../support/cost.ts';

const statuses = (from: number, until: number): readonly number[] =>
  Array.from({ length: until - from }, (_, index) => from + index);

describe('upstream statuses', () => {
  it.each([400, 404, 408, 413, 422, 429])('%d keeps its status: the caller can act on it', (status) => {
    expect(callerStatus(status)).toBe(status);
  });

  it.each([401, 403])('%d becomes 502: it concerns the gateway’s own credentials', (status) => {
    expect(callerStatus(status)).toBe(502);
  });

  it.each([503, 529])('%d becomes 503', (status) => {
    expect(callerStatus(status)).toBe(503);
  });

  it('every other status of 300 … 599 becomes 502', () => {
    const named = new Set([400, 404, 408, 413, 422, 429, 503, 529]);
    const others = statuses(300, 600).filter((status) => !named.has(status));
    expect(others).toHaveLength(292);
    expect(new Set(others.map(callerStatus))).toEqual(new Set([502]));
  });
});

describe('a fault between the gateway and an upstream', () => {
  it('that is an error response keeps the upstream’s status, headers and message', () => {
    const headers = { 'retry-after': '7' };
    expect(upstreamError({ kind: 'status', status: 429, message: 'Slow down.', headers })).toEqual({
      code: 'upstream_error',
      message: 'Slow down.',
      upstream: { status: 429, upstreamStatus: 429, headers },
    });
  });

  it('keeps the upstream’s code, param and error type', () => {
    const labels = {
      code: 'context_length_exceeded',
      param: 'messages',
      messagesType: 'invalid_request_error',
    };
    const told = { status: 400, message: 'Too long.', headers: {}, labels };
    expect(upstreamError({ kind: 'status', ...told }).upstream?.labels).toEqual(labels);
    expect(upstreamError({ kind: 'protocol', message: 'Too long.', labels }).upstream?.labels).toEqual(
      labels,
    );
    expect(streamFailure('Too long.', undefined, labels).upstream?.labels).toEqual(labels);
  });

  it.each([401, 403])(
    'of status %d drops the error type, which would tell callers that their own key is wrong',
    (status) => {
      const labels = { code: 'invalid_api_key', messagesType: 'authentication_error' };
      const error = upstreamError({ kind: 'status', status, message: 'No.', headers: {}, labels });
      expect(error.upstream?.labels).toEqual({ code: 'invalid_api_key' });
    },
  );

  it.each([
    ['connect', 'The upstream did not accept a connection in time.'],
    ['first_byte', 'The upstream did not begin to answer in time.'],
    ['idle', 'The upstream went silent for too long.'],
    ['total', 'The upstream did not finish in time.'],
  ] as const)('that is a timeout is 504: %s', (phase, message) => {
    const error = upstreamError({ kind: 'timeout', phase });
    expect(error).toMatchObject({ code: 'upstream_error', message, upstream: { status: 504 } });
    expect(error.upstream?.upstreamStatus).toBeUndefined();
    expect(errorStatus(error)).toBe(504);
  });

  it.each([
    [
      'transport',
      upstreamError({ kind: 'transport' }),
      'The connection to the upstream could not be made, or it broke.',
    ],
    ['protocol', upstreamError({ kind: 'protocol', message: 'Not JSON.' }), 'Not JSON.'],
    ['in a stream', streamFailure('Cut.'), 'Cut.'],
  ])('of the kind %s is 502', (_, error, message) => {
    expect(error).toEqual({ code: 'upstream_error', message, upstream: { status: 502 } });
  });
});

describe('a message that is cut off', () => {
  it('is valid Unicode wherever the cut falls, because some clients cannot parse an answer that is not', () => {
    for (const before of ['', 'x']) {
      const message = boundedMessage(before + '😀'.repeat(maxErrorMessageChars));
      expect([message.isWellFormed(), message.length <= maxErrorMessageChars]).toEqual([true, true]);
      expect(namedKey(before + '😀'.repeat(maxNamedKeyChars)).isWellFormed()).toBe(true);
    }
    expect(boundedMessage('The upstream cut it off: \ud83d').isWellFormed()).toBe(true);
    expect(namedKey('\udc00').isWellFormed()).toBe(true);
  });
});

describe('a protocol fault', () => {
  it('keeps the upstream’s status for the log', () => {
    expect(upstreamError({ kind: 'protocol', message: 'Not JSON.', status: 200 })).toEqual({
      code: 'upstream_error',
      message: 'Not JSON.',
      upstream: { status: 502, upstreamStatus: 200 },
    });
  });
});

describe('a fault in a stream that has already begun', () => {
  it('is logged with status 502, or 504 for a timeout', () => {
    expect(errorStatus(streamFailure('Cut.'))).toBe(502);
    expect(errorStatus(streamFailure('Silent.', 504))).toBe(504);
  });

  it('has the fault code of the runtime and the labels of the upstream', () => {
    const labels = { code: 'no_memory' };
    expect(
      prematureEnd({ kind: 'fault', reason: 'Broken.', status: 504, labels, faultCode: 'ECONNRESET' }),
    ).toEqual({
      code: 'upstream_error',
      message: 'Broken.',
      upstream: { status: 504, labels, faultCode: 'ECONNRESET' },
    });
  });
});

describe('upstream headers that are passed on with errors', () => {
  it.each([
    ['retry-after', true],
    ['retry-after-ms', true],
    ['x-ratelimit-limit-requests', true],
    ['x-ratelimit-reset', true],
    ['anthropic-ratelimit-tokens-remaining', true],
    ['retry-after-x', false],
    ['x-ratelimit', false],
    ['x-should-retry', false],
    ['set-cookie', false],
    ['authorization', false],
    ['content-type', false],
    ['x-request-id', false],
    ['server', false],
    ['my-x-ratelimit-limit', false],
  ])('%s is passed on: %p', (header, passes) => {
    expect(headersOnError({ [header]: '7' }, (text) => text)).toEqual(passes ? { [header]: '7' } : {});
  });
});

describe('a header of an upstream error', () => {
  const sanitise = (text: string): string => text.replaceAll('hunter2', '***');

  it('that contains something to be redacted is not passed on, and others are passed on unchanged', () => {
    const headers = {
      'retry-after': '7',
      'retry-after-ms': '700',
      'x-ratelimit-limit-requests': ['10', '20'],
      'x-ratelimit-key': 'of hunter2',
      'anthropic-ratelimit-requests-reset': '2026-01-01T00:00:00Z',
      'content-type': 'text/plain',
      'x-ratelimit-absent': undefined,
    };
    expect(headersOnError(headers, sanitise)).toEqual({
      'retry-after': '7',
      'retry-after-ms': '700',
      'x-ratelimit-limit-requests': '10,20',
      'anthropic-ratelimit-requests-reset': '2026-01-01T00:00:00Z',
    });
  });

  it.each([
    ['120', true],
    ['Wed, 21 Oct 2026 07:28:00 GMT', true],
    ['soon', false],
    ['-1', false],
    ['0.25', true],
    ['1.', false],
    ['7, 9', false],
    ['', false],
    ['2026-10-21T07:28:00Z', false],
  ])('`retry-after: %s` is passed on: %p', (value, passes) => {
    expect(headersOnError({ 'retry-after': value }, sanitise)).toEqual(
      passes ? { 'retry-after': value } : {},
    );
  });
});

describe('a URL keeps scheme, host, port and path', () => {
  it.each([
    ['https://example.com', 'https://example.com'],
    ['https://example.com:8443/a/b', 'https://example.com:8443/a/b'],
    ['https://example.com/a?sig=s', 'https://example.com/a?[REDACTED]'],
    ['https://example.com?sig=s', 'https://example.com?[REDACTED]'],
    ['https://example.com/a?', 'https://example.com/a?[REDACTED]'],
    ['https://example.com/a?sig=s#part', 'https://example.com/a?[REDACTED]'],
    ['https://example.com/a#part?x=y', 'https://example.com/a'],
    ['https://example.com/a?b=https://c.d/?e=f', 'https://example.com/a?[REDACTED]'],
    ['https://user:pass@example.com/a', 'https://example.com/a'],
    ['https://user@example.com', 'https://example.com'],
    ['https://u:p@v@example.com/a?b', 'https://example.com/a?[REDACTED]'],
    ['https://example.com/@user/a@b', 'https://example.com/@user/a@b'],
    ['https://proxy.example/https://user:pass@example.com/a', 'https://proxy.example/https://example.com/a'],
    [
      'postgres://gateway:secret@127.0.0.1:5432/db?sslmode=disable',
      'postgres://127.0.0.1:5432/db?[REDACTED]',
    ],
    ['gs://bucket/object?generation=1', 'gs://bucket/object?[REDACTED]'],
    ['HTTPS://EXAMPLE.COM/A?B=C', 'HTTPS://EXAMPLE.COM/A?[REDACTED]'],
    ['https://[::1]:8080/a?b', 'https://[::1]:8080/a?[REDACTED]'],
    ['https://u:p@h/p?sig=s#a\nb', 'https://h/p?[REDACTED]'],
    ['https://us er:p w@h/p', 'https://h/p'],
    [' https://u:p@h/p?sig=s', ' https://h/p?[REDACTED]'],
    ['://u:p@h/p?sig=s', '://h/p?[REDACTED]'],
    ['https://h/p?sig=\u2028s', 'https://h/p?[REDACTED]'],
  ])('%j', (url, clean) => {
    expect(withoutSecretParts(url)).toBe(clean);
  });

  it.each([[''], ['no url'], ['data:image/png;base64,AAAA'], ['mailto:a@example.com']])(
    'a text that is not a URL with a host is unchanged: %j',
    (text) => {
      expect(withoutSecretParts(text)).toBe(text);
    },
  );
});

const secretText = textOf('ABCDEFGHIJKLMNOPQRSTUVWXYZ', 12, 16);
/** A path without another URL in it, which would have userinfo of its own. */
const path = textOf('abc/._-@:0123456789%~', 0, 10)
  .filter((text) => !text.includes('://'))
  .map((text) => `/${text}`);

/** A URL with secrets in its userinfo, its query and its fragment, and the URL that may be shown. */
const aSecretUrl = fc
  .record({
    scheme: fc.constantFrom('https', 'http', 'gs', 'postgres', 's3+x'),
    host: fc.constantFrom('example.com', 'a.b.example:8443', '127.0.0.1', '[::1]:80'),
    path,
    user: fc.option(secretText),
    query: fc.option(secretText),
    fragment: fc.option(secretText),
    quote: fc.constantFrom('', "'", '&x=', '/', '@', '://'),
  })
  .map(({ scheme, host, path: shown, user, query, fragment, quote }) => ({
    url: [
      `${scheme}://`,
      user === null ? '' : `${user}:${user}@`,
      host,
      shown,
      query === null ? '' : `?sig=${quote}${query}`,
      fragment === null ? '' : `#${fragment}`,
    ].join(''),
    clean: `${scheme}://${host}${shown}${query === null ? '' : '?[REDACTED]'}`,
    secrets: [user, query, fragment].filter((each) => each !== null),
  }));

describe('a sanitised URL', () => {
  it('never contains a query, userinfo or a fragment', () => {
    fc.assert(
      fc.property(aSecretUrl, ({ url, clean }) => {
        expect(withoutSecretParts(url)).toBe(clean);
      }),
      { numRuns: 500 },
    );
  });

  it('is not changed when it is sanitised again', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          aSecretUrl.map(({ url }) => url),
          aWebUrl,
          fc.string(),
        ),
        (url) => {
          expect(withoutSecretParts(withoutSecretParts(url))).toBe(withoutSecretParts(url));
        },
      ),
      { numRuns: 500 },
    );
  });
});

describe('a sanitised upstream message', () => {
  it.each([
    ['nothing to hide', 'Model not found.', 'Model not found.'],
    ['a URL', 'Could not fetch https://u:p@h/a?sig=s now', 'Could not fetch https://h/a?[REDACTED] now'],
    [
      'two URLs',
      'from https://a/x?y to https://b/x?z',
      'from https://a/x?[REDACTED] to https://b/x?[REDACTED]',
    ],
    ['a URL in double quotes', 'fetch "https://h/a?b=c" failed', 'fetch "https://h/a?[REDACTED]" failed'],
    ['a URL in apostrophes', "fetch 'https://h/a?b=c' failed", "fetch 'https://h/a?[REDACTED]' failed"],
    [
      'a URL in apostrophes, with apostrophes in its query',
      "fetch 'https://h/a?f='x'&sig=s', please",
      "fetch 'https://h/a?[REDACTED]', please",
    ],
    ['an apostrophe in a query', "fetch https://h/a?f='x'&sig=s now", 'fetch https://h/a?[REDACTED] now'],
    ['a URL in angle brackets', 'see <https://h/a?b=c>.', 'see <https://h/a?[REDACTED]>.'],
    ['a URL after an underscore', 'url_https://u:p@h/a?b=c', 'url_https://h/a?[REDACTED]'],
    ['a URL after a digit', '1https://h/a?b=c', '1https://h/a?[REDACTED]'],
    ['a URL in JSON', '{"url":"https://h/a?b=c","n":1}', '{"url":"https://h/a?[REDACTED]","n":1}'],
    ['a URL on a line of its own', 'see\nhttps://h/a?b=c\nbye', 'see\nhttps://h/a?[REDACTED]\nbye'],
  ])('%s', (_, message, clean) => {
    expect(sanitiseMessage(message, [])).toBe(clean);
  });

  it('has every configured credential replaced, wherever it occurs', () => {
    const secrets = ['token-12345678', 'token-12345678-and-more', 'p@ss/w0rd?x'];
    const message = 'Bad token-12345678, token-12345678-and-more; p@ss/w0rd?x in https://h/p@ss/w0rd?x';
    const clean = sanitiseMessage(message, secrets);
    expect(clean).toBe('Bad [REDACTED], [REDACTED]; [REDACTED] in https://h/[REDACTED]');
  });

  const words = fc.oneof(fc.string(), fc.constantFrom(' ', ', ', "'", '"', '(', 'see ', '\n'));
  const aMessage = fc.array(fc.oneof(words, aSecretUrl), { maxLength: 5 });
  const wordsOf = (parts: readonly (string | { readonly url: string })[]): string =>
    parts.map((part) => (typeof part === 'string' ? part : ` ${part.url} `)).join('');

  it('never contains the secret parts of a URL', () => {
    fc.assert(
      fc.property(aMessage, (parts) => {
        const clean = sanitiseMessage(wordsOf(parts), []);
        for (const part of parts)
          if (typeof part !== 'string')
            for (const secret of part.secrets) expect(clean).not.toContain(secret);
      }),
      { numRuns: 500 },
    );
  });

  it('never contains a configured credential', () => {
    fc.assert(
      fc.property(
        fc.array(secretText, { minLength: 1, maxLength: 3 }),
        aMessage,
        fc.nat(),
        (secrets, parts, at) => {
          const text = wordsOf(parts);
          const place = at % (text.length + 1);
          const clean = sanitiseMessage(text.slice(0, place) + secrets.join('') + text.slice(place), secrets);
          for (const secret of secrets) expect(clean).not.toContain(secret);
        },
      ),
      { numRuns: 300 },
    );
  });

  it('is the same when it is sanitised again', () => {
    fc.assert(
      fc.property(aMessage, fc.array(secretText, { maxLength: 2 }), (parts, secrets) => {
        const clean = sanitiseMessage(wordsOf(parts), secrets);
        expect(sanitiseMessage(clean, secrets)).toBe(clean);
      }),
      { numRuns: 500 },
    );
  });

  it('keeps a message without URLs and credentials as it is', () => {
    fc.assert(
      fc.property(fc.string(), (message) => {
        fc.pre(!message.includes('://'));
        expect(sanitiseMessage(message, ['some-credential'])).toBe(message);
      }),
    );
  });

  it.each([
    [maxErrorMessageChars, 'a'.repeat(maxErrorMessageChars)],
    [maxErrorMessageChars + 1, `${'a'.repeat(maxErrorMessageChars - 1)}…`],
    [100_000, `${'a'.repeat(maxErrorMessageChars - 1)}…`],
  ])('is cut to its maximum length: %d characters', (size, clean) => {
    expect(sanitiseMessage('a'.repeat(size), [])).toBe(clean);
  });

  it('is cut after redaction, so that no part of a credential remains at the end', () => {
    const message = `${'a'.repeat(maxErrorMessageChars - 8)}token-12345678`;
    expect(sanitiseMessage(message, ['token-12345678'])).not.toContain('token');
  });

  it.each([
    ['letters', 'a'.repeat(8_000_000)],
    ['letters and dots', 'a.'.repeat(4_000_000)],
    ['schemes without end', '://'.repeat(2_600_000)],
    ['quoted schemes', "'a://'a://".repeat(800_000)],
    ['apostrophes', `'a://${"'".repeat(8_000_000)}`],
    ['at signs', `://${'@'.repeat(8_000_000)}`],
    ['many userinfos', '://a@'.repeat(1_600_000)],
    ['question marks', `a://${'?'.repeat(8_000_000)}`],
  ])('takes time proportional to its length, whatever it contains: 8 MB of %s', (_, message) => {
    const work = (): void =>
      expect(sanitiseMessage(message, ['token-12345678']).length).toBeLessThanOrEqual(maxErrorMessageChars);
    expect(costWithin(5000, work)).toBeLessThan(5000);
  });
});

import { readFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { Writable } from 'node:stream';
import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { ConnectionError } from 'slonik';
import {
  causeOf,
  databaseFaultLog,
  defectFields,
  failuresOf,
  logThrottled,
  openLog,
} from '../../infrastructure/logging.ts';
import { timed } from '../support/undisturbed.ts';

const coded = (code: string): Error =>
  Object.assign(new Error(`it says ${code}, and quotes a value`), { code });

describe('the cause that a log line names', () => {
  it.each(['ECONNREFUSED', 'EMFILE', 'ENOSPC', '53100', '25006', 'UND_ERR_SOCKET'])(
    'is the code %s, however the error is wrapped',
    (code) => {
      const wrap = fc.constantFrom<(error: Error) => Error>(
        (cause) => new Error('wrapped', { cause }),
        (cause) => new ConnectionError(`connect ${code} 127.0.0.1:1`, { cause }),
        (cause) => new AggregateError([new Error('another address'), cause]),
      );
      fc.assert(
        fc.property(fc.array(wrap, { maxLength: 4 }), (wraps) => {
          expect(causeOf(wraps.reduce((error, each) => each(error), coded(code)))).toBe(code);
        }),
      );
    },
  );

  it('is the code of a system error', async () => {
    const missing: unknown = await readFile('/there/is/nothing').catch((error: unknown) => error);
    expect(causeOf(missing)).toBe('ENOENT');
    const refused: unknown = await new Promise((resolve) => connect(1, '127.0.0.1').once('error', resolve));
    expect(causeOf(refused)).toBe('ECONNREFUSED');
  });

  it.each([
    [new Error('Connection terminated unexpectedly'), 'Connection terminated unexpectedly'],
    [new ConnectionError('hunter2'), 'ConnectionError'],
    [new TypeError('hunter2'), 'TypeError'],
    [new Error('hunter2', { cause: new RangeError('hunter2') }), 'RangeError'],
    [new Error('hunter2'), 'Error'],
    ['hunter2', 'string'],
    [undefined, 'undefined'],
  ])('of %p is %s: a message that may contain a value is omitted', (error, cause) => {
    expect(causeOf(error)).toBe(cause);
  });

  it('is found if errors are causes of each other', () => {
    const first: Error & { cause?: unknown } = new Error('a');
    first.cause = new Error('b', { cause: first });
    expect(causeOf(first)).toBe('Error');
  });
});

describe('a defect in the log', () => {
  it('has its cause, its redacted message and its stack', () => {
    const fields = defectFields(new TypeError('x is no function of hunter2'), (message) =>
      message.replace('hunter2', '[REDACTED]'),
    );
    expect(fields).toEqual({
      error: 'TypeError',
      message: 'x is no function of [REDACTED]',
      stack: expect.stringMatching(/^\s+at /),
    });
    expect(fields.stack).not.toContain('hunter2');
  });
});

async function logged(fields: object, message: string): Promise<string> {
  let text = '';
  const output = new Writable({
    write: (chunk: Buffer, _encoding, done) => {
      text += chunk.toString();
      done();
    },
  });
  const log = openLog(output);
  log.warn(fields, message);
  await log.flush();
  return text;
}

describe('a log line', () => {
  it('contains no control character, whatever a caller sent, and parses to what was sent', async () => {
    const code = fc.oneof(fc.integer({ min: 0, max: 0x9f }), fc.integer({ min: 0x202a, max: 0x2069 }));
    const control = code.map((each) => String.fromCharCode(each));
    const text = fc.array(fc.oneof(control, fc.string()), { maxLength: 8 }).map((parts) => parts.join(''));
    await fc.assert(
      fc.asyncProperty(text, text, async (id, message) => {
        const line = await logged({ request_id: id }, message);
        // oxlint-disable-next-line no-control-regex -- the rule is about control characters
        expect(line.slice(0, -1)).not.toMatch(/[\u0000-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/);
        expect(JSON.parse(line)).toMatchObject({ level: 'warn', msg: message, request_id: id });
      }),
    );
  });
});

describe('a log whose disk is temporarily full', () => {
  it('reports the number of dropped lines once lines can be written again', async () => {
    let text = '';
    let isFull = true;
    // Like standard output, it continues after an error.
    const output = Object.assign(new Writable(), {
      write: (chunk: string, done: (error?: Error) => void): boolean => {
        if (!isFull) text += chunk;
        done(isFull ? coded('ENOSPC') : undefined);
        return true;
      },
    });
    const log = openLog(output);
    log.info({}, 'one');
    log.info({}, 'two');
    await log.flush();
    log.info({}, 'three');
    await log.flush();
    isFull = false;
    log.info({}, 'four');
    log.info({}, 'five');
    await log.flush();
    const [four, five] = text.trimEnd().split('\n');
    expect(JSON.parse(four ?? '')).toMatchObject({ msg: 'four', dropped_lines: 3 });
    expect(JSON.parse(five ?? '')).not.toHaveProperty('dropped_lines');
  });
});

describe('a log whose reader is blocked', () => {
  it('keeps 8 MiB of lines, and reports the number of dropped lines once they are read', async () => {
    const taken: string[] = [];
    let take: (() => void) | undefined;
    let stands = true;
    const output = new Writable({
      decodeStrings: false,
      write: (chunk: string, _encoding, done) => {
        taken.push(chunk);
        if (stands) take = done;
        else done();
      },
    });
    const log = openLog(output);
    const lineChars = 1024;
    const count = 12_000;
    for (let line = 0; line < count; line += 1)
      log.info({ line, text: 'x'.repeat(lineChars) }, 'one of many');
    stands = false;
    take?.();
    await log.flush();
    const kept = taken.join('').trimEnd().split('\n').length;
    expect(kept * lineChars).toBeLessThan(8 * 1024 * 1024);
    expect(kept * (lineChars + 100)).toBeGreaterThan(8 * 1024 * 1024);
    taken.length = 0;
    log.info({}, 'read again');
    await log.flush();
    expect(JSON.parse(taken.join(''))).toMatchObject({ msg: 'read again', dropped_lines: count - kept });
  });

  it('delays a flush at the end of the process by about one second', async () => {
    const log = openLog(new Writable({ write: () => undefined }));
    log.info({}, 'one');
    const { ms, allMs } = await timed(() => log.flush());
    expect(allMs).toBeGreaterThan(900);
    expect(ms).toBeLessThan(2000);
  });
});

describe('failures of a repeated operation', () => {
  it('are logged when they start, have another cause, or start again after a success', () => {
    const told: unknown[] = [];
    const error = (fields: object): void => void told.push(fields);
    const log = { info: error, warn: error, error, flush: () => Promise.resolve() };
    const { failed, worked } = failuresOf(log, 'it failed');
    for (const code of ['ECONNREFUSED', 'ECONNREFUSED', 'EMFILE', 'EMFILE', 'EMFILE']) failed(coded(code));
    worked();
    worked();
    failed(coded('EMFILE'));
    expect(told).toEqual([{ error: 'ECONNREFUSED' }, { error: 'EMFILE' }, { error: 'EMFILE' }]);
  });
});

describe('failures that occur with every statement', () => {
  it('are logged once per kind, and again after a minute with the number of those in between', () => {
    const told: unknown[] = [];
    const error = (fields: object): void => void told.push(fields);
    const log = { info: error, warn: error, error, flush: () => Promise.resolve() };
    let now = 0;
    const tell = logThrottled(log, 'it failed', () => now);
    for (const kind of ['ECONNREFUSED', 'ECONNREFUSED', '57P01', 'ECONNREFUSED']) tell({ error: kind });
    now = 59_999;
    tell({ error: 'ECONNREFUSED' });
    expect(told).toEqual([{ error: 'ECONNREFUSED' }, { error: '57P01' }]);
    now = 60_000;
    for (const kind of ['ECONNREFUSED', '57P01', '57P01']) tell({ error: kind });
    expect(told.slice(2)).toEqual([{ error: 'ECONNREFUSED', more: 3 }, { error: '57P01' }]);
    now = 200_000;
    tell({ error: 'ECONNREFUSED' });
    expect(told.at(-1)).toEqual({ error: 'ECONNREFUSED' });
  });

  it('are logged once for a hundred statements while the database is unavailable', () => {
    const told: unknown[] = [];
    const error = (fields: object): void => void told.push(fields);
    const tell = databaseFaultLog({ info: error, warn: error, error, flush: () => Promise.resolve() });
    for (let batch = 0; batch < 100; batch += 1) tell('connection', coded('ECONNREFUSED'));
    expect(told).toEqual([{ fault: 'connection', sqlstate: undefined, error: 'ECONNREFUSED' }]);
  });
});

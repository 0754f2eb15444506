import { isDeepStrictEqual } from 'node:util';
import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import {
  maxEscapedKeys,
  maxJsonDepth,
  maxStreamEventBytes,
  maxStreamEventLines,
  maxStreamEventMembers,
  maxStreamEventValues,
  maxUpstreamErrorBytes,
} from '../../domain/shared/limits.ts';
import type { TextFrame } from '../../domain/shared/text-frame.ts';
import type { Ending } from '../../domain/shared/stream-machine.ts';
import { sseFrames, reportingSseFrames } from '../../infrastructure/providers/wire/sse.ts';
import { byteByByte, cutAt } from '../support/arbitraries/bytes.ts';
import {
  aLineEnding,
  aWrittenEvent,
  eventStreamSoup,
  linesOf,
} from '../support/arbitraries/event-streams.ts';
import { costWithin } from '../support/cost.ts';
import { describeMachineLaws, outputsOf } from '../support/machine-laws.ts';

describeMachineLaws('sseFrames', {
  machine: sseFrames,
  streams: eventStreamSoup,
  isTerminal: ({ kind }) => kind === 'oversize',
  endless: {
    piece: Buffer.alloc(1024 * 1024, 'a'),
    pushes: 3 * (maxStreamEventBytes / (1024 * 1024)),
    outputs: [{ kind: 'oversize' }],
  },
});

/** Event streams, with error text outside their events. */
const toldSoup = fc
  .array(
    fc.oneof(
      eventStreamSoup,
      fc
        .constantFrom(
          'error: out\n\n',
          'error:',
          '{"error":{"message":"m"}}',
          '{"message":"m"}\r\n\r\n',
          '\n\n',
        )
        .map((text) => Buffer.from(text)),
    ),
    { maxLength: 6 },
  )
  .map((pieces) => Buffer.concat(pieces));

describeMachineLaws('reportingSseFrames', {
  machine: reportingSseFrames(String),
  streams: toldSoup,
  isTerminal: ({ kind }) => kind === 'oversize',
  endless: {
    piece: Buffer.alloc(1024 * 1024, 'error: '),
    pushes: 3 * (maxStreamEventBytes / (1024 * 1024)),
    outputs: [{ kind: 'oversize' }],
  },
});

const framesOf = (text: string | Buffer): readonly TextFrame[] => outputsOf(sseFrames, [Buffer.from(text)]);

/** The event and data of each frame, without its bytes. */
const read = (text: string | Buffer) =>
  framesOf(text).map((frame) => (frame.kind === 'frame' ? [frame.event, frame.data] : frame.kind));

const wireOf = (frames: readonly TextFrame[]): Buffer =>
  Buffer.concat(frames.map((frame) => (frame.kind === 'frame' ? frame.wire : Buffer.alloc(0))));

describe('reading an event stream', () => {
  it.each([
    ['LF', 'data: a\n\ndata: b\n\n'],
    ['CRLF', 'data: a\r\n\r\ndata: b\r\n\r\n'],
    ['CR', 'data: a\r\rdata: b\r\r'],
    ['CRLF, then LF', 'data: a\r\n\ndata: b\r\n\n'],
    ['LF, then CRLF', 'data: a\n\r\ndata: b\n\r\n'],
    ['CR, then CRLF', 'data: a\r\r\ndata: b\r\r\n'],
    ['LF, then CR', 'data: a\n\rdata: b\n\r'],
    ['no space after the colon', 'data:a\n\ndata:b\n\n'],
    ['blank lines before, between and after', '\n\n\r\n\rdata: a\n\n\n\n\r\n\r\rdata: b\n\n\n'],
    ['a byte order mark at the start', '\uFEFFdata: a\n\ndata: b\n\n'],
    ['comments between the events', ': hello\n\ndata: a\n\n: ping\n\n:\n\ndata: b\n\n: bye\n\n'],
    ['comments inside the events', ': one\ndata: a\n\n:\ndata: b\n: two\n\n'],
    ['unused and unknown fields', 'id: 1\ndata: a\nretry: 5\n\ndata: b\nunknown\nid\n\n'],
  ])('returns the same events with %s', (_, text) => {
    expect(read(text)).toEqual([
      [undefined, 'a'],
      [undefined, 'b'],
    ]);
  });

  it.each([
    ['the name before the data', 'event: e\ndata: d\n\n', ['e', 'd']],
    ['the data before the name', 'data: d\nevent: e\n\n', ['e', 'd']],
    ['the name between two lines of data', 'data: d\nevent: e\ndata: f\n\n', ['e', 'd\nf']],
    ['two names', 'event: e\nevent: f\ndata: d\n\n', ['f', 'd']],
    ['no value', 'event\ndata: d\n\n', ['', 'd']],
  ])('accepts name and data in any order: %s', (_, text, frame) => {
    expect(read(text)).toEqual([frame]);
  });

  it.each([
    ['data: a\ndata: b\n\n', 'a\nb'],
    ['data: a\r\ndata: b\r\n\r\n', 'a\nb'],
    ['data: a\rdata: b\r\r', 'a\nb'],
    ['data: a\ndata:\ndata: b\n\n', 'a\n\nb'],
    ['data:\ndata:\n\n', '\n'],
    ['data\ndata: x\n\n', '\nx'],
  ])('joins the lines of data: %j', (text, data) => {
    expect(read(text)).toEqual([[undefined, data]]);
  });

  it.each([['data:\n\n'], ['data: \n\n'], ['data\n\n'], ['data:\r\n\r\n'], ['data:\r\r']])(
    'reads %j as an event with empty data',
    (text) => {
      expect(read(text)).toEqual([[undefined, '']]);
    },
  );

  it.each([
    ['data:  two spaces\n\n', ' two spaces'],
    ['data:\ttab\n\n', '\ttab'],
    ['data: a: b: c\n\n', 'a: b: c'],
    ['data: tail  \n\n', 'tail  '],
    ['data:{"a":"\\n"}\n\n', '{"a":"\\n"}'],
    ['data: \u2028 is no line break\n\n', '\u2028 is no line break'],
    ['data: \uFEFF\n\n', '\uFEFF'],
  ])('removes one space after the colon and nothing else: %j', (text, data) => {
    expect(read(text)).toEqual([[undefined, data]]);
  });

  it.each([
    ['nothing', ''],
    ['comments only', ': a\n\n: b\n\n'],
    ['a name without data', 'event: e\n\n'],
    ['an id without data', 'id: 1\n\n'],
    ['a field that only starts with data', 'dataset: 1\n\n'],
    ['a field in capitals', 'DATA: 1\n\n'],
    ['a field after a space', ' data: 1\n\n'],
    ['a byte order mark only', '\uFEFF\n\n'],
  ])('returns no event for %s', (_, text) => {
    expect(read(text)).toEqual([]);
  });

  it.each(['meta', 'dota', 'daba', 'date', 'datas', 'dat', 'Data'])(
    'does not take the field %s for data',
    (field) => {
      expect(framesOf(`${field}: {}\n\n`)).toEqual([]);
    },
  );

  it('removes a byte order mark only at the very start, from the bytes too', () => {
    const text = 'event: e\ndata: a\n\n';
    for (const pieces of [[Buffer.from(`\uFEFF${text}`)], byteByByte(Buffer.from(`\uFEFF${text}`))])
      expect(wireOf(outputsOf(sseFrames, pieces)).toString()).toBe(text);
    expect(read('data: a\n\n\uFEFFdata: b\n\ndata: c\n\n')).toEqual([
      [undefined, 'a'],
      [undefined, 'c'],
    ]);
  });

  it.each([
    ['data: b'],
    ['data: b\n'],
    ['data: b\r\n'],
    ['data: b\r'],
    ['data: b\nevent: e\n'],
    ['event: e'],
  ])('ignores an event that is cut at the end: %j', (rest) => {
    expect(read(`data: a\n\n${rest}`)).toEqual([[undefined, 'a']]);
  });

  it('returns an event whose blank line is a lone CR at the end of the stream', () => {
    const run = sseFrames.begin();
    expect(run.push(Buffer.from('data: a\r\r'))).toEqual([]);
    expect(run.end({ kind: 'eof' })).toMatchObject([{ data: 'a' }]);
  });

  it('returns an event at its blank line, not later', () => {
    const run = sseFrames.begin();
    expect(run.push(Buffer.from('data: a\n\ndata: b'))).toMatchObject([{ data: 'a' }]);
    expect(run.push(Buffer.from('\n'))).toEqual([]);
    expect(run.push(Buffer.from('\n'))).toMatchObject([{ data: 'b' }]);
  });

  it('decodes characters correctly where their bytes arrive one by one', () => {
    const bytes = Buffer.from('event: é\ndata: 😀 ümläut 漢字\n\n');
    expect(outputsOf(sseFrames, byteByByte(bytes))).toMatchObject([{ event: 'é', data: '😀 ümläut 漢字' }]);
  });

  it('decodes invalid UTF-8 as U+FFFD, and keeps the bytes unchanged', () => {
    const bytes = Buffer.concat([
      Buffer.from('data: '),
      Buffer.from([0xc3, 0x28, 0xff]),
      Buffer.from('\n\n'),
    ]);
    expect(framesOf(bytes)).toEqual([
      { kind: 'frame', event: undefined, data: '\uFFFD(\uFFFD', wire: bytes },
    ]);
  });
});

describe('text outside the events of a stream', () => {
  const sanitise = (words: string): string => words.replaceAll('hunter2', '***');
  const told = reportingSseFrames(sanitise);
  /** The frames, and the ending that results. */
  const readTold = (pieces: readonly Buffer[], ending: Ending = { kind: 'eof' }) => {
    const run = told.begin();
    const frames = [...pieces.flatMap((piece) => run.push(piece)), ...run.end(ending)];
    const read = frames.map((frame) => (frame.kind === 'frame' ? [frame.event, frame.data] : frame.kind));
    return [read, run.ending(ending)] as const;
  };
  const framesIn = (text: string) => readTold([Buffer.from(text)])[0];
  const endingOf = (text: string, ending?: Ending) => readTold([Buffer.from(text)], ending)[1];
  const data = [undefined, 'a'];
  const json = '{"error":{"message":"No.","code":"no_memory"}}';
  const error = ['error', json];
  const words = '{"message":"No hunter2.","code":"no_memory"}';
  const why = { kind: 'fault', reason: 'No ***.', labels: { code: 'no_memory' } };

  const large = `{"error":"m","x":"${'x'.repeat(maxUpstreamErrorBytes - 20)}"}`;
  const nested = (levels: number) => `{"error":${'['.repeat(levels - 1)}${']'.repeat(levels - 1)}}`;

  it.each([
    ['a field', `data: a\n\nerror: ${json}\n\n`, [data, ['error', `{"error":${json}}`]]],
    [
      'a field over CRLF, with other lines',
      `id: 1\r\nerror:${json}\r\nnote\r\n\r\ndata: a\r\n\r\n`,
      [['error', `{"error":${json}}`], data],
    ],
    ['a field that is cut at the end', `data: a\n\nerror: ${json}`, [data, ['error', `{"error":${json}}`]]],
    ['a field that is text', 'error: out of memory\n\n', [['error', '{"error":"out of memory"}']]],
    ['a field that is text in JSON', 'error: "out of memory"\n\n', [['error', '{"error":"out of memory"}']]],
    ['a field with a line separator', 'error: {"a":"\u2028"}\n\n', [['error', '{"error":{"a":"\u2028"}}']]],
    ['JSON', `data: a\n\n${json}\n\ndata: a\n\n`, [data, error, data]],
    ['JSON that is cut at the end', `data: a\n\n${json}`, [data, error]],
    [
      'JSON over lines',
      'data: a\n\n{\n  "error": {\n    "message": "No.",\n    "code": "no_memory"\n  }\n}\n',
      [data, error],
    ],
    ['JSON and nothing else', json, [error]],
    ['JSON in a list', `[${json}]\n\n`, [error]],
    ['JSON under a name', `event: error\n${json}\n\n`, [error]],
    ['JSON without a message', '{"error":{"code":7}}\n\n', [['error', '{"error":{"code":7}}']]],
  ])('is an event named error where it reports one, however the bytes are split: %s', (_, text, frames) => {
    expect(readTold([Buffer.from(text)])).toEqual([frames, { kind: 'eof' }]);
    expect(readTold(byteByByte(Buffer.from(text)))).toEqual([frames, { kind: 'eof' }]);
    expect(read(text)).toEqual(frames.filter((frame) => frame === data));
  });

  it.each([large, nested(maxJsonDepth)])('is an error up to the limits of size and depth: %#', (text) => {
    expect(framesIn(text)).toEqual([['error', text]]);
  });

  it('has the bytes of an event where it is an error', () => {
    const wire = `event: error\ndata: ${json}\n\n`;
    const frames = outputsOf(told, [Buffer.from(`${json}\n\n`)]);
    expect(wireOf(frames).toString()).toBe(wire);
    expect(read(wire)).toEqual([error]);
  });

  it.each([
    ['JSON', `data: a\n\n${words}\n\n`],
    ['JSON that is cut at the end', `data: a\n\n${words}`],
    ['JSON after another message', `{"message":"Hold on."}\n\ndata: a\n\n${words}\n\n`],
    ['JSON before comments, fields and events', `${words}\n\n: ping\n\nid: 1\nretry: 5\n\ndata: a\n\n`],
  ])('is the reason of the end where it is only a message, however the bytes are split: %s', (_, text) => {
    expect(readTold([Buffer.from(text)])).toEqual([[data], why]);
    expect(readTold(byteByByte(Buffer.from(text)))).toEqual([[data], why]);
  });

  it('is the reason of a broken connection, too, whose other details are kept', () => {
    const broken = { kind: 'fault', reason: 'It broke.', status: 502, faultCode: 'ECONNRESET' } as const;
    expect(endingOf(words, broken)).toEqual({ ...broken, ...why });
    expect(endingOf('data: a\n\n', broken)).toEqual(broken);
  });

  it.each([
    ['no bytes', ''],
    ['comments', ': {"error":"m"}\n\n'],
    ['an event that is cut at the end', 'data: {"error":"m"}'],
    ['HTML', '<html>\n\n'],
    ['JSON without a message', '{"code":7}\n\n'],
    ['an error that is null', 'error: null\n\n'],
    ['more than the limit, cut at the end', `${large} `],
    ['more than the limit', `${large}\n\n`],
    ['JSON nested just too deep', nested(maxJsonDepth + 1)],
    ['JSON nested 30,000 levels deep', `${nested(30_000)}\n\n`],
  ])('is ignored: %s', (_, text) => {
    expect(framesIn(`data: a\n\n${text}`)).toEqual([data]);
    expect(endingOf(text)).toEqual({ kind: 'eof' });
  });

  it('is read for at most a thousand blocks, and not after an error', () => {
    const blocks = (count: number): string => 'note\n\n'.repeat(count);
    expect(framesIn(`${blocks(999)}${json}\n\n${json}\n\n`)).toEqual([error]);
    expect(framesIn(`${blocks(1000)}${json}\n\ndata: a\n\n${json}`)).toEqual([data]);
    const many = Buffer.from(blocks(60_000));
    expect(costWithin(200, () => told.begin().push(many))).toBeLessThan(200);
  });

  it('does not change the events', () => {
    fc.assert(
      fc.property(eventStreamSoup, (bytes) =>
        isDeepStrictEqual(outputsOf(told, [bytes]), outputsOf(sseFrames, [bytes])),
      ),
    );
  });
});

describe('the bytes of an event', () => {
  it('are those of the complete events in the input, unchanged', () => {
    const streams = fc.record({
      events: fc.array(aWrittenEvent, { maxLength: 6 }),
      eol: aLineEnding,
      cutEvent: fc.option(aWrittenEvent, { nil: undefined }),
    });
    fc.assert(
      fc.property(streams, ({ events, eol, cutEvent }) => {
        const complete = events.map((event) => [...linesOf(event), '', ''].join(eol)).join('');
        const cut = cutEvent === undefined ? '' : linesOf(cutEvent).join(eol);
        const frames = framesOf(complete + cut);
        expect(wireOf(frames).toString()).toBe(complete);
        expect(frames).toMatchObject(
          events.map(({ name, data }) => ({ event: name, data: data.join('\n') })),
        );
      }),
      { numRuns: 300 },
    );
  });

  it('are found in the input, in order, for any input', () => {
    fc.assert(
      fc.property(eventStreamSoup, (bytes) => {
        let from = 0;
        for (const frame of framesOf(bytes)) {
          if (frame.kind !== 'frame') return false;
          const at = bytes.indexOf(frame.wire, from);
          if (at < 0) return false;
          from = at + frame.wire.length;
        }
        return true;
      }),
    );
  });
});

/** A second, slow implementation of the reading rules on the whole text: lines, then blocks of lines, then fields. */
function slowFrames(bytes: Buffer): readonly TextFrame[] {
  const frames: TextFrame[] = [];
  let block: string[] = [];
  let wire = '';
  let first = true;
  for (const [whole, line = ''] of bytes.toString('latin1').matchAll(/([^\r\n]*)(?:\r\n|\n|\r)/g)) {
    if (line !== '') {
      wire += whole;
      block.push(Buffer.from(line, 'latin1').toString());
      continue;
    }
    const bytes = Buffer.from(wire + whole, 'latin1');
    const frame = slowFrame(block, first && bytes.indexOf('\uFEFF') === 0 ? bytes.subarray(3) : bytes, first);
    if (frame !== undefined) frames.push(frame);
    block = [];
    wire = '';
    first = false;
  }
  return frames;
}

function slowFrame(block: readonly string[], wire: Buffer, first: boolean): TextFrame | undefined {
  const fields = block.map((line, index) => {
    const text = first && index === 0 ? line.replace(/^\uFEFF/, '') : line;
    const [, name = '', value = ''] = /^([^:]*)(?:: ?(.*))?$/s.exec(text) ?? [];
    return [name, value] as const;
  });
  const data = fields.filter(([name]) => name === 'data').map(([, value]) => value);
  const event = fields.findLast(([name]) => name === 'event')?.[1];
  return data.length === 0 ? undefined : { kind: 'frame', event, data: data.join('\n'), wire };
}

describe('a second, slow implementation of the reading rules', () => {
  it('finds the same events in any input', () => {
    fc.assert(
      fc.property(eventStreamSoup, (bytes) => isDeepStrictEqual(framesOf(bytes), slowFrames(bytes))),
      { numRuns: 1000 },
    );
  });
});

describe('the limits of an event', () => {
  /** An event of exactly this many bytes, blank line included. */
  const eventOf = (size: number): Buffer =>
    Buffer.concat([Buffer.from('data: '), Buffer.alloc(size - 8, 'a'), Buffer.from('\n\n')]);
  const cuts: readonly (readonly [string, (bytes: Buffer) => readonly Buffer[]])[] = [
    ['at once', (bytes) => [bytes]],
    ['in two halves', (bytes) => cutAt(bytes, [bytes.length / 2])],
    ['with its last byte apart', (bytes) => cutAt(bytes, [bytes.length - 1])],
    ['with its blank line apart', (bytes) => cutAt(bytes, [bytes.length - 2])],
  ];

  it.each(cuts)('allow an event of the maximum size that arrives %s', (_, cut) => {
    const frames = outputsOf(sseFrames, cut(eventOf(maxStreamEventBytes)));
    expect(frames.map((frame) => frame.kind)).toEqual(['frame']);
  });

  it.each(cuts)('end the stream at an event that is one byte larger and arrives %s', (_, cut) => {
    const bytes = Buffer.concat([
      Buffer.from('data: before\n\n'),
      eventOf(maxStreamEventBytes + 1),
      Buffer.from('data: after\n\n'),
    ]);
    const kinds = outputsOf(sseFrames, cut(bytes)).map((frame) => frame.kind);
    expect(kinds).toEqual(['frame', 'oversize']);
  });

  const tooManyMembers = objectOf(maxStreamEventMembers + 1);
  it.each<[string, string]>([
    ['lines', 'data: a\n'.repeat(maxStreamEventLines + 1)],
    ['values', `data: [${'0,'.repeat(maxStreamEventValues - 1)}0]\n`],
    ['members', `data: ${tooManyMembers}\n`],
    ['members after a repeated key', `data: {"a":1,"a":2,"b":${tooManyMembers}}\n`],
    ['members after the key __proto__', `data: {"__proto__":1,"b":${tooManyMembers}}\n`],
    ['members after a syntax error', `data: {"a":,"b":${tooManyMembers}}\n`],
    ['members after another value', `data: {},${tooManyMembers}\n`],
    ['members in an array', `data: [${tooManyMembers}]\n`],
    [
      'members after deep nesting',
      `data: {"a":${'['.repeat(300)}${']'.repeat(300)},"b":${tooManyMembers}}\n`,
    ],
    ['keys that contain an escape', `data: ${escapedKeys(maxEscapedKeys + 1)}\n`],
    ['keys that are only an escape', `data: {${String.raw`"\n":1,`.repeat(maxEscapedKeys)}"\\n":1}\n`],
    [
      'values over several lines',
      `data: {"a":[\n${`data: ${'{},'.repeat(1000)}\n`.repeat(maxStreamEventValues / 1000 + 1)}data: {}]}\n`,
    ],
  ])('end the stream at an event with too many %s', (_, event) => {
    const frames = framesOf(`data: {}\n\n${event}\ndata: {}\n\n`);
    expect(frames.map(({ kind }) => kind)).toEqual(['frame', 'oversize']);
  });

  it('end the stream at the first byte over the maximum size', () => {
    const run = sseFrames.begin();
    const bytes = eventOf(maxStreamEventBytes + 2);
    expect(run.push(bytes.subarray(0, maxStreamEventBytes / 2))).toEqual([]);
    expect(run.push(bytes.subarray(maxStreamEventBytes / 2, maxStreamEventBytes))).toEqual([]);
    expect(run.push(bytes.subarray(maxStreamEventBytes, -1))).toEqual([{ kind: 'oversize' }]);
  });

  it.each(['data: a\n\n', '\r\r'])('allow the maximum number of lines after %j', (before) => {
    const frames = framesOf(`${before}${'data: a\n'.repeat(maxStreamEventLines)}\n`);
    expect(frames.map(({ kind }) => kind)).toEqual(before === '\r\r' ? ['frame'] : ['frame', 'frame']);
  });

  it('allow the maximum number of keys with an escape, and more escapes in long strings', () => {
    const text = `{"a":"${String.raw`\n:,`.repeat(200_000)}","b":${escapedKeys(maxEscapedKeys)}}`;
    expect(framesOf(Buffer.from(`data: ${text}\n\n`)).map(({ kind }) => kind)).toEqual(['frame']);
  });

  it('allow the maximum number of values', () => {
    const text = `[${'10,'.repeat(maxStreamEventValues - 2)}10]`;
    expect(framesOf(`data: ${text}\n\n`)).toMatchObject([{ kind: 'frame', data: text }]);
  });

  it('allow the maximum number of members', () => {
    const text = objectOf(maxStreamEventMembers);
    expect(framesOf(`data: ${text}\n\n`)).toMatchObject([{ kind: 'frame', data: text }]);
  });

  it('allow one long string of any characters', () => {
    const text = JSON.stringify({ text: '{},["\\'.repeat(maxStreamEventValues) });
    expect(framesOf(Buffer.from(`data: ${text}\n\n`))).toMatchObject([{ kind: 'frame', data: text }]);
  });

  it('count comments too, because they are kept until their event is complete', () => {
    const comment = Buffer.concat([
      Buffer.from(':'),
      Buffer.alloc(maxStreamEventBytes, 'a'),
      Buffer.from('\n\n'),
    ]);
    expect(framesOf(comment)).toEqual([{ kind: 'oversize' }]);
  });
});

/** An object with this many members, each with a name of its own. */
function objectOf(members: number): string {
  return JSON.stringify(Object.fromEntries(Array.from({ length: members }, (_, index) => [`k${index}`, 1])));
}

/** The same, with an escape in each name. */
function escapedKeys(members: number): string {
  return `{${Array.from({ length: members }, (_, index) => `"\\n${index}":0`).join(',')}}`;
}

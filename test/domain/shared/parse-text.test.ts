import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import * as E from 'fp-ts/lib/Either.js';
import { parseExact, parseJson } from '../../../domain/shared/json.ts';
import { parseDocument } from '../../../domain/shared/json-document.ts';
import { maxParsedDepth } from '../../../domain/shared/limits.ts';
import { nestsDeeperThan } from '../../../domain/shared/nesting.ts';
import { parseText } from '../../../domain/shared/parse-text.ts';
import { steepGrowth, times } from '../../support/growth/growth.ts';

/** Writes each character as an escape, including quotes and colons. */
const escaped = (text: string): string =>
  `"${[...Array(text.length).keys()]
    .map((at) => `\\u${text.charCodeAt(at).toString(16).padStart(4, '0')}`)
    .join('')}"`;

/** Makes the engine expect the escaped text of a key after the same members, cut to the length of the key. */
const prime = (before: string, key: string): void =>
  void JSON.parse(`{${before}${JSON.stringify(escaped(key).slice(1, 1 + key.length))}:0}`);

describe('a key that is written with escapes', () => {
  it.each(['c', 'model', 'stream', 'tools', '"', ':', '\\', '#0', '#0#', '#1#0', '__proto__'])(
    'is decoded correctly, whatever was parsed before: %s',
    (key) => {
      const before = `"before ${key.length}":1,`;
      prime(before, key);
      const text = `{${before}${escaped(key)}:2}`;
      expect(Object.keys(parseText(text) as object)).toEqual([`before ${key.length}`, key]);
      expect(Object.keys(parseJson(text) as object)).toEqual([`before ${key.length}`, key]);
      expect(Object.keys(parseExact(text.replace(':2', ':2.0')) as object)[1]).toBe(key);
    },
  );

  it('is decoded correctly with any blanks before its colon', () => {
    prime('"before blanks":1,', 'c');
    expect(parseText(`{"before blanks":1,${escaped('c')} \t\r\n :2}`)).toEqual({ 'before blanks': 1, c: 2 });
  });

  it('is decoded correctly if it is only an escaped quote', () => {
    prime('"before a quote":1,', '"');
    expect(parseText('{"before a quote":1,"\\"":2}')).toEqual({ 'before a quote': 1, '"': 2 });
  });

  it('does not change other keys that look like the placeholders of such keys', () => {
    const others = { '#0#0': 1, '#1#0': 2, '#2#0': 3 };
    expect(parseText(`{"\\u0061":0,${JSON.stringify(others).slice(1)}`)).toEqual({ a: 0, ...others });
  });

  it('is read as the field that it spells, as upstreams read it', () => {
    prime('"model":"fast",', 'stream');
    const body = parseDocument(`{"model":"fast",${escaped('stream')}:true}`, {});
    expect(E.isRight(body) && body.right.value['stream']).toBe(true);
  });

  it('keeps its position, the digits of its value, and the last of two values', () => {
    const text = '{"a":1,"\\u0062":{"\\u0063":12.50},"\\u0062" : [1.0], "x":"\\"#0\\": y"}';
    expect(JSON.stringify(parseExact(text))).toBe('{"a":1,"b":[1.0],"x":"\\"#0\\": y"}');
  });

  it('takes time proportional to the length of the text, whatever else the text contains', () => {
    const keys = (count: number) => times(count, (index) => `"\\u006b${index}":1`).join(',');
    for (const filling of [
      (count: number) => '#'.repeat(count),
      (count: number) => times(count, (n) => `#${n}#`).join(''),
    ])
      expect(
        steepGrowth((count) => {
          const text = `{"text":"${filling(count)}",${keys(count)}}`;
          return () => void parseText(text);
        }),
      ).toBeUndefined();
  });

  it('is read like the same key without escapes', () => {
    fc.assert(
      fc.property(fc.json({ maxDepth: 4 }), (text) => {
        const written = text.replaceAll(
          /"(\w)(\w*)"(?=:)/g,
          (_all, first: string, rest: string) => `${escaped(first).slice(0, -1)}${rest}"`,
        );
        expect(JSON.stringify(parseText(written))).toBe(JSON.stringify(JSON.parse(text)));
      }),
    );
  });

  it.each(['{"\\x":1}', '{"\\u12":1}', '{"\\u0061":}', '{"\\u0061', '{"\\u0061":1}}', '{"\\u0061":1,}'])(
    'does not make invalid JSON valid: %s',
    (text) => {
      expect(parseJson(text)).toBeUndefined();
    },
  );

  it('takes time proportional to the number of such keys', () => {
    const members = (count: number) => times(count, (at) => `"\\u0061${at}":"#\\n"`).join(',');
    expect(
      steepGrowth((count) => {
        const text = `{${members(count)}}`;
        return () => void parseText(text);
      }),
    ).toBeUndefined();
  });
});

/** How a process ends that parses an invalid text many times: the engine fault tested here crashes it. */
function endOf(parser: 'parseJson' | 'parseExact', text: string) {
  const script = `
    import { readFileSync } from 'node:fs';
    import { ${parser} } from ${JSON.stringify(pathToFileURL(path.resolve('domain/shared/json.ts')).href)};
    const text = readFileSync(0, 'utf8');
    for (let round = 0; round < 40; round += 1) {
      try {
        if (${parser}(text) !== undefined) process.exit(2);
      } catch (error) {
        if (!(error instanceof SyntaxError)) throw error;
      }
      globalThis.gc();
      JSON.stringify([...Array(2000).keys()].map((n) => ({ ['k' + n]: n })));
    }`;
  const { status, stderr } = spawnSync(
    process.execPath,
    ['--expose-gc', '--input-type=module', '--eval', script],
    { encoding: 'utf8', input: text },
  );
  return { status, stderr };
}
const notEnded = { status: 0, stderr: '' };

describe('a text that is nested too deeply to be parsed', () => {
  const opened = (levels: number): string => '[1,'.repeat(levels);
  const closed = (levels: number): string => '['.repeat(levels) + ']'.repeat(levels);

  it('counts as invalid JSON, since the engine writes into freed memory if such a text is malformed', () => {
    expect(parseJson(closed(maxParsedDepth))).toBeDefined();
    expect(parseJson(closed(maxParsedDepth + 1))).toBeUndefined();
    expect(() => parseExact(`${opened(100_000)}1.0`)).toThrow('nested too deep');
  });

  it('is recognised by its brackets outside strings', () => {
    fc.assert(
      fc.property(fc.json(), fc.nat(6), (text, levels) => {
        const depthOf = (value: unknown): number =>
          typeof value === 'object' && value !== null
            ? 1 + Math.max(0, ...Object.values(value).map(depthOf))
            : 0;
        expect(nestsDeeperThan(text, levels)).toBe(depthOf(JSON.parse(text)) > levels);
      }),
    );
    const quoted = JSON.stringify([`${opened(5000)}"\\`.repeat(3)]);
    expect(parseJson(quoted)).toEqual([`${opened(5000)}"\\`.repeat(3)]);
  });

  it('never crashes the process, however often it is parsed', () => {
    expect(
      endOf('parseJson', '{"a":"x","b":2.5,"c":{},"d":[1,"x",{"e":[]}],"f":'.repeat(20_000) + '1'),
    ).toEqual(notEnded);
  });

  it('is recognised in time proportional to its length', () => {
    const cost = (count: number): number => {
      const text = '[{"a":"\\"[["},'.repeat(count);
      let least = Number.POSITIVE_INFINITY;
      for (let round = 0; round < 5; round += 1) {
        const from = process.threadCpuUsage().user;
        nestsDeeperThan(text, text.length / 8);
        least = Math.min(least, process.threadCpuUsage().user - from);
      }
      return least;
    };
    expect(cost(80_000)).toBeLessThan(Math.max(100_000, 6 * cost(20_000)));
  });
});

describe('a text that is truncated after a thousand values', () => {
  it.each(['parseJson', 'parseExact'] as const)(
    'never crashes the process, however often it is parsed: %s',
    (parser) => {
      const level = `{${[...Array(1000).keys()].map((at) => `"k${at}":1.0,`).join('')}"\\u0061":`;
      expect(endOf(parser, `${level.repeat(8)}"cut`)).toEqual(notEnded);
    },
  );
});

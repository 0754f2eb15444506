import { isDeepStrictEqual } from 'node:util';
import * as E from 'fp-ts/lib/Either.js';
import { isObject, type Json, parseExact } from '../../../domain/shared/json.ts';
import {
  exactMember,
  type JsonDocument,
  parseDigits,
  parseDocument,
  scannedDocument,
  withMembers,
} from '../../../domain/shared/json-document.ts';
import type { Watched } from '../../../domain/shared/json-scan.ts';
import { maxJsonDepth } from '../../../domain/shared/limits.ts';
import { parseText } from '../../../domain/shared/parse-text.ts';
import { demand, type Probe, roughly, type Target } from '../target.ts';
import { jsonWords } from './words.ts';

const watched: Watched = { a: { b: {} }, list: { '*': { c: {} } } };

/** The value of a text; undefined if it is not JSON. */
function parsed(text: string): { readonly value: Json } | undefined {
  try {
    return { value: parseText(text) as Json };
  } catch {
    return undefined;
  }
}

const stringOrBracket = /"(?:[^"\\]|\\.)*"|[[{]|[\]}]/g;

/** The nesting depth of a JSON text, including values that a repeated key hides, since the text is read. */
function depthOf(text: string): number {
  let depth = 0;
  let deepest = 0;
  for (const [token] of text.matchAll(stringOrBracket)) {
    if (token === '[' || token === '{') depth += 1;
    if (token === ']' || token === '}') depth -= 1;
    deepest = Math.max(deepest, depth);
  }
  return deepest;
}

/** Whether the rejection of a JSON text with this message is right, as far as the text shows. */
function isRightlyRefused(text: string, value: Json, message: string): boolean {
  if (message.includes('nested deeper')) return depthOf(text) > maxJsonDepth;
  if (message.includes('must be a JSON object')) return !isObject(value);
  if (message.includes('is repeated')) return text.split(':').length > 2;
  return message.includes('__proto__') && /__proto__|\\u/.test(text);
}

const change = { changed: [1, 'é'] } as const;

/** Replaces members one by one, and checks that the rest of the text is unchanged. */
function checkEdits(document: JsonDocument, probe: Probe): void {
  const { text, value, members } = document;
  demand(withMembers(document, new Map()) === text, 'a text without edits is another one');
  demand(
    isDeepStrictEqual(
      members.map(({ key }) => key),
      [...new Set(members.map(({ key }) => key))],
    ) && members.every(({ key }) => Object.hasOwn(value, key)),
    'the members are not those of the object',
  );
  const key = members.length === 0 ? 'new' : probe.random.pick(members).key;
  const edited = withMembers(document, new Map([[key, change]]));
  const seen = parsed(edited)?.value;
  demand(isDeepStrictEqual(seen, { ...value, [key]: change }), 'an edit changes something else');
  const without = parsed(withMembers(document, new Map([[key, undefined]])))?.value;
  const { [key]: _, ...rest } = value;
  demand(isDeepStrictEqual(without, rest), 'a member that is taken away takes something along');
  const exact = exactMember(document, key);
  if (exact === undefined) return;
  demand(isDeepStrictEqual(parsed(JSON.stringify(exact))?.value, value[key]), 'a member is another value');
}

function checkJson(input: Buffer, probe: Probe): string {
  const text = input.toString('utf8');
  const read = probe.step(() => parseDocument(text, watched));
  const known = parsed(text);
  if (E.isLeft(read)) {
    demand(
      known === undefined || isRightlyRefused(text, known.value, read.left.message),
      'a JSON object is refused',
    );
    return roughly(read.left.message);
  }
  demand(known !== undefined, 'what is no JSON is read');
  demand(isDeepStrictEqual(read.right.value, known.value), 'the object is another one than the text');
  const digits = probe.step(() => parseDocument(text, watched, parseDigits));
  demand(E.isRight(digits), 'a text is read in one way and not in the other');
  const exact = probe.step(() => JSON.stringify(parseExact(text)));
  demand(
    isDeepStrictEqual(parsed(exact)?.value, known.value),
    'the value that keeps its digits is another one',
  );
  demand(
    E.isRight(digits) && JSON.stringify(digits.right.value) === exact,
    'two readers that keep digits differ',
  );
  demand(scannedDocument(text) !== undefined, 'a document that is only edited is refused');
  checkEdits(read.right, probe);
  const { members, valueCount, hasEscapedKeys, hasInexactNumbers } = read.right;
  return `${Math.min(8, members.length)} ${Math.floor(Math.log2(valueCount))} ${hasEscapedKeys} ${hasInexactNumbers}`;
}

export const jsonTarget: Target = {
  name: 'json: the reader of bodies',
  samples: [
    '{"a":{"b":1.0,"c":[1,2,{"d":null}]},"list":[{"c":{"x":"\\u00e9\\"y\\\\"}},3],"n":-0.50e+10}',
    ' { "model" : "fast" , "\\u0061" : true, "z":{} ,"__":[[],[{}]]}\n',
    '{"s":"a\\nb\\u2028","t":"\u{1F600}","big":123456789012345678901234567890,"m":1E-400,"f":false}',
    '{}',
  ].map((text) => Buffer.from(text)),
  words: [...jsonWords, '"a":', '"b":', '"list":', '"c":', '"\\u0061":'],
  check: checkJson,
};

import { backslashFrom, closingQuote } from '../../../domain/text/backslashes.ts';
import {
  maxAnswerMembers,
  maxAnswerValues,
  maxEscapedKeys,
  maxStreamEventMembers,
  maxStreamEventValues,
} from '../../../domain/shared/limits.ts';

/** The most JSON values of a text, and the most object members. */
interface Limits {
  readonly values: number;
  readonly members: number;
}
const ofEvent: Limits = { values: maxStreamEventValues, members: maxStreamEventMembers };
const ofAnswer: Limits = { values: maxAnswerValues, members: maxAnswerMembers };

/**
 * Whether the data of an event has more than `maxStreamEventValues` JSON values, `maxStreamEventMembers` members or
 * `maxEscapedKeys` keys with an escape, which is too much for the event loop. The text is counted to its end whether it
 * is valid JSON or not, because a repeated key or an error ahead of so many values would not save its readers the work.
 */
export const exceedsEventLimits = (data: string): boolean => exceeds(data, ofEvent);

/** The same for a whole answer: more than `maxAnswerValues` or `maxAnswerMembers` are too much for the worker thread. */
export const exceedsAnswerLimits = (text: string): boolean => exceeds(text, ofAnswer);

/** A shorter text cannot hold too many keys with an escape (`"\n":1,`). */
const maxEscapedChars = 7 * maxEscapedKeys;

/** A text of less than two characters for each value cannot hold too many of them, nor too many members. */
function exceeds(data: string, limits: Limits): boolean {
  if (data.length <= maxEscapedChars) return false;
  return (data.length > 2 * limits.values || data.includes('\\')) && isOver(data, limits);
}

const space = 0x20;
const quote = 0x22;
const comma = 0x2c;
const colon = 0x3a;
const openBracket = 0x5b;
const closeBracket = 0x5d;
const openBrace = 0x7b;
const closeBrace = 0x7d;

function isOver(data: string, limits: Limits): boolean {
  let [values, members, escapedKeys] = [1, 0, 0];
  let nextBackslash = -1;
  let isEscaped = false;
  for (let at = 0; at < data.length; at += 1) {
    const code = data.charCodeAt(at);
    if (isPlain(code)) continue;
    if (code === quote) {
      if (nextBackslash < at) nextBackslash = backslashFrom(data, at);
      at = closingQuote(data, at);
      isEscaped = nextBackslash < at;
    } else if (code === colon) {
      members += 1;
      if (isEscaped) escapedKeys += 1;
    } else if (code === comma || opens(code, data.charCodeAt(at + 1))) values += 1;
    if (values > limits.values || members > limits.members || escapedKeys > maxEscapedKeys) return true;
  }
  return false;
}

/** Spaces, digits, dots, lower-case letters and the like, none of which are counted. */
const isPlain = (code: number): boolean =>
  code === space || (code > comma && code < colon) || (code > closeBracket && code < openBrace);

/** An empty object or array contains no value. */
const opens = (code: number, next: number): boolean =>
  (code === openBrace && next !== closeBrace) || (code === openBracket && next !== closeBracket);

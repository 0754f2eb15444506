import type { CustomFetch } from 'openid-client';
import { addFragment } from '../../domain/shared/fragments.ts';
import { isObject, isString, parseJson } from '../../domain/shared/json.ts';
import { maxParsedDepth } from '../../domain/shared/limits.ts';
import { nestsDeeperThan } from '../../domain/shared/nesting.ts';

/** The timeout of one exchange with the provider, including the whole body. A person waits for two or three of them. */
const exchangeWithinMs = 5000;

/** Metadata, keys and tokens are a few kilobytes. */
const maxAnswerBytes = 1024 * 1024;

/** Thrown when an answer is larger than the limit, and was not read to its end. */
class AnswerTooLarge extends Error {
  override readonly name = 'AnswerTooLarge';
}

/** Thrown when an answer, or the ID token in it, is nested deeper than anything may be parsed. */
class AnswerTooDeep extends Error {
  override readonly name = 'AnswerTooDeep';
}

/**
 * `fetch` that follows no redirects, has a timeout, and rejects answers over a megabyte and JSON nested too deep to
 * parse.
 */
export const boundedFetch: CustomFetch = async (url, { method, headers, body }) => {
  const signal = AbortSignal.timeout(exchangeWithinMs);
  const options: RequestInit = { headers, redirect: 'manual', signal };
  const sent = body === undefined || body === null ? options : { ...options, body };
  const answer = await fetch(url, { ...sent, method });
  const whole = await readWhole(answer);
  if (isTooDeep(whole)) throw new AnswerTooDeep('the provider sent what is nested too deep');
  const { status } = answer;
  // The status text is left out: it may contain what the constructor of `Response` rejects.
  return new Response(isEmpty.has(status) ? null : whole, { status, headers: answer.headers });
};

/** Statuses whose answers have no body. */
const isEmpty: ReadonlySet<number> = new Set([204, 205, 304]);

async function readWhole(answer: Response): Promise<Uint8Array<ArrayBuffer>> {
  const pieces: Uint8Array[] = [];
  let length = 0;
  for await (const piece of answer.body ?? []) {
    length += piece.length;
    if (length > maxAnswerBytes) throw new AnswerTooLarge('the provider sent more than a megabyte');
    addFragment(pieces, piece);
  }
  return new Uint8Array(Buffer.concat(pieces));
}

/**
 * The library parses with the engine's own `JSON.parse`, in which nesting of some thousand levels may crash the process
 * (`parseText`).
 */
function isTooDeep(whole: Uint8Array<ArrayBuffer>): boolean {
  const text = Buffer.from(whole.buffer).toString();
  const answer = parseJson(text);
  const idToken = isObject(answer) && isString(answer['id_token']) ? answer['id_token'] : '';
  const parts = idToken.split('.', 2).map((part) => Buffer.from(part, 'base64url').toString());
  return [text, ...parts].some((each) => nestsDeeperThan(each, maxParsedDepth));
}

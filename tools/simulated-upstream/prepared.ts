import type { ServerResponse } from 'node:http';
import { preparedBodyMaxBytes, preparedMax } from './bounds.ts';
import { eventStreamType, jsonType } from './deliver.ts';
import { type Body, bytesOf, sameBytes } from './request-body.ts';

/** An answer that lacks only its head (id and time): one tail for a whole answer, one per frame of a stream. */
export interface Prepared {
  readonly kind: 'whole' | 'stream';
  readonly tails: readonly string[];
}

/** A cache of answers by the exact bytes of the request body. The oldest is evicted first. */
export interface PreparedAnswers {
  readonly find: (body: Body) => Prepared | undefined;
  readonly keep: (body: Body, prepared: Prepared) => void;
}

/**
 * An empty cache. A benchmark sends the same few bodies again and again, and comparing bytes is cheaper than parsing.
 */
export function preparedAnswers(): PreparedAnswers {
  const kept: { readonly bytes: Buffer; readonly prepared: Prepared }[] = [];
  return {
    find: (body) => kept.find(({ bytes }) => sameBytes(bytes, body))?.prepared,
    keep: (body, prepared) => {
      if (body.length > preparedBodyMaxBytes) return;
      kept.push({ bytes: Buffer.from(bytesOf(body)), prepared });
      if (kept.length > preparedMax) kept.shift();
    },
  };
}

const streamHeaders = { 'content-type': eventStreamType, 'cache-control': 'no-cache' };

/** Sends a prepared whole answer with a single call. */
export function sendWhole(response: ServerResponse, head: string, { tails }: Prepared): void {
  const text = head + (tails[0] ?? '');
  response.writeHead(200, { 'content-type': jsonType, 'content-length': Buffer.byteLength(text) });
  response.end(text);
}

/** Sends a prepared stream: one write per frame, each in its own turn, so that frames leave in separate packets. */
export function sendFrames(response: ServerResponse, head: string, { tails }: Prepared): void {
  const start = `data: ${head}`;
  let next = 0;
  const step = (): void => {
    if (response.destroyed) return;
    if (next === tails.length) {
      response.end('data: [DONE]\n\n');
      return;
    }
    const flowing = response.write(start + tails[next]);
    next += 1;
    if (flowing) setImmediate(step);
    else response.once('drain', step);
  };
  response.writeHead(200, streamHeaders);
  step();
}

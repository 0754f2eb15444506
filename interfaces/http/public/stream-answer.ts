import type { WriteEvents } from '../../../application/model-request.ts';
import type { JsonObject } from '../../../domain/shared/json.ts';
import type { StreamEvent } from '../../../domain/shared/stream-event.ts';
import { idHeaders, type RequestContext } from '../request-context.ts';

/** How a family spells the events of its streams. */
export interface StreamWords {
  readonly frame: (event: StreamEvent<JsonObject>) => string | Uint8Array;
}

const streamHeaders = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-cache, no-transform',
  'x-accel-buffering': 'no',
};

/**
 * Writes a stream as it comes, never compressed, no faster than the caller reads. When the caller has left, it is
 * still delivered to its end, so that the request is settled.
 */
export async function sendStream(
  context: RequestContext,
  words: StreamWords,
  deliver: (write: WriteEvents) => Promise<void>,
): Promise<void> {
  const { res, link } = context;
  if (!link.gone()) {
    res.writeHead(200, { ...streamHeaders, ...idHeaders(context) });
    res.flushHeaders();
  }
  await deliver((events) =>
    link.gone() || writeBatch(context, words, events) ? undefined : drained(context),
  );
  res.end();
}

/** False when the caller reads more slowly than the upstream sends. */
function writeBatch(
  { res }: RequestContext,
  words: StreamWords,
  batch: readonly StreamEvent<JsonObject>[],
): boolean {
  if (batch.length === 1 && batch[0] !== undefined) return res.write(words.frame(batch[0]));
  res.cork();
  for (const event of batch) res.write(words.frame(event));
  res.uncork();
  return !res.writableNeedDrain;
}

/** Waits until there is room, or nobody to write to. */
function drained({ res, link }: RequestContext): Promise<void> {
  if (link.gone()) return Promise.resolve();
  return new Promise((resolve) => {
    const done = (): void => {
      res.off('drain', done);
      res.off('close', done);
      resolve();
    };
    res.on('drain', done);
    res.on('close', done);
  });
}

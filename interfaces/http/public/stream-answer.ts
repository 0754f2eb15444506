import type { WriteEvents } from '../../../application/model-request.ts';
import type { JsonObject } from '../../../domain/shared/json.ts';
import type { StreamEvent } from '../../../domain/shared/stream-event.ts';
import type { KeepAlive } from '../keep-alive.ts';
import { idHeaders, type RequestContext } from '../request-context.ts';
import { commonHeaders } from '../send-json.ts';
import { untilFlushed } from '../stalled-caller.ts';
import { StreamedBody } from '../streamed-body.ts';

/** Encodes the events of one stream for a family. An empty text is not sent. */
export type EventWriter = (event: StreamEvent<JsonObject>) => string | Uint8Array;

export interface StreamFormat {
  /** Starts a stream. */
  readonly writer: (context: RequestContext) => EventWriter;
  /** Sent between two events to show that the stream is alive. */
  readonly keepAlive: string;
}

const streamHeaders = {
  ...commonHeaders,
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-store, no-transform',
  'x-accel-buffering': 'no',
};

/**
 * Writes a stream as it comes, never compressed, no faster than the caller reads. After a client disconnect it is still
 * delivered to its end, so that the request is settled.
 */
export async function sendStream(
  context: RequestContext,
  format: StreamFormat,
  keepAlive: KeepAlive,
  deliver: (write: WriteEvents) => Promise<void>,
): Promise<void> {
  const { link } = context;
  const body = new StreamedBody(context, { ...streamHeaders, ...idHeaders(context) });
  const writer = format.writer(context);
  const alive = keepAlive.watch(() => body.keepAlive(format.keepAlive));
  try {
    await deliver((events) => {
      alive.touch();
      return link.gone() || body.write(events.map(writer)) ? undefined : room(context);
    });
  } finally {
    alive.over();
  }
  body.end();
}

/** Waits until there is room, or nobody left to write to. */
const room = (context: RequestContext): Promise<void> =>
  context.link.gone() ? Promise.resolve() : untilFlushed(context.res, 'drain');

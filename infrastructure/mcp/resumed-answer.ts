import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import type { McpExchange, McpFrame, McpReply } from '../../application/ports/mcp-upstreams.ts';
import type { McpError } from '../../domain/mcp/mcp-error.ts';

type Send = (terms: McpExchange, afterMs: number) => Promise<Either<McpError, McpReply>>;

/** How long to wait before a stream is resumed, unless the server says. */
const usualRetryMs = 1000;
/** The shortest time, so that a server cannot be asked without pause. */
const leastRetryMs = 20;

/**
 * Sends a message, and asks for the rest of the answer whenever the server ends the stream before it is complete, as a
 * server may from 2025-11-25 on once it has sent the id of an event. All of it takes no longer than one answer may.
 */
export async function resumedAnswer(
  send: Send,
  terms: McpExchange,
  isComplete: () => boolean,
  timeoutMs: number,
): Promise<Either<McpError, McpReply>> {
  const until = performance.now() + timeoutMs;
  const rest: Rest = (lastEventId, afterMs) => {
    const headers = { ...terms.headers, 'last-event-id': lastEventId };
    const withinMs = Math.max(1, until - performance.now());
    return send({ ...terms, method: 'GET', text: undefined, headers, withinMs }, afterMs);
  };
  const reply = await send(terms, 0);
  if (E.isLeft(reply) || reply.right.body.kind !== 'events') return reply;
  const frames = allFrames(reply.right.body.frames, rest, isComplete);
  return E.right({ ...reply.right, body: { kind: 'events', frames } });
}

type Rest = (lastEventId: string, afterMs: number) => Promise<Either<McpError, McpReply>>;

async function* allFrames(
  first: AsyncIterable<McpFrame>,
  rest: Rest,
  isComplete: () => boolean,
): AsyncGenerator<McpFrame> {
  let frames = first;
  let lastEventId: string | undefined;
  let retryMs = usualRetryMs;
  for (;;) {
    for await (const frame of frames) {
      yield frame;
      if (frame.kind === 'failed') return;
      const wire = new TextDecoder().decode(frame.wire);
      lastEventId = /^id: ?(.+)$/m.exec(wire)?.[1] ?? lastEventId;
      retryMs = Number(/^retry: ?(\d{1,9})$/m.exec(wire)?.[1] ?? retryMs);
    }
    if (lastEventId === undefined || isComplete()) return;
    const reply = await rest(lastEventId, Math.max(retryMs, leastRetryMs));
    if (E.isLeft(reply)) return void (yield { kind: 'failed', error: reply.left });
    if (reply.right.body.kind !== 'events') return;
    frames = reply.right.body.frames;
  }
}

import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { awaitsBody } from './unread-body.ts';

/** How long a caller may read nothing of its answer. Common proxies allow as much. */
const stalledCallerMs = 60_000;

/** The answer whose wait last set the timeout of a connection. */
const waitingOn = new WeakMap<Socket, ServerResponse>();

/**
 * Waits until the caller has read enough for the buffer to have room, or everything. A caller that reads nothing for
 * too long is disconnected, because the memory and the settlement of an answer must not wait forever. Every byte that
 * leaves counts, so a caller that takes longer than that and a millisecond for each byte is disconnected, too.
 */
export function untilFlushed(
  res: ServerResponse,
  what: 'drain' | 'finish',
  patienceMs = stalledCallerMs,
): Promise<void> {
  let socket: Socket | null = null;
  let tooLong: NodeJS.Timeout | undefined;
  // A pipelined answer whose turn has not come has no socket yet: it waits for the one before.
  const begin = (): void => {
    socket = res.socket;
    if (socket === null) return;
    socket.setTimeout(patienceMs);
    waitingOn.set(socket, res);
    tooLong = setTimeout(() => res.destroy(), patienceMs + res.writableLength);
  };
  if (res.socket === null) res.once('socket', begin);
  else begin();
  return new Promise((resolve) => {
    const done = (): void => {
      res.off(what, done);
      res.off('close', done);
      clearTimeout(tooLong);
      // After the last byte the server sets its own timeout, for the time between two answers. It sets none when the
      // next answer is still being prepared, so this one is cleared. One that is ready has begun to wait just before.
      if (socket !== null && socket.timeout === patienceMs && waitingOn.get(socket) === res)
        socket.setTimeout(0);
      resolve();
    };
    res.on(what, done);
    res.on('close', done);
  });
}

/** An answer is in flight until its last byte has left the process. Only then may the process end. */
export const answerFlushed = (res: ServerResponse): Promise<void> | undefined =>
  res.writableFinished || res.destroyed || awaitsBody(res) ? undefined : untilFlushed(res, 'finish');

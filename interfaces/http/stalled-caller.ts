import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** A caller may take nothing of its answer for this long, which is what common proxies allow. */
const stalledCallerMs = 60_000;

/**
 * Waits until the caller has taken enough for there to be room, or all of it. One who takes nothing for too long is
 * hung up on: what an answer holds, and its settlement, must not wait for ever. Every byte that leaves counts.
 */
export function untilTaken(
  res: ServerResponse,
  what: 'drain' | 'finish',
  patienceMs = stalledCallerMs,
): Promise<void> {
  let socket: Socket | null = null;
  // An answer whose turn has not come on its connection has no socket: it waits for the one before.
  const begin = (): void => {
    socket = res.socket;
    socket?.setTimeout(patienceMs);
  };
  if (res.socket === null) res.once('socket', begin);
  else begin();
  return new Promise((resolve) => {
    const done = (): void => {
      res.off(what, done);
      res.off('close', done);
      // After the last byte the time-out is the server's own, between two answers. It sets none where the next answer
      // waits already.
      if (socket?.timeout === patienceMs) socket.setTimeout(0);
      resolve();
    };
    res.on(what, done);
    res.on('close', done);
  });
}

/** An answer is in flight until its last byte has left the process: only then may the process end. */
export const handedOver = (res: ServerResponse): Promise<void> | undefined =>
  res.writableFinished || res.destroyed ? undefined : untilTaken(res, 'finish');

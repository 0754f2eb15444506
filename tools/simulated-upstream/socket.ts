import type { ServerResponse } from 'node:http';
import { createGzip, constants, type Gzip } from 'node:zlib';

/** Runs `start` and waits for its `done`, or for the client to leave; false when the client has left. */
function unlessGone(
  response: ServerResponse,
  start: (done: () => void) => void | (() => void),
): Promise<boolean> {
  if (response.destroyed) return Promise.resolve(false);
  return new Promise((resolve) => {
    let stop: (() => void) | void;
    const done = (): void => {
      response.off('close', done);
      stop?.();
      resolve(!response.destroyed);
    };
    response.once('close', done);
    stop = start(done);
  });
}

/** Waits some milliseconds; false when the client left meanwhile. */
export const pause = (response: ServerResponse, ms: number): Promise<boolean> =>
  unlessGone(response, (done) => {
    const timer = setTimeout(done, ms);
    return () => clearTimeout(timer);
  });

/** Waits one turn of the event loop, so that what was written leaves in a packet of its own. */
export const nextTurn = (response: ServerResponse): Promise<boolean> =>
  unlessGone(response, (done) => {
    setImmediate(done);
  });

/** Waits until the client leaves. */
export const untilGone = (response: ServerResponse): Promise<boolean> =>
  unlessGone(response, () => undefined);

/** Writes and waits until the kernel (or the compressor) has taken it: no more than one piece is ever held. */
export const written = (
  response: ServerResponse,
  out: ServerResponse | Gzip,
  bytes: string | Buffer,
): Promise<boolean> =>
  unlessGone(response, (done) => {
    if (out === response) {
      response.write(bytes, done);
      return;
    }
    out.write(bytes);
    (out as Gzip).flush(constants.Z_SYNC_FLUSH, done);
  });

/** A compressor in front of the response; it ends with the response and is dropped when the client leaves. */
export function compressed(response: ServerResponse): Gzip {
  const gzip = createGzip();
  gzip.pipe(response);
  response.once('close', () => gzip.destroy());
  return gzip;
}

import type { ServerResponse } from 'node:http';
import { createGzip, constants, type Gzip } from 'node:zlib';

/** Runs `start` and waits for its `done`, or for a client disconnect. False after a disconnect. */
function undefinedIfMissing(
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

/** Waits some milliseconds. False after a client disconnect. */
export const pause = (response: ServerResponse, ms: number): Promise<boolean> =>
  undefinedIfMissing(response, (done) => {
    const timer = setTimeout(done, ms);
    return () => clearTimeout(timer);
  });

/** Waits one turn of the event loop, so that what was written leaves in a packet of its own. */
export const nextTurn = (response: ServerResponse): Promise<boolean> =>
  undefinedIfMissing(response, (done) => {
    setImmediate(done);
  });

/** Waits for the client to disconnect. */
export const untilGone = (response: ServerResponse): Promise<boolean> =>
  undefinedIfMissing(response, () => undefined);

/** Writes and waits until the kernel (or the compressor) has accepted it, so that at most one piece is buffered. */
export const written = (
  response: ServerResponse,
  out: ServerResponse | Gzip,
  bytes: string | Buffer,
): Promise<boolean> =>
  undefinedIfMissing(response, (done) => {
    if (out === response) {
      response.write(bytes, done);
      return;
    }
    out.write(bytes);
    (out as Gzip).flush(constants.Z_SYNC_FLUSH, done);
  });

/** A compressor in front of the response. It ends with the response and is dropped when the client disconnects. */
export function compressed(response: ServerResponse): Gzip {
  const gzip = createGzip();
  gzip.pipe(response);
  response.once('close', () => gzip.destroy());
  return gzip;
}

import type { Dispatcher } from 'undici';
import type { ConnectionPool } from '../../infrastructure/providers/connection-pool.ts';

/**
 * A request of a pool; `begun` resolves when the head of the answer has arrived, `answer` with the whole
 * body.
 */
export function asked(
  pool: ConnectionPool,
  path = '/',
  body = '{}',
): { readonly begun: Promise<void>; readonly answer: Promise<string> } {
  const begun = Promise.withResolvers<void>();
  const answer = Promise.withResolvers<string>();
  const pieces: Buffer[] = [];
  const handler: Dispatcher.DispatchHandler = {
    onRequestStart: () => undefined,
    onResponseStart: () => begun.resolve(),
    onResponseData: (_, piece) => void pieces.push(piece),
    onResponseEnd: () => answer.resolve(Buffer.concat(pieces).toString()),
    onResponseError: (_, error) => {
      begun.reject(error);
      answer.reject(error);
    },
  };
  begun.promise.catch(() => undefined);
  answer.promise.catch(() => undefined);
  pool.dispatch({ method: 'POST', path, body }, handler);
  return { begun: begun.promise, answer: answer.promise };
}

export const answered = (pool: ConnectionPool): Promise<string> => asked(pool).answer;

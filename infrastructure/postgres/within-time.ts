import type { DatabasePool, DatabasePoolConnection } from 'slonik';
import { AnswerTimeout } from './database-fault.ts';

/** Time limit for an answer, in case the network is dead; longer than the server's own statement timeout. */
export const giveUpMs = 12_000;

/** For statements that take as long as the number of rows requires. */
export const anyTime = Number.POSITIVE_INFINITY;

/**
 * Runs a statement within a bounded time, which includes the wait for a connection. A connection that does not answer
 * is closed by its pool (`openPool`) and not reused.
 */
export const withinTime = <A>(
  pool: DatabasePool,
  statement: (connection: DatabasePoolConnection) => Promise<A>,
): Promise<A> => answeredWithin(pool.connect(statement), giveUpMs);

/** Resolves with the answer, or rejects with a fault after `withinMs`. */
export const answeredWithin = <A>(answer: Promise<A>, withinMs: number): Promise<A> =>
  new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(tooLate()), withinMs);
    answer.then(resolve, reject).finally(() => clearTimeout(timer));
  });

export const tooLate = (): AnswerTimeout => new AnswerTimeout('the database did not answer in time');

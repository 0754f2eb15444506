import type { DatabasePool, DatabasePoolConnection } from 'slonik';
import { AnswerTooLate } from './database-fault.ts';

/** A statement that does not come back, on a dead network, is given up after this long: the server's own bound is shorter. */
export const giveUpMs = 12_000;

/** For statements that take as long as there are many rows. */
export const anyTime = Number.POSITIVE_INFINITY;

/**
 * Runs a statement within a bounded time, the wait for a connection included. A connection that does not answer is
 * closed by its pool (`openPool`), and not used again.
 */
export const withinTime = <A>(
  pool: DatabasePool,
  statement: (connection: DatabasePoolConnection) => Promise<A>,
): Promise<A> => answeredWithin(pool.connect(statement), giveUpMs);

/** The answer, or a fault when it is later than this. */
export const answeredWithin = <A>(answer: Promise<A>, withinMs: number): Promise<A> =>
  new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(tooLate()), withinMs);
    answer.then(resolve, reject).finally(() => clearTimeout(timer));
  });

export const tooLate = (): AnswerTooLate => new AnswerTooLate('the database did not answer in time');

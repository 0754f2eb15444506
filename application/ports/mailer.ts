import type { Either } from 'fp-ts/lib/Either.js';
import type { Mail } from '../../domain/budget/alert-mail.ts';

export interface Mailer {
  /** One attempt, finished within 60 s. Left: why it failed, in words that can be stored and shown. */
  readonly send: (to: string, mail: Mail) => Promise<Either<string, void>>;
}

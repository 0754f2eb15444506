import type { Either } from 'fp-ts/lib/Either.js';
import type { Mail } from '../../domain/budget/alert-mail.ts';

export interface Mailer {
  /** One attempt, over within 60 s. Left: why it failed, in words fit for a table. */
  readonly send: (to: string, mail: Mail) => Promise<Either<string, void>>;
}

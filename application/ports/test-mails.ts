import type { AdminActor } from './admin-events.ts';

export interface TestMails {
  /**
   * Writes the event of a test mail before it is sent. False: the person already asked for `most` test mails in the
   * last `minutes` minutes, over all replicas, and nothing was written.
   */
  readonly record: (
    mail: { readonly to: string; readonly most: number; readonly minutes: number },
    actor: AdminActor,
  ) => Promise<boolean>;
}

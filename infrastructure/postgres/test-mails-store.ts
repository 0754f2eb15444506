import * as t from 'io-ts';
import { type DatabasePool, sql } from 'slonik';
import type { TestMails } from '../../application/ports/test-mails.ts';
import { addEvent } from './admin-events-store.ts';
import { int8 } from './codecs.ts';
import { row } from './pool.ts';

const action = 'mail.test';

/** Events of test mails. The person's row is locked, so that concurrent test mails are counted. */
export const testMailsStore = (pool: DatabasePool): TestMails => ({
  record: ({ to, most, minutes }, actor) =>
    pool.transaction(async (connection) => {
      await connection.query(
        sql.unsafe`select 1 from users where user_id = ${actor.userId} for no key update`,
      );
      const asked = await connection.oneFirst(sql.type(row(t.type({ asked: int8 })))`
        select count(*) as asked from admin_events
        where actor_user_id = ${actor.userId} and action = ${action}
          and occurred_at > gateway_now() - make_interval(mins => ${minutes})
      `);
      if (asked >= most) return false;
      await addEvent(connection, actor, {
        action,
        targetKind: 'user',
        targetId: actor.userId,
        before: undefined,
        after: { to },
      });
      return true;
    }),
});

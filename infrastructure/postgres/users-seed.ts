import { type CommonQueryMethods, sql } from 'slonik';
import type { Seed } from '../../application/ports/seed.ts';
import { foldEmail } from '../../domain/identity/password.ts';
import { storedJson } from './stored-text.ts';

/** Reconciles users with the file. Only admins decide who is active: the file has no setting for it. */
export async function reconcileUsers(connection: CommonQueryMethods, { users }: Seed): Promise<void> {
  const rows = users.map((user) => ({
    email: user.email,
    name: user.name,
    role: user.role,
    request_logging_enabled: user.requestLoggingEnabled,
  }));
  await connection.query(sql.unsafe`
    insert into users (email, name, role, request_logging_enabled, from_config)
    select w.email, w.name, w.role, w.request_logging_enabled, true
    from json_to_recordset(${storedJson(rows)}::json)
      w(email text, name text, role text, request_logging_enabled boolean)
    on conflict (email_folded) do update
      set email = excluded.email, name = excluded.name, role = excluded.role,
          request_logging_enabled = excluded.request_logging_enabled, from_config = true,
          version = users.version + 1, updated_at = excluded.updated_at
    where (users.email, users.name, users.role, users.request_logging_enabled, users.from_config)
      is distinct from (excluded.email, excluded.name, excluded.role, excluded.request_logging_enabled, true)
  `);
  const emails = users.map(({ email }) => foldEmail(email));
  await connection.query(sql.unsafe`
    update users set from_config = false, version = version + 1
    where from_config and email_folded <> all (${sql.array(emails, 'text')})
  `);
  // Revokes the tokens of users who are no longer active admins. They stay revoked if the role is given back.
  await connection.query(sql.unsafe`
    update admin_tokens k set revoked_at = gateway_now() from users u
    where k.user_id = u.user_id and k.revoked_at is null and not (u.active and u.role = 'platform_admin')
  `);
}

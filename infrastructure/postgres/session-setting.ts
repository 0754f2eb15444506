/**
 * The settings that sessions start with, whatever the defaults of the database and the role are. The hard limit reads
 * its sums after taking its lock, in statements that must see what was committed in the meantime. Times are parsed in
 * this date style. In the texts of functions and migrations a backslash is an ordinary character. Owners without a user
 * are nulls in arrays.
 */
export const ownSettings = {
  default_transaction_isolation: 'read committed',
  datestyle: 'ISO',
  standard_conforming_strings: 'on',
  array_nulls: 'on',
} as const;

/** The URL of sessions that start with these settings. */
export const withOwnSettings = (url: string): string =>
  Object.entries(ownSettings).reduce((so, [name, value]) => withSessionSetting(so, name, value), url);

/** The URL of sessions that start with one more PostgreSQL setting. */
export function withSessionSetting(url: string, name: string, value: string): string {
  const target = new URL(url);
  const given = target.searchParams.get('options') ?? '';
  target.searchParams.set('options', `${given} -c ${name}=${value.replaceAll(' ', '\\ ')}`.trim());
  return target.href;
}

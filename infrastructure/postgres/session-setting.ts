/**
 * What sessions begin with, whatever the database and the role have: the hard limit reads its sums after its lock is
 * held, by statements that must see what was committed meanwhile; times are read in this spelling; and in the texts of
 * functions and migrations a backslash is one.
 */
export const ownSettings = {
  default_transaction_isolation: 'read committed',
  datestyle: 'ISO',
  standard_conforming_strings: 'on',
} as const;

/** The URL of sessions that begin with them. */
export const withOwnSettings = (url: string): string =>
  Object.entries(ownSettings).reduce((so, [name, value]) => withSessionSetting(so, name, value), url);

/** The URL of sessions that begin with one more setting of PostgreSQL. */
export function withSessionSetting(url: string, name: string, value: string): string {
  const target = new URL(url);
  const given = target.searchParams.get('options') ?? '';
  target.searchParams.set('options', `${given} -c ${name}=${value.replaceAll(' ', '\\ ')}`.trim());
  return target.href;
}

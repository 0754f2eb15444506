/** The URL of sessions that begin with one more setting of PostgreSQL, `name=value`; a space in it is escaped. */
export function withSessionSetting(url: string, setting: string): string {
  const target = new URL(url);
  const given = target.searchParams.get('options') ?? '';
  target.searchParams.set('options', `${given} -c ${setting}`.trim());
  return target.href;
}

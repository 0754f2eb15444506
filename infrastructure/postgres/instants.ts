import { type FragmentSqlToken, sql } from 'slonik';

/** Passed as a number, because PostgreSQL does not parse every year that an ISO date can have; null for no instant. */
export const instantOf = (at: Date | null | undefined): FragmentSqlToken =>
  sql.fragment`to_timestamp(${at?.getTime() ?? null}::double precision / 1000)`;

const uuidShape = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** Whether a text may be compared with a UUID column. */
export const isUuid = (text: string): boolean => uuidShape.test(text);

import { type FragmentSqlToken, sql } from 'slonik';

/** As a number, because PostgreSQL does not read every year that an ISO date can have; null where there is none. */
export const instantOf = (at: Date | null | undefined): FragmentSqlToken =>
  sql.fragment`to_timestamp(${at?.getTime() ?? null}::double precision / 1000)`;

const uuidShape = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** Whether a text may be compared with a column of UUIDs. */
export const isUuid = (text: string): boolean => uuidShape.test(text);

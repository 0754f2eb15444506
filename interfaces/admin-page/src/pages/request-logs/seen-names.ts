import { useRef } from 'react';
import { choiceWords } from './choices.ts';
import { straight } from './request-filters.ts';
import type { LoggedRow } from './request-log.ts';

/**
 * How the value of a filter is shown. Owners and keys have the names from rows that were on the screen, even if the
 * filter has removed those rows.
 */
export function useNames(rows: readonly LoggedRow[]): (filter: string, value: string) => string {
  const seen = useRef<ReadonlyMap<string, string>>(new Map());
  seen.current = new Map([...seen.current, ...rows.flatMap(namesIn)].slice(-maxNames));
  return (filter, value) => {
    const name = straight(filter);
    return choiceWords[name]?.[value] ?? seen.current.get(`${name} ${value}`) ?? value;
  };
}

const maxNames = 2000;

const namesIn = (log: LoggedRow): readonly (readonly [string, string])[] =>
  (
    [
      ['user_id', log.user_id, log.user_name],
      ['team_id', log.team_id, log.team_name],
      ['service_account_id', log.service_account_id, log.service_account_name],
      ['api_key_id', log.api_key_id, log.api_key_name],
    ] as const
  ).flatMap(([filter, id, name]) =>
    id === null || name === null ? [] : [[`${filter} ${id}`, name] as const],
  );

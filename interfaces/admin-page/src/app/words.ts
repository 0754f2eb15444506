import { ApiError } from '../api/client.ts';
import type { Filters } from './address.ts';

/** The filters in the address that have one of these names. */
export const filtersNamed = (filters: Filters, names: object): Filters =>
  Object.fromEntries(Object.entries(filters).filter(([name]) => Object.hasOwn(names, name)));

/** Reads a filter that is one of a few words. An unknown word is rejected by the filter's name, as in the API. */
export function wordOf<W extends string>(
  name: string,
  words: readonly W[],
  text: string | undefined,
): W | undefined {
  const found = words.find((each) => each === text);
  if (text !== undefined && found === undefined)
    throw new ApiError({
      status: 400,
      code: 'invalid_request',
      message: `\`${name}\` must be one of ${words.join(', ')}.`,
      param: name,
    });
  return found;
}

/** The same for `true` and `false`. */
export function flagOf(name: string, text: string | undefined): boolean | undefined {
  const word = wordOf(name, ['true', 'false'], text);
  return word === undefined ? undefined : word === 'true';
}

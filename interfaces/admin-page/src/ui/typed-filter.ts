import { useEffect, useRef, useState } from 'react';
import { useAddress } from '../app/address.ts';

/** So long a pause, and what stands in the field is meant. */
const pauseMs = 300;

/** How a field spells what stands in the address. */
export interface Spelling {
  readonly shown: (value: string | undefined) => string;
  /** What the address says for a text that is not empty; undefined while it is half typed. */
  readonly meant: (typed: string) => string | undefined;
}

const nothing = {};

/**
 * What is typed into a filter, and what takes it: it takes effect when typing pauses. What the field has set itself comes
 * back over the address, perhaps while somebody types on, and is not written into it again. `along` is what else the
 * address says then; it is one object for as long as the field is there.
 */
export function useTypedFilter(
  name: string,
  { shown, meant }: Spelling,
  along: Readonly<Record<string, string>> = nothing,
): readonly [typed: string, type: (text: string) => void] {
  const { filters, set } = useAddress();
  const inForce = shown(filters[name]);
  const [typed, setTyped] = useState(inForce);
  const known = useRef(inForce);
  useEffect(() => {
    if (inForce === known.current) return;
    known.current = inForce;
    setTyped(inForce);
  }, [inForce]);
  useEffect(() => {
    const value = typed === '' ? undefined : meant(typed);
    if (typed === known.current || (value === undefined && typed !== '')) return undefined;
    const timer = setTimeout(() => {
      known.current = typed;
      set({ [name]: value, page: undefined, ...along }, 'replace');
    }, pauseMs);
    return () => clearTimeout(timer);
  }, [typed, name, set, meant, along]);
  return [typed, setTyped];
}

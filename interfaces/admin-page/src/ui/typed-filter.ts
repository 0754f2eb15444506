import { useEffect, useRef, useState } from 'react';
import { useAddress } from '../app/address.ts';

/** How long typing must pause before the text takes effect. */
const pauseMs = 300;

/** How a field spells a value of the address. */
export interface Spelling {
  readonly shown: (value: string | undefined) => string;
  /** The value for a text that is not blank; `undefined` while it is incomplete. */
  readonly meant: (typed: string) => string | undefined;
}

const nothing = {};

/**
 * The text typed into a filter, its setter, and what to call when the field loses the focus. The text takes effect when
 * typing pauses. A value that the field itself set comes back through the address, perhaps while the person is still
 * typing, and is not written into the field again. Back undoes everything that was typed between the focus and its loss
 * at once (rule 52.18). `along` are further changes of the address; it must be the same object for the life of the
 * field.
 */
export function useTypedFilter(
  name: string,
  { shown, meant }: Spelling,
  along: Readonly<Record<string, string>> = nothing,
): readonly [typed: string, type: (text: string) => void, leave: () => void] {
  const { filters, set } = useAddress();
  const inForce = shown(filters[name]);
  const [typed, setTyped] = useState(inForce);
  const known = useRef(inForce);
  /** The entry of the history is of what is being typed. */
  const isOwnEntry = useRef(false);
  useEffect(() => {
    if (inForce === known.current) return;
    known.current = inForce;
    isOwnEntry.current = false;
    setTyped(inForce);
  }, [inForce]);
  useEffect(() => {
    const isEmpty = typed.trim() === '';
    const value = isEmpty ? undefined : meant(typed);
    if (typed === known.current || (value === undefined && !isEmpty)) return undefined;
    const timer = setTimeout(() => {
      known.current = shown(value);
      set({ [name]: value, page: undefined, ...along }, isOwnEntry.current ? 'replace' : 'push');
      isOwnEntry.current = true;
    }, pauseMs);
    return () => clearTimeout(timer);
  }, [typed, name, set, shown, meant, along]);
  const leave = (): void => {
    isOwnEntry.current = false;
  };
  return [typed, setTyped, leave];
}

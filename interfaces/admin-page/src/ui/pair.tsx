import type { ReactNode } from 'react';

/** A name and what it has, in a list of pairs. */
export const Pair = ({
  name,
  isBroad = false,
  children,
}: {
  readonly name: string;
  /** An id, which wants a line of its own. */
  readonly isBroad?: boolean;
  readonly children: ReactNode;
}) => (
  <div className={isBroad ? 'broad' : undefined}>
    <dt>{name}</dt>
    <dd>{children}</dd>
  </div>
);

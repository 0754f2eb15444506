import type { ReactNode } from 'react';

/** A name and its value, in a description list. */
export const Pair = ({
  name,
  isBroad = false,
  children,
}: {
  readonly name: string;
  /** For an id, which needs a line of its own. */
  readonly isBroad?: boolean;
  readonly children: ReactNode;
}) => (
  <div className={isBroad ? 'broad' : undefined}>
    <dt>{name}</dt>
    <dd>{children}</dd>
  </div>
);

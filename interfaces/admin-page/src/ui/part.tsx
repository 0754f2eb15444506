import type { ReactNode } from 'react';

/** A section of a detail view, under its own heading. */
export const Part = ({ title, children }: { readonly title: string; readonly children: ReactNode }) => (
  <section className="stack" aria-label={title}>
    <h3>{title}</h3>
    {children}
  </section>
);

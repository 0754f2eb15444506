import { type ReactNode, useEffect } from 'react';

/** The layout of every page: a title, a sentence of facts, filters, then the content. */
export function Page({
  title,
  facts,
  actions,
  filters,
  children,
}: {
  readonly title: string;
  /** A sentence such as “41,203 requests, 212.4071 USD”. */
  readonly facts?: ReactNode;
  readonly actions?: ReactNode;
  readonly filters?: ReactNode;
  readonly children: ReactNode;
}) {
  useEffect(() => {
    document.title = `${title} · Model Gateway`;
  }, [title]);
  return (
    <>
      <header className="page-head">
        <div>
          <h1>{title}</h1>
          <p className="facts">{facts}</p>
        </div>
        <div className="actions">{actions}</div>
      </header>
      {filters === undefined ? null : <div className="filters">{filters}</div>}
      {children}
    </>
  );
}

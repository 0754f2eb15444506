import { type ComponentProps, useState } from 'react';
import { grouped } from './amounts.ts';
import { Table } from './table.tsx';

const shownAtFirst = 100;

/** A table of a report, which has no pages: the first hundred rows, and the others on demand. The CSV has all rows. */
export function BoundedTable<R>(props: ComponentProps<typeof Table<R>>) {
  const [isWhole, setWhole] = useState(false);
  const { rows } = props;
  const isCut = rows !== undefined && rows.length > shownAtFirst && !isWhole;
  return (
    <Table
      {...props}
      rows={isCut ? rows.slice(0, shownAtFirst) : rows}
      csvRows={rows}
      tools={
        <>
          {props.tools}
          {isCut ? (
            <button type="button" className="button quiet" onClick={() => setWhole(true)}>
              First {shownAtFirst} of {grouped(rows.length)}: show all
            </button>
          ) : null}
        </>
      }
    />
  );
}

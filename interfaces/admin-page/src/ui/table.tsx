import { type KeyboardEvent, type ReactNode, useRef, useState } from 'react';
import { csvOf } from './csv.ts';
import { download } from './download.ts';
import { isFaultOf } from './fields.tsx';
import { Icon } from './icons.tsx';
import { Menu } from './menu.tsx';
import { Failed, StaleNotice, Waiting } from './states.tsx';

export interface Column<R> {
  readonly key: string;
  readonly title: string;
  readonly cell: (row: R) => ReactNode;
  /** The same as text, for the CSV. A column without it is not in the CSV. */
  readonly text?: (row: R) => string | number | null | undefined;
  /** For numbers and money. */
  readonly align?: 'end';
  /** Hidden until it is chosen. */
  readonly hidden?: boolean;
}

export interface TableProps<R> {
  /** The name of the table, read aloud and used in the CSV's file name. */
  readonly caption: string;
  readonly columns: readonly Column<R>[];
  readonly rows: readonly R[] | undefined;
  readonly rowKey: (row: R) => string;
  /** Opens the details of a row, on click and on Enter. */
  readonly onOpen?: ((row: R) => void) | undefined;
  readonly openKey?: string | undefined;
  readonly error?: Error | null;
  readonly again?: () => void;
  /** Filters that show their own faults, which are not reported a second time (rule 52.23). */
  readonly typedFilters?: readonly string[];
  /** The rows are those of an earlier query, while the current one loads. */
  readonly isStale?: boolean;
  /** Shown when there are no rows. */
  readonly empty: ReactNode;
  /** Shown above the table, beside the choice of columns and the CSV button. */
  readonly tools?: ReactNode;
  /** The rows of the CSV, if it has more than the table shows. */
  readonly csvRows?: readonly R[] | undefined;
  /** The page number, if the rows are one page of a longer list. The CSV then has only this page, and says so. */
  readonly csvPage?: number | undefined;
}

/**
 * A list with a sticky head, rows that arrows walk through and Enter opens, a choice of columns, and a CSV of its rows.
 */
export function Table<R>(props: TableProps<R>) {
  const { caption, columns, rows, rowKey, onOpen, openKey, again, empty, tools } = props;
  const { isStale = false, csvRows = rows, csvPage, typedFilters = [] } = props;
  const isAtFilter = isFaultOf(props.error ?? null, typedFilters);
  const error = isAtFilter ? null : (props.error ?? null);
  const [hidden, setHidden] = useHiddenColumns(caption, columns);
  const shown = columns.filter(({ key }) => !hidden.has(key));
  const body = useRef<HTMLTableSectionElement>(null);
  if (isAtFilter && rows === undefined) return null;
  if (error !== null && rows === undefined) return <Failed error={error} again={again} />;
  return (
    <section aria-label={caption} className="table-frame">
      <div className="table-tools">
        {tools}
        {isStale ? <StaleNotice what={caption} /> : null}
        <span className="spring" />
        <Columns columns={columns} hidden={hidden} choose={setHidden} />
        <button
          type="button"
          className="button quiet"
          disabled={rows === undefined || rows.length === 0 || isStale}
          onClick={() => download(csvName(caption, csvPage), csvOf(columns, csvRows ?? []))}
        >
          <Icon name="download" /> {csvPage === undefined ? 'CSV' : 'CSV of this page'}
        </button>
      </div>
      {error === null ? null : <Failed error={error} again={again} />}
      {rows === undefined ? (
        <Waiting for={caption} />
      ) : rows.length === 0 ? (
        <div className={isStale ? 'stale' : undefined}>{empty}</div>
      ) : (
        <div
          className={isStale ? 'table-scroll stale' : 'table-scroll'}
          aria-busy={isStale}
          tabIndex={0}
          role="region"
          aria-label={`${caption}, scrolls`}
        >
          <table>
            <caption className="unseen">{caption}</caption>
            <thead>
              <tr>
                {shown.map(({ key, title, align }) => (
                  <th key={key} scope="col" className={align}>
                    {title}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody ref={body} onKeyDown={(event) => walk(event, body.current)}>
              {rows.map((row, index) => (
                <Row
                  key={rowKey(row)}
                  row={row}
                  columns={shown}
                  isFirst={index === 0}
                  isOpen={openKey !== undefined && rowKey(row) === openKey}
                  onOpen={onOpen}
                />
              ))}
            </tbody>
          </table>
        </div>
      )}
    </section>
  );
}

const csvName = (caption: string, page: number | undefined): string =>
  page === undefined ? `${caption}.csv` : `${caption}, page ${page}.csv`;

function Row<R>({
  row,
  columns,
  isFirst,
  isOpen,
  onOpen,
}: {
  readonly row: R;
  readonly columns: readonly Column<R>[];
  readonly isFirst: boolean;
  readonly isOpen: boolean;
  readonly onOpen: ((row: R) => void) | undefined;
}) {
  const cells = columns.map(({ key, cell, align }) => (
    <td key={key} className={align}>
      <div className="cell">{cell(row)}</div>
    </td>
  ));
  if (onOpen === undefined) return <tr>{cells}</tr>;
  return (
    <tr
      className={isOpen ? 'opens open' : 'opens'}
      tabIndex={isFirst ? 0 : -1}
      aria-selected={isOpen}
      onClick={(event) => {
        if (!isControl(event.target) && !hasSelected()) onOpen(row);
      }}
      onKeyDown={(event) => {
        if (event.key !== 'Enter' || isControl(event.target)) return;
        event.preventDefault();
        onOpen(row);
      }}
    >
      {cells}
    </tr>
  );
}

const isControl = (target: EventTarget): boolean =>
  target instanceof Element && target.closest('a, button, input, select, summary') !== null;

/** Whether the press that has just ended selected text, to copy it (rule 52.13). Pressing elsewhere clears it first. */
const hasSelected = (): boolean => getSelection()?.isCollapsed === false;

/** Arrows, Home and End move the focus between rows. */
function walk(event: KeyboardEvent, body: HTMLElement | null): void {
  if (body === null) return;
  const rows = [...body.querySelectorAll<HTMLElement>('tr[tabindex]')];
  const at = rows.findIndex((row) => row === document.activeElement);
  const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: rows.length - 1 }[event.key];
  if (at < 0 || to === undefined) return;
  event.preventDefault();
  rows[to]?.focus();
}

/** Stored in the browser, per table. */
function useHiddenColumns<R>(
  caption: string,
  columns: readonly Column<R>[],
): readonly [ReadonlySet<string>, (hidden: ReadonlySet<string>) => void] {
  const key = `gateway.columns.${caption}`;
  const [hidden, setHidden] = useState<ReadonlySet<string>>(() => {
    const kept = localStorage.getItem(key);
    const initial = columns.filter((column) => column.hidden === true).map((column) => column.key);
    return new Set(kept === null ? initial : kept.split(','));
  });
  return [
    hidden,
    (next) => {
      localStorage.setItem(key, [...next].join(','));
      setHidden(next);
    },
  ];
}

function Columns<R>({
  columns,
  hidden,
  choose,
}: {
  readonly columns: readonly Column<R>[];
  readonly hidden: ReadonlySet<string>;
  readonly choose: (hidden: ReadonlySet<string>) => void;
}) {
  const toggled = (key: string): ReadonlySet<string> => {
    const next = new Set(hidden);
    if (!next.delete(key)) next.add(key);
    return next;
  };
  return (
    <Menu
      button={
        <>
          <Icon name="columns" /> Columns
        </>
      }
    >
      {columns.map(({ key, title }) => (
        <label key={key} className="menu-item">
          <input type="checkbox" checked={!hidden.has(key)} onChange={() => choose(toggled(key))} />
          {title}
        </label>
      ))}
    </Menu>
  );
}

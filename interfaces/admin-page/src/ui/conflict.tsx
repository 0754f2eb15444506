import { useEffect, useRef } from 'react';
import { ActButton } from './act-button.tsx';
import { Badge } from './values.tsx';

/** One member of an object that two people changed. */
export interface ConflictRow {
  readonly title: string;
  readonly theirs: string;
  readonly mine: string;
}

/**
 * The state that somebody else saved beside one's own change, which was refused with 409. It replaces the form's
 * buttons.
 */
export function Conflict({
  rows,
  takeTheirs,
  applyMine,
  isPending,
}: {
  /** Every member of the form, because equal values show that nobody disagrees. */
  readonly rows: readonly ConflictRow[];
  /** Discards one's own change and continues from theirs. */
  readonly takeTheirs: () => void;
  /** Applies one's own change on top of theirs. */
  readonly applyMine: () => void;
  readonly isPending: boolean;
}) {
  const section = useRef<HTMLElement>(null);
  useEffect(() => {
    const form = section.current?.closest('form');
    section.current?.focus();
    // The button that was pressed disappears with this section, so the focus moves to the form that reappears.
    return () => form?.querySelector<HTMLElement>('input, select, textarea, button')?.focus();
  }, []);
  return (
    <section ref={section} className="conflict" tabIndex={-1} role="alert" aria-label="Conflict">
      <h3>Somebody else changed it in the meantime</h3>
      <p>None of your changes have been saved yet. Differences are marked.</p>
      <div className="table-scroll" tabIndex={0} role="region" aria-label="Theirs and yours, scrolls">
        <table>
          <caption className="unseen">Theirs and yours</caption>
          <thead>
            <tr>
              <th scope="col">Field</th>
              <th scope="col">Current version (theirs)</th>
              <th scope="col">Your version (not saved)</th>
            </tr>
          </thead>
          <tbody>
            {rows.map(({ title, theirs, mine }) => (
              <tr key={title}>
                <th scope="row">
                  {title} {theirs === mine ? null : <Badge tone="warn">differs</Badge>}
                </th>
                <td className="wrap">{theirs}</td>
                <td className="wrap">{mine}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <div className="actions">
        <ActButton isPending={isPending} onAct={takeTheirs}>
          Take theirs
        </ActButton>
        <ActButton look="button primary" isPending={isPending} onAct={applyMine}>
          {isPending ? 'One moment…' : 'Apply mine on top'}
        </ActButton>
      </div>
    </section>
  );
}

import { type ReactNode, useSyncExternalStore } from 'react';
import { createPortal } from 'react-dom';
import { Icon } from './icons.tsx';

interface Notice {
  readonly id: number;
  readonly text: ReactNode;
}

interface Shown {
  readonly notices: readonly Notice[];
  /** Open modal dialogs, the topmost last. Nothing outside of that one can be read or clicked. */
  readonly dialogs: readonly Element[];
}

let shown: Shown = { notices: [], dialogs: [] };
let lastId = 0;
const listeners = new Set<() => void>();
const show = (next: Partial<Shown>): void => {
  shown = { ...shown, ...next };
  for (const listener of listeners) listener();
};
const remove = (id: number): void => show({ notices: shown.notices.filter((each) => each.id !== id) });

/** Shows notices in this dialog while it is the topmost. Returns a function that ends this. */
export function noticesIn(dialog: Element): () => void {
  show({ dialogs: [...shown.dialogs, dialog] });
  return () => show({ dialogs: shown.dialogs.filter((each) => each !== dialog) });
}

/** How long a notice stays: long enough to read two sentences and follow a link. */
const shownMs = 12_000;
const maxNotices = 4;

/**
 * A change closes its dialog, and the region of the notices moves with that. Screen readers announce what is added to a
 * region, but not what a new region already has (rule 52.16).
 */
const afterDialogMs = 100;

/** Announces what has just changed, on every page. */
export function notify(text: ReactNode): void {
  lastId += 1;
  const id = lastId;
  setTimeout(() => {
    show({ notices: [...shown.notices.slice(1 - maxNotices), { id, text }] });
    setTimeout(() => remove(id), shownMs);
  }, afterDialogMs);
}

export function Notices() {
  const { notices, dialogs } = useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => shown,
  );
  return createPortal(
    <div className="notices" role="status" aria-live="polite">
      {notices.map(({ id, text }) => (
        <div key={id} className="notice">
          <Icon name="check" />
          <div>{text}</div>
          <button type="button" className="button quiet" aria-label="Dismiss" onClick={() => remove(id)}>
            <Icon name="close" />
          </button>
        </div>
      ))}
    </div>,
    dialogs.at(-1) ?? document.body,
  );
}

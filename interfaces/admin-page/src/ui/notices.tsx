import { type ReactNode, useSyncExternalStore } from 'react';
import { createPortal } from 'react-dom';
import { Icon } from './icons.tsx';

interface Notice {
  readonly id: number;
  readonly text: ReactNode;
}

interface Shown {
  readonly notices: readonly Notice[];
  /** Open modal dialogs, the topmost last: outside of it nothing can be read or clicked. */
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

/** Notices stand in this dialog while it is the topmost. Returns what ends that. */
export function noticesIn(dialog: Element): () => void {
  show({ dialogs: [...shown.dialogs, dialog] });
  return () => show({ dialogs: shown.dialogs.filter((each) => each !== dialog) });
}

/** How long a notice stays: long enough to read two sentences and follow a link. */
const shownMs = 12_000;
const maxNotices = 4;

/** Says what has just changed, where every page shows it. */
export function notify(text: ReactNode): void {
  lastId += 1;
  const id = lastId;
  show({ notices: [...shown.notices.slice(1 - maxNotices), { id, text }] });
  setTimeout(() => remove(id), shownMs);
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

import { type ReactNode, useSyncExternalStore } from 'react';
import { Icon } from './icons.tsx';

interface Notice {
  readonly id: number;
  readonly text: ReactNode;
}

let notices: readonly Notice[] = [];
let lastId = 0;
const listeners = new Set<() => void>();
const show = (next: readonly Notice[]): void => {
  notices = next;
  for (const listener of listeners) listener();
};
const remove = (id: number): void => show(notices.filter((each) => each.id !== id));

/** How long a notice stays: long enough to read two sentences and follow a link. */
const shownMs = 12_000;
const maxNotices = 4;

/** Says what has just changed, where every page shows it. */
export function notify(text: ReactNode): void {
  lastId += 1;
  const id = lastId;
  show([...notices.slice(1 - maxNotices), { id, text }]);
  setTimeout(() => remove(id), shownMs);
}

export function Notices() {
  const shown = useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => notices,
  );
  return (
    <div className="notices" role="status" aria-live="polite">
      {shown.map(({ id, text }) => (
        <div key={id} className="notice">
          <Icon name="check" />
          <div>{text}</div>
          <button type="button" className="button quiet" aria-label="Dismiss" onClick={() => remove(id)}>
            <Icon name="close" />
          </button>
        </div>
      ))}
    </div>
  );
}

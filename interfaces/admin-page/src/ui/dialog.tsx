import { type ReactNode, useEffect, useId, useRef } from 'react';
import { Icon } from './icons.tsx';

interface Shown {
  readonly title: string;
  readonly open: boolean;
  readonly onClose: () => void;
  readonly children: ReactNode;
}

/**
 * A modal dialog of the browser's own: the focus stays within, Esc closes it, and the focus returns to where it came
 * from.
 */
export const Dialog = (props: Shown) => <Modal {...props} look="dialog" />;

/** The same at the side: detail of a row, whose list stays where it is. */
export const Drawer = (props: Shown) => <Modal {...props} look="drawer" />;

function Modal({ title, open, onClose, children, look }: Shown & { readonly look: 'dialog' | 'drawer' }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const heading = useId();
  useEffect(() => {
    const element = dialog.current;
    if (element === null || !open) return undefined;
    const before = document.activeElement;
    element.showModal();
    return () => {
      element.close();
      if (before instanceof HTMLElement && before.isConnected) before.focus();
    };
  }, [open]);
  if (!open) return null;
  return (
    <dialog
      ref={dialog}
      className={look}
      aria-labelledby={heading}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
      onClick={(event) => {
        if (event.target === dialog.current) onClose();
      }}
    >
      <div className="dialog-body">
        <header className="dialog-head">
          <h2 id={heading}>{title}</h2>
          <button type="button" className="button quiet" onClick={onClose} aria-label="Close">
            <Icon name="close" />
          </button>
        </header>
        {children}
      </div>
    </dialog>
  );
}

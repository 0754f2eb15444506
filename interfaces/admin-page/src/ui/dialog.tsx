import { type PointerEvent, type ReactNode, useEffect, useId, useRef } from 'react';
import { Icon } from './icons.tsx';
import { noticesIn } from './notices.tsx';

interface Shown {
  readonly title: string;
  /** `undefined`: it stays until what it asks for is done. */
  readonly onClose: (() => void) | undefined;
  readonly children: ReactNode;
}

/** A native modal dialog: the focus stays inside, Esc closes it, and the focus then returns to where it was. */
export const Dialog = (props: Shown) => <Modal {...props} look="dialog" />;

/** The same at the side, for the details of a row whose list stays where it is. */
export const Drawer = (props: Shown) => <Modal {...props} look="drawer" />;

function Modal({ title, onClose, children, look }: Shown & { readonly look: 'dialog' | 'drawer' }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const heading = useId();
  const pressedOutside = useRef(false);
  useEffect(() => {
    const element = dialog.current;
    if (element === null) return undefined;
    const before = document.activeElement;
    show(element, look);
    const end = noticesIn(element);
    return () => {
      end();
      element.close();
      if (before instanceof HTMLElement && before.isConnected) before.focus();
    };
  }, [look]);
  return (
    <dialog
      ref={dialog}
      className={look}
      aria-labelledby={heading}
      onCancel={(event) => {
        // React would also pass the event to a dialog beneath.
        event.stopPropagation();
        event.preventDefault();
        onClose?.();
      }}
      onClose={() => {
        const element = dialog.current;
        if (element === null || element.open) return;
        // At the second Esc in a row the browser closes a dialog without asking.
        onClose?.();
        requestAnimationFrame(() => {
          if (dialog.current === element && !element.open) show(element, look);
        });
      }}
      onPointerDown={(event) => {
        pressedOutside.current = event.target === dialog.current && isOutside(event, dialog.current);
      }}
      onClick={() => {
        // A press that starts inside and ends outside selects text, and closes nothing.
        if (pressedOutside.current) onClose?.();
        pressedOutside.current = false;
      }}
    >
      <div className="dialog-body">
        <header className="dialog-head">
          <h2 id={heading}>{title}</h2>
          {onClose === undefined ? null : (
            <button type="button" className="button quiet" onClick={onClose} aria-label="Close">
              <Icon name="close" />
            </button>
          )}
        </header>
        {children}
      </div>
    </dialog>
  );
}

function show(element: HTMLDialogElement, look: 'dialog' | 'drawer'): void {
  element.showModal();
  // By default a dialog focuses its first button, which closes it.
  if (look === 'dialog') element.querySelector<HTMLElement>(firstControl)?.focus();
}

const isOutside = ({ clientX, clientY }: PointerEvent, element: Element): boolean => {
  const { left, right, top, bottom } = element.getBoundingClientRect();
  return clientX < left || clientX > right || clientY < top || clientY > bottom;
};

/** Controls below the header. `:scope >`, because a dialog may contain another one. */
const firstControl = ':scope > .dialog-body > :not(header) :is(input, select, textarea, button)';

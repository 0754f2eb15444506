import { type ReactNode, useEffect, useRef } from 'react';

/**
 * What unfolds beneath a button. It folds where the focus or a press goes elsewhere, where a link of it is followed, and
 * by Esc; those that were in it are at the button then.
 */
export function Menu({
  button,
  look = 'button quiet',
  children,
}: {
  /** What the button says. */
  readonly button: ReactNode;
  readonly look?: string;
  readonly children: ReactNode;
}) {
  const menu = useRef<HTMLDetailsElement>(null);
  useEffect(() => {
    const onPointerDown = ({ target }: PointerEvent): void => {
      if (menu.current !== null && isBeside(target, menu.current)) menu.current.open = false;
    };
    document.addEventListener('pointerdown', onPointerDown);
    return () => document.removeEventListener('pointerdown', onPointerDown);
  }, []);
  const fold = (): void => {
    menu.current?.querySelector('summary')?.focus();
    if (menu.current !== null) menu.current.open = false;
  };
  return (
    <details
      ref={menu}
      className="menu"
      onBlur={({ relatedTarget, currentTarget }) => {
        if (isBeside(relatedTarget, currentTarget)) currentTarget.open = false;
      }}
      onKeyDown={(event) => {
        if (event.key !== 'Escape' || !event.currentTarget.open) return;
        // A dialog around it stays.
        event.preventDefault();
        fold();
      }}
      onClick={({ target }) => {
        if (target instanceof Element && target.closest('a') !== null) fold();
      }}
    >
      <summary className={look}>{button}</summary>
      <div className="menu-body">{children}</div>
    </details>
  );
}

/** On the same ground as the menu, and not in it: a dialog that the menu has opened gives the focus back to it. */
const isBeside = (target: EventTarget | null, menu: Element): boolean =>
  target instanceof Element && !menu.contains(target) && target.closest('dialog') === menu.closest('dialog');

import { type ReactNode, useEffect, useRef } from 'react';

/**
 * A menu that opens below a button. It closes when the focus or a press goes elsewhere, when one of its links is
 * followed, and on Esc. After the last two, the focus is on the button.
 */
export function Menu({
  button,
  look = 'button quiet',
  children,
}: {
  /** The content of the button. */
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
        // Keeps a surrounding dialog open.
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

/**
 * Outside of the menu, but in the same dialog or page. A dialog that was opened from the menu returns the focus to it.
 */
const isBeside = (target: EventTarget | null, menu: Element): boolean =>
  target instanceof Element && !menu.contains(target) && target.closest('dialog') === menu.closest('dialog');

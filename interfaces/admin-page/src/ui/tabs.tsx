import { type KeyboardEvent, type ReactNode, useId } from 'react';

/** One of several views of the same thing. Arrows move between the tabs. */
export function Tabs({
  label,
  tabs,
  chosen,
  onChoose,
}: {
  readonly label: string;
  readonly tabs: readonly { readonly name: string; readonly body: ReactNode }[];
  readonly chosen: number;
  readonly onChoose: (index: number) => void;
}) {
  const id = useId();
  const walk = (event: KeyboardEvent<HTMLElement>): void => {
    const to = { ArrowRight: chosen + 1, ArrowLeft: chosen - 1, Home: 0, End: tabs.length - 1 }[event.key];
    if (to === undefined || tabs[to] === undefined) return;
    event.preventDefault();
    onChoose(to);
    event.currentTarget.querySelectorAll<HTMLElement>('[role="tab"]')[to]?.focus();
  };
  return (
    <div className="stack">
      <div className="tabs" role="tablist" aria-label={label} onKeyDown={walk}>
        {tabs.map(({ name }, index) => (
          <button
            key={name}
            type="button"
            role="tab"
            id={`${id}-${index}`}
            aria-selected={index === chosen}
            aria-controls={`${id}-panel`}
            tabIndex={index === chosen ? 0 : -1}
            onClick={() => onChoose(index)}
          >
            {name}
          </button>
        ))}
      </div>
      <div role="tabpanel" id={`${id}-panel`} className="stack" aria-labelledby={`${id}-${chosen}`}>
        {tabs[chosen]?.body}
      </div>
    </div>
  );
}

import { type KeyboardEvent, useEffect, useId, useState } from 'react';
import { FieldError } from './fields.tsx';

/** A choice of a combobox. */
export interface Choice {
  readonly key: string;
  readonly title: string;
  readonly detail: string | null;
}

export interface ChoiceGroup<C extends Choice> {
  readonly title: string;
  readonly choices: readonly C[];
}

/**
 * A field with its choices below it, following the ARIA pattern: the focus stays in the field, arrows move, Enter
 * chooses. The choices are those for the current text of the field, or none.
 */
export function Combobox<C extends Choice>({
  label,
  text,
  onText,
  groups,
  onChoose,
  autoFocus = false,
  placeholder,
  fault,
}: {
  readonly label: string;
  readonly text: string;
  readonly onText: (text: string) => void;
  readonly groups: readonly ChoiceGroup<C>[];
  readonly onChoose: (choice: C) => void;
  readonly autoFocus?: boolean;
  readonly placeholder?: string;
  readonly fault?: string | undefined;
}) {
  const id = useId();
  const choices = groups.flatMap((group) => group.choices);
  const all = choices.map(({ key }) => key).join('\n');
  const [at, setAt] = useState(0);
  useEffect(() => setAt(0), [all]);
  const active = choices[at];
  const optionId = (choice: C): string => `${id}-${choices.indexOf(choice)}`;
  useEffect(() => {
    document.getElementById(`${id}-${at}`)?.scrollIntoView({ block: 'nearest' });
  }, [id, at]);
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key === 'Enter') {
      event.preventDefault();
      if (active !== undefined) onChoose(active);
      return;
    }
    const to = { ArrowDown: at + 1, ArrowUp: at - 1 }[event.key];
    if (to === undefined || choices.length === 0) return;
    event.preventDefault();
    setAt((to + choices.length) % choices.length);
  };
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      <input
        id={id}
        type="text"
        role="combobox"
        aria-expanded={choices.length > 0}
        aria-controls={`${id}-list`}
        aria-autocomplete="list"
        aria-activedescendant={active === undefined ? undefined : optionId(active)}
        aria-invalid={fault !== undefined}
        aria-describedby={`${id}-about`}
        value={text}
        maxLength={200}
        placeholder={placeholder}
        autoComplete="off"
        spellCheck={false}
        // The person has just asked for this field.
        autoFocus={autoFocus}
        onChange={({ target }) => onText(target.value)}
        onKeyDown={onKeyDown}
      />
      <div id={`${id}-about`} className="field-about">
        <FieldError fault={fault} />
      </div>
      <div id={`${id}-list`} role="listbox" aria-label={`Results: ${label}`} className="hits">
        {groups.map(({ title, choices: ofGroup }) => (
          <div key={title} role="group" aria-label={title}>
            <div className="hits-kind" aria-hidden="true">
              {title}
            </div>
            {ofGroup.map((choice) => (
              <div
                key={choice.key}
                id={optionId(choice)}
                role="option"
                aria-selected={choice === active}
                tabIndex={-1}
                className="hit"
                onClick={() => onChoose(choice)}
                onKeyDown={onKeyDown}
              >
                <span>{choice.title}</span>
                {choice.detail === null ? null : <span className="muted">{choice.detail}</span>}
              </div>
            ))}
          </div>
        ))}
      </div>
    </div>
  );
}

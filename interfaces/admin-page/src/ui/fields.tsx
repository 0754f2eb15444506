import { type HTMLInputAutoCompleteAttribute, type ReactNode, useId } from 'react';
import { ApiError } from '../api/client.ts';

interface Labelled {
  readonly label: string;
  readonly hint?: ReactNode;
  /** The error of this field. */
  readonly fault?: string | undefined;
}

/** The API's message about this field; `undefined` when there is none. */
export const faultOf = (error: Error | null, field: string): string | undefined =>
  error instanceof ApiError && error.param === field ? error.message : undefined;

/** Whether the API's message is about one of these fields, where it is shown. */
export const isFaultOf = (error: Error | null, fields: readonly string[]): boolean =>
  fields.some((field) => faultOf(error, field) !== undefined);

/** The error of a field, announced at once. */
export const FieldError = ({ fault, id }: { readonly fault: string | undefined; readonly id?: string }) =>
  fault === undefined ? null : (
    <span id={id} className="error-text" role="alert">
      {fault}
    </span>
  );

function Field({
  label,
  hint,
  fault,
  children,
}: Labelled & {
  readonly children: (ids: { readonly id: string; readonly describedBy: string }) => ReactNode;
}) {
  const id = useId();
  const describedBy = `${id}-about`;
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      {children({ id, describedBy })}
      <div id={describedBy} className="field-about">
        <FieldError fault={fault} />
        {hint === undefined ? null : <span className="muted">{hint}</span>}
      </div>
    </div>
  );
}

export const TextField = ({
  value,
  onChange,
  type = 'text',
  required = false,
  autoFocus = false,
  autoComplete = 'off',
  inputMode,
  min,
  max,
  ...labelled
}: Labelled & {
  readonly value: string;
  readonly onChange: (value: string) => void;
  readonly type?: 'text' | 'email' | 'password' | 'search' | 'datetime-local';
  readonly required?: boolean;
  readonly autoFocus?: boolean;
  readonly autoComplete?: HTMLInputAutoCompleteAttribute;
  readonly inputMode?: 'numeric' | 'decimal';
  /** The first and the last date and time that may be chosen. */
  readonly min?: string | undefined;
  readonly max?: string | undefined;
}) => (
  <Field {...labelled}>
    {({ id, describedBy }) => (
      <input
        id={id}
        type={type}
        value={value}
        required={required}
        // The person has just asked for this field.
        autoFocus={autoFocus}
        autoComplete={autoComplete}
        inputMode={inputMode}
        min={min}
        max={max}
        aria-invalid={labelled.fault !== undefined}
        aria-describedby={describedBy}
        onChange={({ target }) => onChange(target.value)}
      />
    )}
  </Field>
);

export const SelectField = <V extends string>({
  value,
  onChange,
  options,
  ...labelled
}: Labelled & {
  readonly value: V;
  readonly onChange: (value: V) => void;
  readonly options: readonly { readonly value: V; readonly label: string }[];
}) => (
  <Field {...labelled}>
    {({ id, describedBy }) => (
      <select
        id={id}
        value={value}
        aria-invalid={labelled.fault !== undefined}
        aria-describedby={describedBy}
        onChange={({ target }) => {
          const chosen = options.find((each) => each.value === target.value);
          if (chosen !== undefined) onChange(chosen.value);
        }}
      >
        {options.map((each) => (
          <option key={each.value} value={each.value}>
            {each.label}
          </option>
        ))}
      </select>
    )}
  </Field>
);

export function CheckField({
  label,
  hint,
  checked,
  onChange,
}: Omit<Labelled, 'fault'> & { readonly checked: boolean; readonly onChange: (checked: boolean) => void }) {
  const id = useId();
  return (
    <div className="field check">
      <input id={id} type="checkbox" checked={checked} onChange={({ target }) => onChange(target.checked)} />
      <label htmlFor={id}>{label}</label>
      {hint === undefined ? null : <span className="muted">{hint}</span>}
    </div>
  );
}

const localForm = /^\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d)?$/;

/** The value of a date and time field, read as UTC; `undefined` when it is empty or not a time. */
export function instantOfField(text: string): string | undefined {
  if (!localForm.test(text)) return undefined;
  const at = new Date(`${text}Z`);
  return Number.isNaN(at.getTime()) ? undefined : `${at.toISOString().slice(0, 19)}Z`;
}

/** An instant as the value of such a field, in its shortest form; empty when it is not an instant. */
export function fieldOfInstant(instant: string | undefined): string {
  const at = instant === undefined ? undefined : new Date(instant);
  return at === undefined || Number.isNaN(at.getTime())
    ? ''
    : at.toISOString().slice(0, 19).replace(/:00$/, '');
}

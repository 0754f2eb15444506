const localForm = /^\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d)?$/;

/** A field of date and time, read as UTC; undefined where it is empty or is no such time. */
export function instantOfField(text: string): string | undefined {
  if (!localForm.test(text)) return undefined;
  const at = new Date(`${text}Z`);
  return Number.isNaN(at.getTime()) ? undefined : `${at.toISOString().slice(0, 19)}Z`;
}

/** An instant as such a field has it, in its shortest form; empty where it is none. */
export function fieldOfInstant(instant: string | undefined): string {
  const at = instant === undefined ? undefined : new Date(instant);
  return at === undefined || Number.isNaN(at.getTime())
    ? ''
    : at.toISOString().slice(0, 19).replace(/:00$/, '');
}

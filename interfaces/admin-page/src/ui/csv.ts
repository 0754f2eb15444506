interface TextColumn<R> {
  readonly title: string;
  readonly text?: ((row: R) => string | number | null | undefined) | undefined;
}

/**
 * RFC 4180, exact values. A text that a spreadsheet would take for a formula gets an apostrophe before it: names are
 * typed by others.
 */
export function csvOf<R>(columns: readonly TextColumn<R>[], rows: readonly R[]): string {
  const written = columns.flatMap(({ title, text }) => (text === undefined ? [] : [{ title, text }]));
  const lines = [
    written.map(({ title }) => title),
    ...rows.map((row) => written.map(({ text }) => text(row) ?? '')),
  ];
  return lines.map((line) => line.map(cellOf).join(',')).join('\r\n');
}

/** The full-width forms are taken for signs, too. */
const beginsFormula = /^[=+\-@\t\r\uFF1D\uFF0B\uFF0D\uFF20]/;

/** Quoted, too, where it holds what separates cells in the locale of a spreadsheet. */
function cellOf(value: string | number): string {
  const text =
    typeof value === 'string' && beginsFormula.test(value) && !isNumber(value) ? `'${value}` : String(value);
  return /[",;\t\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

const isNumber = (text: string): boolean => /^-?\d+(?:\.\d+)?$/.test(text);

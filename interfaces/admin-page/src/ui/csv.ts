interface TextColumn<R> {
  readonly title: string;
  readonly text?: ((row: R) => string | number | null | undefined) | undefined;
}

/**
 * RFC 4180, with exact values. A text that a spreadsheet would take for a formula is prefixed with an apostrophe,
 * because other people choose the names.
 */
export function csvOf<R>(columns: readonly TextColumn<R>[], rows: readonly R[]): string {
  const written = columns.flatMap(({ title, text }) => (text === undefined ? [] : [{ title, text }]));
  const lines = [
    written.map(({ title }) => title),
    ...rows.map((row) => written.map(({ text }) => text(row) ?? '')),
  ];
  return lines.map((line) => line.map(cellOf).join(',')).join('\r\n');
}

/** Spreadsheets also accept the full-width forms of these signs. */
const beginsFormula = /^[=+\-@\t\r\uFF1D\uFF0B\uFF0D\uFF20]/;

/** A cell is also quoted if it contains a character that separates cells in some spreadsheet locale. */
function cellOf(value: string | number): string {
  const text =
    typeof value === 'string' && beginsFormula.test(value) && !isNumber(value) ? `'${value}` : String(value);
  return /[",;\t\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

const isNumber = (text: string): boolean => /^-?\d+(?:\.\d+)?$/.test(text);

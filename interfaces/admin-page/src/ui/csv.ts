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

function cellOf(value: string | number): string {
  const text =
    typeof value === 'string' && /^[=+\-@\t\r]/.test(value) && !isNumber(value) ? `'${value}` : String(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

const isNumber = (text: string): boolean => /^-?\d+(?:\.\d+)?$/.test(text);

export function download(name: string, text: string): void {
  const url = URL.createObjectURL(new Blob([text], { type: 'text/csv;charset=utf-8' }));
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  URL.revokeObjectURL(url);
}

/** Without it, Excel reads names with accents in the code page of the machine. */
const byteOrderMark = '\uFEFF';

/** Downloads a text as a CSV file. */
export function download(name: string, text: string): void {
  const url = URL.createObjectURL(new Blob([byteOrderMark, text], { type: 'text/csv;charset=utf-8' }));
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  URL.revokeObjectURL(url);
}

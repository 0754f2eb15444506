import { documentFormats, maxDocumentNameChars } from './unified-limits.ts';

type DocumentFormat = (typeof documentFormats)[number];

const byMediaType: ReadonlyMap<string, DocumentFormat> = new Map([
  ['application/pdf', 'pdf'],
  ['text/csv', 'csv'],
  ['application/msword', 'doc'],
  ['application/vnd.openxmlformats-officedocument.wordprocessingml.document', 'docx'],
  ['application/vnd.ms-excel', 'xls'],
  ['application/vnd.openxmlformats-officedocument.spreadsheetml.sheet', 'xlsx'],
  ['text/html', 'html'],
  ['text/markdown', 'md'],
  ['text/plain', 'txt'],
]);

/** Media types that clients give to files whose type they do not know: the file name says more. */
const general: ReadonlySet<string | undefined> = new Set([
  undefined,
  '',
  'application/octet-stream',
  'text/plain',
]);

/** An extension: a letter, then letters or digits, after the last dot. `v1.2` has none. */
const extensionShape = /\.([A-Za-z][A-Za-z0-9]{0,9})$/;

/** The format of a document by its media type, or by its name if the media type is a general one. */
export function documentFormat(mediaType: string | undefined, name: string): DocumentFormat | undefined {
  const extension = extensionShape.exec(name)?.[1]?.toLowerCase();
  const named = documentFormats.find((format) => format === extension);
  if (general.has(mediaType) && named !== undefined) return named;
  return mediaType === undefined ? undefined : byMediaType.get(mediaType);
}

/**
 * Makes names of documents that the platform takes: letters, digits, hyphens, parentheses, square brackets and single
 * spaces, and no name twice in a request. Folder and extension are removed. The same files in the same order get the
 * same names, so that a prompt cache stays valid.
 */
export class DocumentNames {
  private readonly used = new Set<string>();
  /** The last number given to each stem, so that no number is tried twice. */
  private readonly counts = new Map<string, number>();

  nameOf(file: string): string {
    const plain = normalised(file);
    const stem = plain.slice(0, maxDocumentNameChars - suffixChars).trimEnd();
    let name = plain;
    let count = this.counts.get(stem) ?? 1;
    for (; this.used.has(name); name = `${stem} (${count})`) count += 1;
    this.counts.set(stem, count);
    this.used.add(name);
    return name;
  }
}

/** Room for ` (9999999)`: no request can hold more documents. */
const suffixChars = 10;

function normalised(file: string): string {
  const base = file.slice(Math.max(file.lastIndexOf('/'), file.lastIndexOf('\\')) + 1);
  const name = base
    .replace(extensionShape, '')
    .slice(0, maxDocumentNameChars)
    .normalize('NFKD')
    .replaceAll(/\p{M}/gu, '')
    .replaceAll(/\s+/g, ' ')
    .replaceAll(/[^A-Za-z0-9 \-()[\]]+/g, '-')
    .slice(0, maxDocumentNameChars)
    .replaceAll(/^[ -]+|[ -]+$/g, '');
  return name === '' ? 'document' : name;
}

/** The content codings that the gateway can decode. */
export const contentCodings = ['gzip', 'deflate', 'br', 'zstd'] as const;

export type ContentCoding = (typeof contentCodings)[number];

/**
 * The single coding of a `content-encoding` header, in any case; `identity` when it names none. `undefined` for a
 * coding that is not supported, or for several codings applied in sequence.
 */
export function contentCodingOf(header: string | undefined): ContentCoding | 'identity' | undefined {
  const [name, ...more] = (header ?? '')
    .split(',')
    .map((each) => each.trim().toLowerCase())
    .filter((each) => each !== '' && each !== 'identity');
  if (name === undefined) return 'identity';
  if (more.length > 0) return undefined;
  return contentCodings.find((each) => each === name || `x-${each}` === name);
}

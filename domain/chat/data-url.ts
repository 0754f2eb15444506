/** Bytes in base64 that a URL holds. */
export interface DataUrl {
  /** In lower case, without parameters, by its registered name; empty where the URL names none. */
  readonly mediaType: string;
  readonly data: string;
}

export const isDataUrl = (url: string): boolean => /^data:/i.test(url);

/**
 * `data:MEDIA-TYPE;base64,DATA`, in letters of either case; parameters may stand between. Undefined: it is none in base64.
 * `image/jpg` is no media type, but many call a JPEG so, and the platforms know it by the registered name alone.
 */
export function base64DataUrl(url: string): DataUrl | undefined {
  if (!isDataUrl(url)) return undefined;
  const comma = url.indexOf(',');
  const [mediaType = '', ...parameters] = url
    .slice('data:'.length, Math.max(0, comma))
    .toLowerCase()
    .split(';');
  if (parameters.at(-1) !== 'base64') return undefined;
  return { mediaType: mediaType === 'image/jpg' ? 'image/jpeg' : mediaType, data: url.slice(comma + 1) };
}

/** The media types that the platform's models read, by file extension. */
const byExtension: ReadonlyMap<string, string> = new Map([
  ['png', 'image/png'],
  ['jpg', 'image/jpeg'],
  ['jpeg', 'image/jpeg'],
  ['webp', 'image/webp'],
  ['heic', 'image/heic'],
  ['heif', 'image/heif'],
  ['gif', 'image/gif'],
  ['bmp', 'image/bmp'],
  ['mp4', 'video/mp4'],
  ['mpeg', 'video/mpeg'],
  ['mpg', 'video/mpg'],
  ['mov', 'video/mov'],
  ['avi', 'video/avi'],
  ['flv', 'video/x-flv'],
  ['webm', 'video/webm'],
  ['wmv', 'video/wmv'],
  ['3gp', 'video/3gpp'],
  ['mp3', 'audio/mp3'],
  ['wav', 'audio/wav'],
  ['aiff', 'audio/aiff'],
  ['aac', 'audio/aac'],
  ['ogg', 'audio/ogg'],
  ['opus', 'audio/opus'],
  ['flac', 'audio/flac'],
  ['m4a', 'audio/m4a'],
  ['pdf', 'application/pdf'],
  ['json', 'application/json'],
  ['rtf', 'text/rtf'],
  ['txt', 'text/plain'],
  ['md', 'text/md'],
  ['html', 'text/html'],
  ['css', 'text/css'],
  ['csv', 'text/csv'],
  ['xml', 'text/xml'],
]);

/**
 * The media type by the extension of a file name, path or URL. The query and fragment of a URL are not part of the
 * name. A `gs://` URL has neither.
 */
export function mediaTypeOf(name: string): string | undefined {
  const [path = ''] = name.startsWith('gs://') ? [name] : name.split(/[?#]/, 1);
  const last = path.slice(path.lastIndexOf('/') + 1);
  const dot = last.lastIndexOf('.');
  return dot < 0 ? undefined : byExtension.get(last.slice(dot + 1).toLowerCase());
}

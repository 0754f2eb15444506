import type { GatewayError } from '../../domain/shared/gateway-error.ts';
import { namedKey } from '../../domain/shared/named-key.ts';

/** Which paths exist, and what no answer may reveal. */
export interface UnknownPathTerms {
  readonly isPath: (path: string) => boolean;
  readonly redacted: (text: string) => string;
}

/** Names the unknown path. For the usual mistakes in base URLs the error says how to fix them. */
export const unknownPath = (path: string, { isPath, redacted }: UnknownPathTerms): GatewayError => ({
  code: 'not_found',
  message: `There is nothing at \`${namedKey(printable(redacted(path)))}\`.${adviceFor(path, isPath)}`,
});

function adviceFor(path: string, isPath: UnknownPathTerms['isPath']): string {
  if (path.startsWith('/v1/v1/') && isPath(path.slice('/v1'.length)))
    return ' Write the base URL of this client without `/v1`: the client adds it.';
  if (!path.startsWith('/v1/') && isPath(`/v1${path}`))
    return ' Write the base URL of this client with `/v1` at its end: the client does not add it.';
  if (path.includes('//') && isPath(path.replace('//', '/')))
    return ' Write the base URL of this client without the slash at its end.';
  return '';
}

/** Escapes characters that a URL may not contain, and the backtick that would end the quotation. */
const printable = (path: string): string =>
  path.replaceAll(
    /[^\x21-\x7e]|`/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`,
  );

import type { GatewayError } from '../../domain/shared/gateway-error.ts';
import { namedKey } from '../../domain/shared/named-key.ts';

/** What is known of the paths that there are, and of what no answer may say. */
export interface UnknownPathTerms {
  readonly isPath: (path: string) => boolean;
  readonly redacted: (text: string) => string;
}

/** An unknown path is named; for the two usual mistakes in base URLs the error says what to write. */
export const unknownPath = (path: string, { isPath, redacted }: UnknownPathTerms): GatewayError => ({
  code: 'not_found',
  message: `There is nothing at \`${namedKey(printable(redacted(path)))}\`.${adviceFor(path, isPath)}`,
});

function adviceFor(path: string, isPath: UnknownPathTerms['isPath']): string {
  if (path.startsWith('/v1/v1/') && isPath(path.slice('/v1'.length)))
    return ' Write the base URL of this client without `/v1`: the client adds it.';
  if (!path.startsWith('/v1/') && isPath(`/v1${path}`))
    return ' Write the base URL of this client with `/v1` at its end: the client does not add it.';
  return '';
}

/** Characters that a URL may not hold, and the one that would end the quotation, are escaped as in URLs. */
const printable = (path: string): string =>
  path.replaceAll(
    /[^\x21-\x7e]|`/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`,
  );

import { isIP } from 'node:net';
import { idShape, isDisplayName, maxIdChars, maxNameChars } from '../../domain/identity/owner-names.ts';
import { emailShape, isEmail, maxEmailChars } from '../../domain/identity/password.ts';
import { type Codec, text } from './scalar-codecs.ts';
import type { SecretRule } from './shape.ts';

/** Everything but placeholders and a scheme word is a secret. */
export const wholeSecret: SecretRule = (residue) =>
  residue.replace(/^(bearer|basic|token)\s+/i, '').trim() !== '';

const idWords = 'letters, digits and . _ : / @ -, starting with a letter or digit';

/** Id of a provider, team or service account. 128 characters: a readable name, and a short index key. */
export const id: Codec<string> = text({
  what: `an id (${idWords})`,
  maxLength: maxIdChars,
  pattern: idShape,
});

/** Id of a model as callers send it; 256 characters leave room for `vendor/family/version` names. */
export const modelId: Codec<string> = text({
  what: `a model id (${idWords})`,
  maxLength: 256,
  pattern: /^[A-Za-z0-9][A-Za-z0-9._:/@-]{0,255}$/,
});

/** A model's name at its provider. 2048 characters fit the longest resource names (ARNs) that platforms assign. */
export const upstreamModel: Codec<string> = text({
  what: "the model's name at the provider (printable ASCII without spaces)",
  maxLength: 2048,
  pattern: /^[\x21-\x7e]+$/,
});

/** A line break at the end is what `base64` of a Secret made with `echo` has, and whoever gets the value rejects it. */
export const refuseControls = (value: string): string | undefined =>
  /\p{Cc}/u.test(value) ? 'must not hold control characters' : undefined;

/** A name for people. */
export const displayName: Codec<string> = text({
  what: 'a name without control characters',
  maxLength: maxNameChars,
  refuse: (value) =>
    isDisplayName(value)
      ? undefined
      : 'must hold a character that can be seen, and no control characters or marks that turn the direction of a text',
});

export const email: Codec<string> = text({
  what: 'an e-mail address',
  maxLength: maxEmailChars,
  pattern: emailShape,
  refuse: (value) =>
    isEmail(value)
      ? undefined
      : 'must not hold control characters, invisible marks, or capitals that become another letter',
});

/** URLs longer than 2048 characters break somewhere on the way. */
const maxUrlChars = 2048;

const urlFault = (value: string): string | undefined => {
  const url = URL.parse(value);
  if (url === null) return 'must be an http or https URL';
  if (url.username !== '' || url.password !== '')
    return 'must not hold a user name or password: put credentials under `auth`, or into the headers beside it';
  return url.search === '' && url.hash === '' ? undefined : 'must end with the path: no query, no fragment';
};

/** A base URL to which paths are appended. */
export const httpUrl: Codec<string> = text({
  what: 'an http or https URL',
  maxLength: maxUrlChars,
  pattern: /^https?:\/\/[^\s/?#][^\s]*$/,
  refuse: urlFault,
});

/** A host, or a URL with its scheme: real hosts need no scheme, private endpoints and tests may. */
export const hostOrUrl: Codec<string> = text({
  what: 'a host name, or an http or https URL',
  maxLength: maxUrlChars,
  pattern: /^(https?:\/\/)?[A-Za-z0-9.[\]:-]+(\/[^\s?#]*)?$/,
  refuse: (value) => urlFault(/^https?:\/\//.test(value) ? value : `https://${value}`),
});

/** `host:port`; an IPv6 host in brackets. Port 0 takes any free port. */
export const bindAddress: Codec<string> = text({
  what: 'host:port, such as 127.0.0.1:8080 or [::1]:8080',
  maxLength: 262,
  pattern: /^(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9.-]+):\d{1,5}$/,
  refuse: (value) =>
    Number(value.slice(value.lastIndexOf(':') + 1)) > 65_535 ? 'must have a port from 0 to 65535' : undefined,
});

/** An origin with its scheme's default port, which browsers leave out. */
const isDefaultPort = /^(?:http:.*:80|https:.*:443)$/;

/** An origin spelled exactly as browsers send it, since it is compared character by character. */
export const origin: Codec<string> = text({
  what: 'an origin in lower case without a path, such as https://app.example.com or http://localhost:5173, or `*`',
  maxLength: maxUrlChars,
  pattern: /^(\*|[a-z][a-z0-9+.-]*:\/\/([a-z0-9._-]+|\[[0-9a-f:.]+\])(:[0-9]{1,5})?)$/,
  refuse: (value) =>
    isDefaultPort.test(value) ? 'must not name the default port: browsers leave it out' : undefined,
});

/** An address or a CIDR block of proxies whose `Forwarded` headers are trusted. */
export const addressBlock: Codec<string> = text({
  what: 'an IP address or a CIDR block',
  maxLength: 49,
  refuse: (value) => {
    const [address = '', bits, ...more] = value.split('/');
    const family = isIP(address);
    const fits = bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= (family === 4 ? 32 : 128));
    return family !== 0 && fits && more.length === 0 ? undefined : 'must be an IP address or a CIDR block';
  },
});

/** A path on this machine. */
export const filePath: Codec<string> = text({
  what: 'a file path',
  maxLength: 4096,
  refuse: refuseControls,
});

/** A credential that follows its scheme word in a header. It is printable, so that it cannot split the header. */
export const bearerToken: Codec<string> = text({
  what: 'a token (printable ASCII without spaces or line breaks)',
  maxLength: 8192,
  pattern: /^[\x21-\x7e]+$/,
  secret: wholeSecret,
});

/** The names of zones begin with a letter; offsets such as `+01:00` do not. */
const zoneShape = /^[A-Za-z][A-Za-z0-9_+/-]*$/;

/** A known IANA time zone, according to the platform's own data. */
export const timeZone: Codec<string> = text({
  what: 'an IANA time zone, such as UTC or Europe/Paris',
  maxLength: 64,
  pattern: zoneShape,
  refuse: (value) => (isTimeZone(value) ? undefined : 'must be a known IANA time zone'),
});

let zones: ReadonlySet<string> | undefined;
/** Asking Intl takes a tenth of a millisecond, and a file may have a budget for each of thousands of people. */
const commonZones = (): ReadonlySet<string> => (zones ??= new Set(Intl.supportedValuesOf('timeZone')));

/** Whether this is the name of a time zone that {@link timeZone} accepts. */
export function isTimeZone(name: string): boolean {
  // Making the list takes 35 ms, which a start is spared when the file names only UTC.
  if (name === 'UTC' || commonZones().has(name)) return true;
  if (!zoneShape.test(name)) return false;
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone !== '';
  } catch {
    // Intl reports an unknown name only by this exception.
    return false;
  }
}

/** A URL to which paths can be appended: without trailing slashes. */
export const withoutTrailingSlash = (url: string): string => url.replace(/\/+$/, '');

/** The same for a URL that may be absent. */
export const toBaseUrl = (url: string | undefined): string | undefined => url && withoutTrailingSlash(url);

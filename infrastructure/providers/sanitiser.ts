import { type RedactionRules, redactedError } from '../../domain/payload/redact.ts';
import { minSecretChars } from '../../domain/payload/secrets.ts';
import { sanitisedStart, sanitised } from '../../domain/upstream/upstream-fault.ts';
import type { ProviderConfig } from '../config/provider-config.ts';
import type { Sanitise } from '../../domain/upstream/upstream-words.ts';

/** Makes error messages of a provider's upstream safe for callers and logs. */
export function sanitiser(
  config: ProviderConfig,
  redaction: () => Pick<RedactionRules, 'secrets'>,
): Sanitise {
  const fixed = secretsOf(config);
  return (message) => sanitisedStart(message, (words) => redactedError(sanitised(words, fixed), redaction()));
}

/** Keys of `auth` that hold no credentials. */
const plainKeys: ReadonlySet<string> = new Set(['mode', 'name', 'header', 'audience', 'credentialsPath']);

/** Credentials that an upstream might echo in its error messages. */
const secretsOf = ({ auth, defaultHeaders }: ProviderConfig): readonly string[] =>
  [...Object.entries(auth).filter(([key]) => !plainKeys.has(key)), ...Object.entries(defaultHeaders)]
    .map(([, value]: [string, unknown]) => value)
    .filter((value): value is string => typeof value === 'string' && value.length >= minSecretChars);

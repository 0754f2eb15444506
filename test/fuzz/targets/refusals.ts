import { redactionRules } from '../../../domain/payload/redact.ts';
import { parseJson } from '../../../domain/shared/json.ts';
import { maxErrorMessageChars, maxUpstreamErrorBytes } from '../../../domain/shared/limits.ts';
import { boundedMessage } from '../../../domain/upstream/upstream-fault.ts';
import { upstreamFailure } from '../../../domain/upstream/upstream-words.ts';
import type { ProviderConfig } from '../../../infrastructure/config/provider-config.ts';
import { sanitiser } from '../../../infrastructure/providers/sanitiser.ts';
import { demand, type Probe, roughly, type Target } from '../target.ts';
import { jsonWords } from './words.ts';

/** The credential that the upstream received, and may repeat. */
const token = 'sk-live-0123456789abcdefghij';
/** A credential of another part of the configuration. */
const other = 'another-credential-42';

const config: ProviderConfig<'compat'> = {
  kind: 'compat',
  id: 'up',
  pricingProviderId: 'up',
  baseUrl: 'https://a.example/v1',
  auth: { mode: 'bearer', token },
  defaultHeaders: {},
  timeouts: { connectMs: 1, firstByteMs: 1, idleMs: 1, totalMs: 1 },
};

const fit = sanitiser(config, () => redactionRules([], [other, token]));

function checkRefusal(input: Buffer, probe: Probe): string {
  const body = parseJson(input.toString('utf8')) ?? { message: input.toString('utf8') };
  const { message: words, labels } = probe.step(() => upstreamFailure(body, 'It failed.', fit));
  const message = boundedMessage(words);
  demand(message !== '' && message.length <= maxErrorMessageChars, 'words that are none, or too many');
  const told = [message, ...Object.values(labels ?? {})];
  for (const secret of [token, other])
    demand(
      told.every((text) => !text.includes(secret)),
      'a credential is told',
    );
  const urls = message.match(/https?:\/\/[^\s"'<>]*/g) ?? [];
  demand(
    urls.every((url) => !/\?[^[…]/.test(url)),
    'the query of a URL is told',
  );
  return `${roughly(message).slice(0, 24)} ${Object.keys(labels ?? {}).join()} ${urls.length}`;
}

const refusal = (body: object): Buffer => Buffer.from(JSON.stringify(body));

export const refusalsTarget: Target = {
  name: 'refusals of upstreams',
  samples: [
    refusal({
      error: { message: `Wrong key ${token}`, type: 'invalid_request_error', code: 'bad_key', param: 'a' },
    }),
    refusal({ error: 'See https://u:p@a.example:8080/x/y?key=1&b=2#c, or http://b.example.' }),
    refusal({ detail: [{ loc: ['body', 'messages', 0], msg: 'Field required' }, { msg: 'no' }] }),
    refusal([
      { error: { code: 429, message: `Quota of ${other}`, status: 'RESOURCE_EXHAUSTED', details: [] } },
    ]),
    refusal({ type: 'error', error: { type: 'overloaded_error', message: 'Busy' }, request_id: 'r' }),
    refusal({ message: 'Bearer abc.def, password=hunter2, {"api_key":"zzz"}', __type: 'x', Message: 'y' }),
    refusal({ response: { error: { code: 'server_error', message: 'm' } } }),
  ],
  words: [
    token,
    other,
    token.slice(0, 12),
    token.slice(12),
    'https://',
    '?',
    '&',
    '#',
    '@',
    ':',
    '//',
    '%',
    '[',
    ']',
    '"error":',
    '"message":',
    '"detail":',
    '"code":',
    '"param":',
    '"type":"error"',
    'Bearer ',
    'password=',
    ...jsonWords,
  ],
  grownBytes: maxUpstreamErrorBytes,
  check: checkRefusal,
};

import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import {
  chatCompletions,
  countTokens,
  embeddings,
  messages,
  responses,
} from '../../../application/families.ts';
import type { ParsedRequest, Family } from '../../../application/model-request.ts';
import { redactedRequest } from '../../../domain/payload/payload.ts';
import { redactionRules } from '../../../domain/payload/redact.ts';
import { type GatewayError, invalidRequest, statusOf } from '../../../domain/shared/gateway-error.ts';
import { isObject, parseJson } from '../../../domain/shared/json.ts';
import { maxEventLoopValues } from '../../../domain/shared/limits.ts';
import { outboundText } from '../../../domain/shared/outbound-text.ts';
import { textDigest } from '../../../infrastructure/text-digest.ts';
import { knownFields } from '../../support/fields/families.ts';
import { bodyText, requestShapes } from '../../support/growth/requests.ts';
import { callOf, routesOf, type SpokenRoute } from '../../support/growth/routes.ts';
import { demand, type Probe, roughly, type Target } from '../target.ts';
import { jsonWords } from './words.ts';

/** A key that is sent with the request, and must not be stored. */
const secret = 'gwk_0123456789abcdef.0123456789abcdef0123456789abcdef';
const rules = redactionRules(['body.messages.*.name'], [secret]);
const keptBytes = 4096;

/** Checks that an error can be sent to a caller. */
export function demandTellable({ code, message, param }: GatewayError): void {
  demand(statusOf[code] >= 400, 'an error that has no status');
  demand(message !== '' && message.length <= 2000, 'an error without words, or with too many');
  demand((param ?? '').length <= 1000, 'an error names a field at too great length');
}

/** The upstream bodies for a parsed request. */
function written<A extends ParsedRequest>(
  family: Family<A>,
  route: SpokenRoute,
  ask: A,
): Either<GatewayError, readonly string[]> {
  const body = family.write(ask, route.resolved);
  if (E.isLeft(body)) return body;
  const { speaks } = family.answerPath(ask, route.resolved, 'request-1');
  const call = callOf(route, speaks.family, outboundText(body.right), ask.stream);
  const dialect = route.speak(call)?.dialect;
  if (dialect === undefined) return E.left(invalidRequest('It is not spoken.'));
  if ('encode' in dialect)
    return E.map(({ body: text }: { readonly body: string }) => [text])(dialect.encode(call));
  const parts = dialect.encodeMany(call);
  return E.isLeft(parts) ? parts : E.right(parts.right.map(({ body: text }) => text));
}

/** Checks that the stored body is JSON within its limit, without the key. */
function checkKept(text: string, isParsed: boolean, probe: Probe): void {
  const kept = probe.step(() => redactedRequest({}, { text, isParsed }, rules, keptBytes));
  demand(Buffer.byteLength(kept.text) <= keptBytes, 'more is kept of a body than may be');
  demand(isObject(parseJson(kept.text)), 'what is kept of a body is no JSON');
  demand(!kept.text.includes(secret), 'a key is kept');
}

function checkRequest<A extends ParsedRequest>(
  family: Family<A>,
  routes: readonly SpokenRoute[],
  input: Buffer,
  probe: Probe,
): string {
  const text = input.toString('utf8');
  const read = probe.step(() => family.read(text, maxEventLoopValues));
  checkKept(text, E.isRight(read), probe);
  if (E.isLeft(read)) {
    demandTellable(read.left);
    return roughly(read.left.message);
  }
  demand(isObject(parseJson(text)), 'what is no JSON object is read as one');
  const route = probe.random.pick(routes);
  const sent = probe.step(() => written(family, route, read.right));
  if (E.isLeft(sent)) {
    demandTellable(sent.left);
    return `${route.name}: ${roughly(sent.left.message)}`;
  }
  for (const body of sent.right) demand(isObject(parseJson(body)), 'what goes upstream is no JSON object');
  const first = parseJson(sent.right[0] ?? '{}');
  return `${route.name}: ${isObject(first) ? Object.keys(first).slice(0, 12).join(' ') : ''} ${read.right.needs.join()}`;
}

/** Bodies of every shape, and with every field that the API documents. */
function bodiesOf({ name }: Pick<Family<ParsedRequest>, 'name'>): readonly Buffer[] {
  const shaped = Object.values(requestShapes[name]).map((shape) => bodyText(name, shape, 4));
  const fields = knownFields[name === 'count_tokens' ? 'messages' : name];
  const full = fields.map(({ body }) => JSON.stringify({ model: 'asked', max_tokens: 9, ...body }));
  return [...shaped, ...full].map((text) => Buffer.from(text));
}

const keyWords: readonly string[] = [
  secret,
  'a-credential',
  '"model":"asked"',
  '"stream":true',
  '"role":"system"',
  '"role":"tool"',
  '"role":"user"',
  '"role":"assistant"',
  '"type":"text"',
  '"tool_call_id":"c1"',
  '"cache_control":{"type":"ephemeral"}',
  '"thinking":{"type":"enabled","budget_tokens":1024}',
  '"reasoning_effort":"high"',
  '"temperature":0.5',
  'data:image/png;base64,AAAA',
  'data:,',
  'https://a.example/b.png',
  '"max_tokens":0',
  '"tools":[]',
];

function target<A extends ParsedRequest>(family: Family<A>): Target {
  const routes = routesOf(family.name);
  return {
    name: `request: ${family.name}`,
    samples: bodiesOf(family),
    words: [...keyWords, ...jsonWords],
    check: (input, probe) => checkRequest(family, routes, input, probe),
  };
}

export const requestTargets = (): readonly Target[] => [
  target(chatCompletions),
  target(messages),
  target(responses(textDigest)),
  target(embeddings),
  target(countTokens),
];

import { describe, expect, it } from '@jest/globals';
import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import { chatCompletions, countTokens, embeddings, messages, responses } from '../../application/families.ts';
import type { ParsedRequest, Family } from '../../application/model-request.ts';
import { redactedRequest } from '../../domain/payload/payload.ts';
import { redactionRules } from '../../domain/payload/redact.ts';
import type { ApiFamily } from '../../domain/routing/model.ts';
import { type GatewayError, invalidRequest } from '../../domain/shared/gateway-error.ts';
import { outboundText } from '../../domain/shared/outbound-text.ts';
import { textDigest } from '../../infrastructure/text-digest.ts';
import { steepGrowth } from '../support/growth/growth.ts';
import { bodyText, requestShapes, type Shape } from '../support/growth/requests.ts';
import { callOf, routesOf, type SpokenRoute, writtenAsCompat } from '../support/growth/routes.ts';

/** From a parsed body to what is sent upstream. */
function written<A extends ParsedRequest>(
  family: Family<A>,
  route: SpokenRoute,
  ask: A,
): Either<GatewayError, unknown> {
  const body = family.write(ask, route.resolved);
  if (E.isLeft(body)) return body;
  const { speaks } = family.answerPath(ask, route.resolved, 'request-1');
  const call = callOf(route, speaks.family, outboundText(body.right), false);
  const dialect = route.speak(call)?.dialect;
  if (dialect === undefined) return E.left(invalidRequest('It is not spoken.'));
  return 'encodeMany' in dialect ? dialect.encodeMany(call) : dialect.encode(call);
}

const rules = redactionRules(['body.messages.*.name'], ['a-credential']);

/** Makes the value for each count once. */
function kept<A>(make: (count: number) => A): (count: number) => A {
  const made = new Map<number, A>();
  return (count) => {
    const known = made.get(count) ?? make(count);
    made.set(count, known);
    return known;
  };
}

/** The steps whose cost grows faster than the body: reading it, writing it for a route, or redacting it. */
function steepParts<A extends ParsedRequest>(family: Family<A>, shape: Shape): readonly string[] {
  const textOf = kept((count) => bodyText(family.name, shape, count));
  const read = kept((count) => {
    const ask = family.read(textOf(count));
    if (E.isLeft(ask)) throw new Error(ask.left.message);
    return ask.right;
  });
  const reading = steepGrowth((count) => {
    const text = textOf(count);
    return () => void family.read(text);
  });
  const [first] = Object.values(requestShapes[family.name]);
  const routes = routesOf(family.name).filter(({ name }) => shape === first || !writtenAsCompat.has(name));
  const writing = routes.flatMap((route) => {
    const steep = steepGrowth((count) => {
      const ask = read(count);
      return () => void written(family, route, ask);
    });
    return steep === undefined ? [] : [`${route.name}: ${steep}`];
  });
  const redacting = steepGrowth((count) => {
    const text = textOf(count);
    return () => void redactedRequest({}, { text, isParsed: true }, rules, 65_536);
  });
  return [
    ...(reading === undefined ? [] : [`reading: ${reading}`]),
    ...writing,
    ...(redacting === undefined ? [] : [`redacting: ${redacting}`]),
  ];
}

/** The routes on which a body of this shape is sent upstream. */
function takers<A extends ParsedRequest>(family: Family<A>, shape: Shape): readonly string[] {
  const ask = family.read(bodyText(family.name, shape, 4));
  if (E.isLeft(ask)) return [];
  return routesOf(family.name).flatMap((route) =>
    E.isRight(written(family, route, ask.right)) ? [route.name] : [],
  );
}

const checks = {
  chat_completions: [
    (shape) => steepParts(chatCompletions, shape),
    (shape) => takers(chatCompletions, shape),
  ],
  messages: [(shape) => steepParts(messages, shape), (shape) => takers(messages, shape)],
  responses: [
    (shape) => steepParts(responses(textDigest), shape),
    (shape) => takers(responses(textDigest), shape),
  ],
  embeddings: [(shape) => steepParts(embeddings, shape), (shape) => takers(embeddings, shape)],
  count_tokens: [(shape) => steepParts(countTokens, shape), (shape) => takers(countTokens, shape)],
} as const satisfies Record<ApiFamily, readonly ((shape: Shape) => readonly string[])[]>;

describe.each(Object.keys(checks) as ApiFamily[])(
  'on every route, the cost of reading, writing and redacting a body of %s grows no faster than the body',
  (family) => {
    const [steep, taken] = checks[family];
    it.each(Object.entries(requestShapes[family]))('%s', (_, shape) => {
      expect(taken(shape)).not.toEqual([]);
      expect(steep(shape)).toEqual([]);
    });
  },
);

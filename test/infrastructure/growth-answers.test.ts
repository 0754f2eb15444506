import { describe, expect, it } from '@jest/globals';
import * as E from 'fp-ts/lib/Either.js';
import { chatCompletions, countTokens, embeddings, messages, responses } from '../../application/families.ts';
import type { AnswerPath, ParsedRequest, Family } from '../../application/model-request.ts';
import type { ApiFamily } from '../../domain/routing/model.ts';
import { outboundText } from '../../domain/shared/outbound-text.ts';
import { Forwarding } from '../../infrastructure/providers/forwarding.ts';
import { textDigest } from '../../infrastructure/text-digest.ts';
import { steepGrowth } from '../support/growth/growth.ts';
import { bodyText, requestShapes } from '../support/growth/requests.ts';
import { callOf, routes, type SpokenRoute } from '../support/growth/routes.ts';
import { type StreamShape, streamedAnswers } from '../support/growth/streamed-answers.ts';
import { type AnswerShape, type WholeShape, wholeAnswers } from '../support/growth/whole-answers.ts';

type Outbound = AnswerPath & { readonly body: string };

function prepared<A extends ParsedRequest>(family: Family<A>, { resolved }: SpokenRoute): Outbound {
  const shape = Object.values(requestShapes[family.name])[0]!;
  const ask = family.read(bodyText(family.name, shape, 1));
  if (E.isLeft(ask)) throw new Error(ask.left.message);
  const body = family.write(ask.right, resolved);
  if (E.isLeft(body)) throw new Error(body.left.message);
  return { ...family.answerPath(ask.right, resolved, 'request-1'), body: outboundText(body.right) };
}

const prepare: Readonly<Record<ApiFamily, (route: SpokenRoute) => Outbound>> = {
  chat_completions: (route) => prepared(chatCompletions, route),
  messages: (route) => prepared(messages, route),
  responses: (route) => prepared(responses(textDigest), route),
  embeddings: (route) => prepared(embeddings, route),
  count_tokens: (route) => prepared(countTokens, route),
};

/** The parts of the gateway that read an answer of this shape. */
function reader({ route: name, family }: AnswerShape, stream: boolean) {
  const route = routes.find((each) => each.name === name)!;
  const outbound = prepare[family](route);
  const call = callOf(route, outbound.speaks.family, outbound.body, stream);
  const dialect = route.speak(call)!.dialect;
  if ('encodeMany' in dialect) throw new Error('It is several calls.');
  return { outbound, call, dialect };
}

/** Reads a non-streamed answer and translates it into the caller's format. */
function whole(shape: WholeShape): number | undefined {
  const { outbound, call, dialect } = reader(shape, false);
  return steepGrowth((count) => {
    const body = Buffer.from(JSON.stringify(shape.body(count)));
    return () => {
      const answer = dialect.decode(body, call);
      if (E.isLeft(answer)) throw new Error(JSON.stringify(answer.left));
      outbound.speaks.observeWhole(answer.right.value);
      outbound.translation?.whole(answer.right.value);
    };
  });
}

/** Reads a stream piece by piece and translates it into the caller's format. */
function streamed(shape: StreamShape): number | undefined {
  const { outbound, call, dialect } = reader(shape, true);
  return steepGrowth((count) => {
    const pieces = shape.pieces(count);
    return () => {
      const observer = outbound.speaks.observer();
      const translation = outbound.translation?.stream();
      const line = new Forwarding(dialect.events!(shape.contentType, call)!, {
        pause: () => undefined,
        resume: () => undefined,
        ended: () => undefined,
      });
      void line.forward(
        (chunks) => {
          for (const chunk of chunks) {
            observer.see(chunk.chunk);
            translation?.push(chunk);
          }
        },
        () => undefined,
      );
      for (const piece of pieces) line.push(piece);
      line.end({ kind: 'eof' });
      observer.observed();
    };
  });
}

const named = <A extends AnswerShape>(shapes: readonly A[]) =>
  shapes.map((shape) => [shape.route, shape.family, shape.of, shape] as const);

describe('the cost of reading an answer grows no faster than the answer', () => {
  it.each(named(wholeAnswers))('non-streamed, %s for %s: %s', (_route, _family, _of, shape) => {
    expect(whole(shape)).toBeUndefined();
  });

  it.each(named(streamedAnswers))('streamed, %s for %s: %s', (_route, _family, _of, shape) => {
    expect(streamed(shape)).toBeUndefined();
  });
});

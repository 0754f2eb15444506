import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import type { JsonObject } from '../domain/shared/json.ts';
import type { Observation } from '../domain/upstream/observation.ts';
import type { UpstreamFault } from '../domain/upstream/upstream-fault.ts';
import type { AnswerPath } from './model-request.ts';
import type { WholeAnswer } from './ports/upstream.ts';

/** A whole answer in the caller's words, and what was seen in it; left is what in it cannot be told. */
export interface ToldAnswer {
  readonly observation: Observation;
  readonly told: Either<UpstreamFault, WholeAnswer['text']>;
}

export const toldAnswer = (
  { speaks, translation }: AnswerPath,
  { value, text }: WholeAnswer,
): ToldAnswer => ({
  observation: speaks.observeWhole(value),
  told: translation === undefined ? E.right(text) : E.map(printed)(translation.whole(value)),
});

const printed = (body: JsonObject): string => JSON.stringify(body);

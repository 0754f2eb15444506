import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import { pipe } from 'fp-ts/lib/function.js';
import type { JsonObject } from '../domain/shared/json.ts';
import type { Observation } from '../domain/upstream/observation.ts';
import type { UpstreamFault } from '../domain/upstream/upstream-fault.ts';
import type { AnswerPath } from './model-request.ts';
import type { WholeAnswer } from './ports/upstream.ts';

/** A whole answer in the caller's form, and what was observed in it. */
export interface CallerAnswer {
  readonly observation: Observation;
  /** Left: the upstream's answer cannot be expressed in the caller's family. */
  readonly text: Either<UpstreamFault, WholeAnswer['text']>;
}

export const callerAnswer = (
  { speaks, translation }: AnswerPath,
  { value, text }: WholeAnswer,
): CallerAnswer => ({
  observation: speaks.observeWhole(value),
  text: translation === undefined ? E.right(text) : pipe(translation.whole(value), E.map(printed)),
});

const printed = (body: JsonObject): string => JSON.stringify(body);

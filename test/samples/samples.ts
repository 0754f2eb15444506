import { chatAnswers, chatStreams } from './chat-samples.ts';
import { converseAnswers, converseStreams } from './converse-samples.ts';
import { generateContentAnswers, generateContentStreams } from './generate-content-samples.ts';
import { messagesAnswers, messagesStreams } from './messages-samples.ts';
import { responsesAnswers, responsesStreams } from './responses-samples.ts';
import type { CallerFamily, Sample } from './sample.ts';

export const streams: readonly Sample[] = [
  ...chatStreams,
  ...responsesStreams,
  ...messagesStreams,
  ...generateContentStreams,
  ...converseStreams,
];

export const answers: readonly Sample[] = [
  ...chatAnswers,
  ...responsesAnswers,
  ...messagesAnswers,
  ...generateContentAnswers,
  ...converseAnswers,
];

/** A sample for one of its callers. */
export interface Replay<S extends Sample<unknown>> {
  readonly upstream: string;
  readonly caller: CallerFamily;
  readonly name: string;
  readonly sample: S;
}

/** Rows for `it.each`: each sample with each of its callers. */
export const rowsOf = <S extends Sample<unknown>>(samples: readonly S[]): readonly Replay<S>[] =>
  samples.flatMap((sample) =>
    sample.callers.map((caller) => ({ upstream: sample.upstream, caller, name: sample.name, sample })),
  );

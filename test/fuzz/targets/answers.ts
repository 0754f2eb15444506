import * as E from 'fp-ts/lib/Either.js';
import { isObject, type JsonObject, parseJson } from '../../../domain/shared/json.ts';
import { upstreamError } from '../../../domain/upstream/upstream-fault.ts';
import { countAnswers, embeddingsAnswers } from '../../samples/number-samples.ts';
import { replayWhole } from '../../samples/replay.ts';
import type { CallerFamily, Sample } from '../../samples/sample.ts';
import { answers } from '../../samples/samples.ts';
import { demand, type Probe, roughly, type Target } from '../target.ts';
import { demandSoundUsage } from './streams.ts';
import { jsonWords, streamWords } from './words.ts';

/** The minimum content of each family's answers, from an upstream or from the gateway. */
const shapes: Readonly<Record<CallerFamily, (answer: JsonObject) => boolean>> = {
  chat_completions: ({ choices }) => Array.isArray(choices),
  messages: ({ content }) => Array.isArray(content),
  responses: ({ output, status }) => Array.isArray(output) || status !== undefined,
  embeddings: ({ data }) => Array.isArray(data),
  count_tokens: ({ input_tokens: count }) => Number.isSafeInteger(count) && Number(count) >= 0,
};

function checkAnswer(sample: Sample<unknown>, caller: CallerFamily, input: Buffer, probe: Probe): string {
  const inputs = 1 + probe.random.below(2);
  const replayed = probe.step(() => replayWhole({ ...sample, body: input }, caller, inputs));
  if (E.isLeft(replayed)) {
    const error = upstreamError(replayed.left);
    demand(error.message !== '', 'a fault without words');
    return roughly(error.message);
  }
  const { bytes } = replayed.right;
  const answer = parseJson(bytes.toString('utf8'));
  demand(isObject(answer), 'an answer is no JSON object');
  demand(shapes[caller](answer), 'an answer is not what its family has');
  demandSoundUsage(replayed.right);
  const { usage, usageUnusable, invokedToolCount } = replayed.right.observation;
  return `${usage !== undefined} ${usageUnusable} ${Math.min(3, invokedToolCount)} ${Object.keys(answer).slice(0, 12).join(' ')}`;
}

/** A target for each upstream and caller family of non-streamed answers. */
export function answerTargets(): readonly Target[] {
  const groups = new Map<string, { sample: Sample<unknown>; caller: CallerFamily; bodies: Buffer[] }>();
  for (const sample of [...answers, ...embeddingsAnswers, ...countAnswers])
    for (const caller of sample.callers) {
      const name = `answer: ${sample.upstream}, to ${caller}`;
      const group = groups.get(name) ?? { sample, caller, bodies: [] };
      group.bodies.push(sample.body);
      groups.set(name, group);
    }
  return [...groups].map(([name, { sample, caller, bodies }]) => ({
    name,
    samples: bodies,
    words: [...streamWords, ...jsonWords],
    check: (input, probe) => checkAnswer(sample, caller, input, probe),
  }));
}

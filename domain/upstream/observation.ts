import type { TokenUsage } from '../ledger/usage.ts';
import { isAbsent, isString, type Json, type JsonObject } from '../shared/json.ts';
import { maxModelKeyChars } from '../shared/limits.ts';

/** What accounting and logging need to know about an answer, whole or streamed. */
export interface Observation {
  readonly usage: TokenUsage | undefined;
  /** The provider reported usage, but without usable counts. */
  readonly usageUnusable: boolean;
  /** What the provider used beside the answer itself. */
  readonly beside?: AdditionalUsage;
  /** Tool-call artifacts in the normalised provider output. */
  readonly invokedToolCount: number;
}

/**
 * What a provider bills beside an answer, in the terms of the messages family: the compaction of a conversation, the
 * advisor model that the answering model consulted, and the model that drew images for it. The latter two are named by
 * `model` (null when it is more than one, or none).
 */
export interface AdditionalUsage {
  readonly compaction?: JsonObject;
  readonly advisor?: JsonObject;
  readonly imageGeneration?: JsonObject;
}

export const nothingObserved: Observation = { usage: undefined, usageUnusable: false, invokedToolCount: 0 };

/** The usage that a report amounts to under its family's rule. Null counts as not reported. */
export function observation(
  reported: Json | undefined,
  usageOf: (reported: Json | undefined) => TokenUsage | undefined,
  invokedToolCount: number,
): Observation {
  const usage = usageOf(reported);
  return { usage, usageUnusable: !isAbsent(reported) && usage === undefined, invokedToolCount };
}

/** The observation with what the provider used beside the answer, if anything. */
export const withBeside = (seen: Observation, beside: AdditionalUsage | undefined): Observation =>
  beside === undefined ? seen : { ...seen, beside };

/** The model that all of these name; null when they name several, none, or one with too long a name. */
export function commonModel(named: readonly JsonObject[]): string | null {
  const [model, ...others] = new Set(named.map((each) => each['model']));
  return isString(model) && others.length === 0 && model.length <= maxModelKeyChars ? model : null;
}

/** Observes the chunks of a stream without changing them. */
export interface StreamObserver {
  see(chunk: JsonObject): void;
  observed(): Observation;
}

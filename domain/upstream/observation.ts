import type { TokenUsage } from '../ledger/usage.ts';
import { isAbsent, type Json, type JsonObject } from '../shared/json.ts';

/** What accounting and logging need of an answer, whole or streamed. */
export interface Observation {
  readonly usage: TokenUsage | undefined;
  /** The provider reported usage, but no counts that can be used. */
  readonly usageUnusable: boolean;
  /** What the provider used beside it. */
  readonly beside?: UsedBeside;
  /** Tool-call artifacts in the normalised provider output. */
  readonly invokedToolCount: number;
}

/**
 * What a provider bills beside an answer, in the words of the messages family: of a conversation that it has compacted,
 * and of the model that the answering one has asked for advice, which `model` names (null: more than one, or none).
 */
export interface UsedBeside {
  readonly compaction?: JsonObject;
  readonly advisor?: JsonObject;
}

export const nothingObserved: Observation = { usage: undefined, usageUnusable: false, invokedToolCount: 0 };

/** What a reported usage comes to by its family's rule; null counts as not reported. */
export function observation(
  reported: Json | undefined,
  usageOf: (reported: Json | undefined) => TokenUsage | undefined,
  invokedToolCount: number,
): Observation {
  const usage = usageOf(reported);
  return { usage, usageUnusable: !isAbsent(reported) && usage === undefined, invokedToolCount };
}

/** Reads the chunks of a stream beside the pipeline. */
export interface StreamObserver {
  see(chunk: JsonObject): void;
  observed(): Observation;
}

import { billedCounts, messagesBodyUsage, sumOfCounts } from '../ledger/messages-body-usage.ts';
import { tokenCount } from '../ledger/usage.ts';
import { type Json, type JsonObject, membersOf, objectsOf } from '../shared/json.ts';
import { type AdditionalUsage, commonModel, type Observation, withBeside } from './observation.ts';

/**
 * The usage that the provider of a messages body bills in addition to the answer and reports only in `iterations`;
 * `undefined` when there was none. Usage that was translated to chat keeps the field.
 */
export function usedBeside(reported: Json | undefined): AdditionalUsage | undefined {
  const rounds = Map.groupBy(objectsOf(membersOf(reported)['iterations']), ({ type }) => type);
  const compaction = usageOf(rounds.get('compaction'));
  const advice = rounds.get('advisor_message');
  const advisor = usageOf(advice);
  if (compaction === undefined && advisor === undefined) return undefined;
  return {
    ...(compaction === undefined ? {} : { compaction }),
    ...(advisor === undefined ? {} : { advisor: { model: commonModel(advice ?? []), ...advisor } }),
  };
}

type Rounds = readonly JsonObject[] | undefined;

/**
 * The total usage of these rounds, in the billed counts; `undefined` when there are no rounds or their counts are
 * unusable.
 */
function usageOf(rounds: Rounds): JsonObject | undefined {
  if (rounds === undefined) return undefined;
  const total = Object.fromEntries(
    billedCounts.map((field) => [
      field,
      sumOfCounts(rounds.map((round) => tokenCount(round[field] ?? 0))) ?? null,
    ]),
  );
  return messagesBodyUsage(total) === undefined ? undefined : total;
}

/** Adds the usage that the provider bills in addition to the answer. */
export const withAdditionalUsage = (seen: Observation, reported: Json | undefined): Observation =>
  withBeside(seen, usedBeside(reported));

import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import { fault } from '../../../domain/messages/blocks.ts';
import { readReasoningAsk, type Said } from '../../../domain/reasoning/reasoning-ask.ts';
import type { GatewayError } from '../../../domain/shared/gateway-error.ts';
import { type JsonObject, without } from '../../../domain/shared/json.ts';
import { namedKey } from '../../../domain/shared/named-key.ts';
import { thinksInLevels } from './generate-content-models.ts';

/** Tokens that an effort stands for, where a model takes no levels: the platform's own figures. */
const budgets: ReadonlyMap<string, number> = new Map([
  ['minimal', 1024],
  ['low', 1024],
  ['medium', 8192],
  ['high', 24_576],
]);

const levels: ReadonlyMap<string, string> = new Map([
  ['minimal', 'MINIMAL'],
  ['low', 'LOW'],
  ['medium', 'MEDIUM'],
  ['high', 'HIGH'],
]);

/**
 * Effort and manual budget as `thinkingConfig`; messages-only fields do not apply. The platform takes one of the two,
 * and an effort that it has no word for is rejected by name: a lower one in its place would be a silent downgrade.
 * Who asks for thinking gets the thoughts, as reasoning metadata.
 */
export function thinkingConfig(
  body: JsonObject,
  model: string,
): Either<GatewayError, JsonObject | undefined> {
  const asked = readReasoningAsk(without(without(body, 'thinking'), 'output_config'));
  if (E.isLeft(asked)) return asked;
  const ask = asked.right;
  switch (ask.kind) {
    case 'nothing':
    case 'disabled':
    case 'adaptive':
      return E.right(undefined);
    case 'off':
      return E.right({ thinkingBudget: 0 });
    case 'effort':
      return withEffort(ask.effort, model);
    case 'budget':
      return E.right({ thinkingBudget: ask.budget.value, includeThoughts: true });
    case 'effort_and_budget':
      return E.left(
        fault(ask.budget.field, `and \`${ask.effort.field}\` both say how much to think: send one.`),
      );
  }
}

function withEffort({ field, value }: Said<string>, model: string): Either<GatewayError, JsonObject> {
  const [name, known] = thinksInLevels(model) ? ['thinkingLevel', levels] : ['thinkingBudget', budgets];
  const amount = known.get(value);
  if (amount !== undefined) return E.right({ [name]: amount, includeThoughts: true });
  const named = namedKey(value);
  return E.left(
    fault(
      field,
      `is \`${named}\`, but the model knows \`none\`, \`minimal\`, \`low\`, \`medium\` and \`high\`.`,
    ),
  );
}

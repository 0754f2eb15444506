import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import { isAbsent, type Json, type JsonObject, membersOf, without } from '../../../domain/shared/json.ts';
import { fieldError } from '../../../domain/shared/field-errors.ts';
import {
  requestingField,
  readReasoningRequest,
  type ReasoningRequest,
  type FieldValue,
} from '../../../domain/reasoning/reasoning-request.ts';
import type { GatewayError } from '../../../domain/shared/gateway-error.ts';
import { namedKey } from '../../../domain/shared/named-key.ts';
import {
  highestBudget,
  highestLevel,
  lowestBudget,
  lowestLevel,
  thinksInLevels,
} from './generate-content-models.ts';
import type { OwnField } from './generate-content-own-fields.ts';

/** The thinking budget of an effort, for models that take no levels: the platform's own figures. */
const budgets: ReadonlyMap<string, number> = new Map([
  ['minimal', 1024],
  ['low', 1024],
  ['medium', 8192],
  ['high', 24_576],
]);

const levels: ReadonlyMap<string, string> = new Map([
  ['low', 'LOW'],
  ['medium', 'MEDIUM'],
  ['high', 'HIGH'],
]);

/** Efforts above `high`, which other families have. They become the highest that the model takes. */
const above: ReadonlySet<string> = new Set(['xhigh', 'max']);

/**
 * Effort or manual budget as `thinkingConfig`; messages-only fields do not apply. The platform takes only one of the
 * two, and an unknown effort is rejected by name. A request for thinking gets the thoughts, as reasoning metadata. The
 * caller's `own` configuration is merged in, and rejected if both say how much to think.
 */
export function thinkingConfig(
  body: JsonObject,
  model: string,
  own: OwnField | undefined,
): Either<GatewayError, Json | undefined> {
  const asked = readReasoningRequest(without(body, 'thinking', 'output_config'));
  if (E.isLeft(asked)) return asked;
  const config = askedConfig(asked.right, model);
  if (E.isLeft(config) || config.right === undefined) return E.isLeft(config) ? config : E.right(own?.value);
  const members = membersOf(own?.value);
  const twice = amounts.some((name) => !isAbsent(members[name]));
  return twice
    ? E.left(
        fieldError(
          requestingField(asked.right),
          `and \`${own?.path}\` both say how much to think: send one.`,
        ),
      )
    : E.right({ ...config.right, ...members });
}

const amounts = ['thinkingBudget', 'thinkingLevel'] as const;

function askedConfig(
  requested: ReasoningRequest,
  model: string,
): Either<GatewayError, JsonObject | undefined> {
  switch (requested.kind) {
    case 'nothing':
    case 'disabled':
    case 'between_tools':
    case 'adaptive':
      return E.right(undefined);
    case 'off':
      return E.right(
        thinksInLevels(model)
          ? { thinkingLevel: lowestLevel(model) }
          : { thinkingBudget: lowestBudget(model) },
      );
    case 'effort':
      return withEffort(requested.effort, model);
    case 'budget':
      return E.right({ thinkingBudget: requested.budget.value, includeThoughts: true });
    case 'effort_and_budget':
      return E.left(
        fieldError(
          requested.budget.field,
          `and \`${requested.effort.field}\` both say how much to think: send one.`,
        ),
      );
  }
}

function withEffort({ field, value }: FieldValue<string>, model: string): Either<GatewayError, JsonObject> {
  const [name, known, highest] = thinksInLevels(model)
    ? ['thinkingLevel', new Map([...levels, ['minimal', lowestLevel(model)]]), highestLevel(model)]
    : ['thinkingBudget', budgets, highestBudget(model)];
  const amount = above.has(value) ? highest : known.get(value);
  if (amount !== undefined) return E.right({ [name]: amount, includeThoughts: true });
  const named = namedKey(value);
  return E.left(
    fieldError(
      field,
      `is \`${named}\`, but the model knows \`none\`, \`minimal\`, \`low\`, \`medium\`, \`high\`, \`xhigh\` and \`max\`.`,
    ),
  );
}

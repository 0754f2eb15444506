import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import { fieldError } from '../../../domain/shared/field-errors.ts';
import { effortOfBudget } from '../../../domain/messages/effort.ts';
import { requestingField, type ReasoningRequest } from '../../../domain/reasoning/reasoning-request.ts';
import type { GatewayError } from '../../../domain/shared/gateway-error.ts';
import type { JsonObject } from '../../../domain/shared/json.ts';

/** The fields in which a model outside the messages family takes a request for reasoning. */
interface ReasoningFields {
  readonly effort: (effort: string) => JsonObject;
  /** `undefined` if the model always reasons. */
  readonly off: JsonObject | undefined;
}

const reasoningFields: readonly (ReasoningFields & { readonly id: RegExp })[] = [
  {
    // https://docs.aws.amazon.com/bedrock/latest/userguide/model-parameters-openai.html
    id: /(?:^|[/.])openai\.gpt-oss-/,
    effort: (effort) => ({ reasoning_effort: effort }),
    off: undefined,
  },
  {
    // https://docs.aws.amazon.com/nova/latest/nova2-userguide/extended-thinking.html
    id: /(?:^|[/.])amazon\.nova-2-/,
    effort: (effort) => ({ reasoningConfig: { type: 'enabled', maxReasoningEffort: effort } }),
    off: { reasoningConfig: { type: 'disabled' } },
  },
];

/**
 * Puts an effort into the field of the model's own API. A budget is converted to an effort. Values of effort are
 * validated by the upstream. If no field of the API is known for what is asked, the request is rejected. `adaptive`
 * leaves the choice to the model, and sends nothing. Agents that use the messages API always ask for an effort or for
 * no thinking, so a `translated` request is not rejected for that: `undefined` means that the effort was left out.
 */
export function otherFamilyReasoning(
  upstreamModel: string,
  requested: ReasoningRequest,
  translated: boolean,
): Either<GatewayError, JsonObject | undefined> {
  if (translated && requested.kind === 'disabled') return E.right({});
  const id = upstreamModel.toLowerCase();
  const known = reasoningFields.find((each) => each.id.test(id));
  if (known === undefined && translated && requestsThinking(requested)) return E.right(undefined);
  const effort = effortOf(requested);
  if (E.isLeft(effort)) return effort;
  if (effort.right === undefined) return E.right({});
  if (known === undefined)
    return E.left(
      fieldError(
        requestingField(requested),
        'cannot be sent to this model: no field of its API for that is known; ' +
          'what it has may be given in `additionalModelRequestFields`.',
      ),
    );
  if (effort.right !== off) return E.right(known.effort(effort.right));
  return known.off === undefined
    ? E.left(fieldError(requestingField(requested), 'cannot turn reasoning off: this model always reasons.'))
    : E.right(known.off);
}

const requestsThinking = ({ kind, ownEffort }: ReasoningRequest): boolean =>
  kind !== 'nothing' || ownEffort !== undefined;

const off = 'none';

/** `none` if reasoning is to be off; `undefined` if the request does not ask for anything. */
function effortOf(requested: ReasoningRequest): Either<GatewayError, string | undefined> {
  switch (requested.kind) {
    case 'nothing':
    case 'between_tools':
    case 'adaptive':
      return E.right(requested.ownEffort);
    case 'off':
    case 'disabled':
      return E.right(off);
    case 'effort':
    case 'effort_and_budget':
      return E.right(requested.effort.value);
    case 'budget': {
      const { field, value } = requested.budget;
      if (value === undefined) return E.left(fieldError(field, 'must be a positive integer.'));
      return E.right(requested.ownEffort ?? effortOfBudget(value));
    }
  }
}

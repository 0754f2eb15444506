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
  /** The highest effort that the model takes with a limit of tokens, and those above it; absent if it takes all. */
  readonly withLimit?: { readonly highest: string; readonly above: ReadonlySet<string> };
}

const reasoningFields: readonly (ReasoningFields & { readonly id: RegExp })[] = [
  {
    // https://docs.aws.amazon.com/bedrock/latest/userguide/model-parameters-openai.html
    id: /(?:^|[/.])openai\.gpt-oss-/,
    effort: (effort) => ({ reasoning_effort: effort }),
    off: undefined,
  },
  {
    // These reject the field of `gpt-oss`: https://github.com/anomalyco/opencode/pull/48195
    id: /(?:^|[/.])openai\.gpt-\d/,
    effort: (effort) => ({ reasoning: { effort } }),
    off: { reasoning: { effort: 'none' } },
  },
  {
    // https://docs.aws.amazon.com/nova/latest/nova2-userguide/extended-thinking.html
    id: /(?:^|[/.])amazon\.nova-2-/,
    effort: (effort) => ({ reasoningConfig: { type: 'enabled', maxReasoningEffort: effort } }),
    off: { reasoningConfig: { type: 'disabled' } },
    // `maxTokens` must be unset with `high`: https://github.com/UKGovernmentBEIS/inspect_ai/issues/3767
    withLimit: { highest: 'medium', above: new Set(['high', 'xhigh', 'max']) },
  },
];

/** What a request for reasoning becomes, and a note on what was changed, for the metadata of the log row. */
export interface ReasoningAsSent {
  readonly fields: JsonObject;
  readonly notes?: JsonObject;
}

type Sent = Either<GatewayError, ReasoningAsSent>;

const asSent = (fields: JsonObject, notes?: JsonObject): Sent =>
  E.right({ fields, ...(notes === undefined ? {} : { notes }) });

const leftOut: JsonObject = { reasoning: { effort: 'left_out', reason: 'no_known_field_of_the_model' } };

/**
 * Puts an effort into the field of the model's own API. A budget is converted to an effort. Values of effort are
 * validated by the upstream. If no field of the API is known for what is asked, the request is rejected. `adaptive`
 * leaves the choice to the model, and sends nothing. Agents that use the messages API always ask for an effort or for
 * no thinking, so a `translated` request is not rejected for that: an effort without a field is left out, and one above
 * what the model takes with a limit is lowered, because that API requires a limit.
 */
export function otherFamilyReasoning(
  upstreamModel: string,
  requested: ReasoningRequest,
  translated: boolean,
): Sent {
  if (translated && requested.kind === 'disabled') return asSent({});
  const id = upstreamModel.toLowerCase();
  const known = reasoningFields.find((each) => each.id.test(id));
  if (known === undefined && translated && requestsThinking(requested)) return asSent({}, leftOut);
  const effort = effortOf(requested);
  if (E.isLeft(effort)) return effort;
  if (effort.right === undefined) return asSent({});
  if (known === undefined)
    return E.left(
      fieldError(
        requestingField(requested),
        'cannot be sent to this model: no field of its API for that is known; ' +
          'what it has may be given in `additionalModelRequestFields`.',
      ),
    );
  if (effort.right !== off) return effortOn(known, effort.right, translated);
  return known.off === undefined
    ? E.left(fieldError(requestingField(requested), 'cannot turn reasoning off: this model always reasons.'))
    : asSent(known.off);
}

function effortOn({ effort, withLimit }: ReasoningFields, asked: string, translated: boolean): Sent {
  if (!translated || !withLimit?.above.has(asked)) return asSent(effort(asked));
  const { highest } = withLimit;
  return asSent(effort(highest), {
    reasoning: { effort: highest, reason: 'no_higher_effort_with_max_tokens' },
  });
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

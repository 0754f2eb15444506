import type { IncomingMessage } from 'node:http';
import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import type * as t from 'io-ts';
import { type Caller, scopeOf } from '../../../domain/identity/caller.ts';
import type { Model } from '../../../domain/routing/model.ts';
import { type GatewayError, overloaded, tooManyRequests } from '../../../domain/shared/gateway-error.ts';
import {
  arrayOf,
  choiceValue,
  countValue,
  flagValue,
  instantValue,
  objectOf,
  orNull,
  textValue,
} from '../answers.ts';
import { type Envelope, sendError } from '../error-presenter.ts';
import type { LoadGate } from '../load-gate.ts';
import { idHeaders, type RequestContext } from '../request-context.ts';
import { sendJson } from '../send-json.ts';
import { answerFlushed } from '../stalled-caller.ts';
import { type LimitsPorts, setLimitHeaders } from './limit-response-headers.ts';

export interface ModelsPorts extends LimitsPorts {
  readonly gate: LoadGate;
  readonly authenticate: (req: IncomingMessage) => Promise<E.Either<GatewayError, Caller>>;
  readonly listModels: (caller: Caller) => readonly Model[];
  readonly findModel: (caller: Caller, id: string) => Model | undefined;
}

/** A model, with the members that either family expects. */
export const modelBody = objectOf({
  id: textValue,
  object: choiceValue(['model']),
  created: countValue,
  owned_by: textValue,
  type: choiceValue(['model']),
  display_name: textValue,
  created_at: instantValue,
});

export const modelListBody = objectOf({
  object: choiceValue(['list']),
  data: arrayOf(modelBody),
  has_more: flagValue,
  first_id: orNull(textValue),
  last_id: orNull(textValue),
});

/** Two families share `GET /v1/models`: `anthropic-version` decides the envelope of errors. */
export const envelopeOf = (req: IncomingMessage): Envelope =>
  req.headers['anthropic-version'] === undefined ? 'openai' : 'messages';

/** One body for both families (rule 33.6). `?limit=` and any other query are tolerated. */
export const modelsEndpoint = (ports: ModelsPorts) => (context: RequestContext) =>
  answerInFlight(ports, context, (caller) => {
    const data = ports.listModels(caller).map(presentModel);
    const list: t.TypeOf<typeof modelListBody> = {
      object: 'list',
      data,
      has_more: false,
      first_id: data[0]?.id ?? null,
      last_id: data.at(-1)?.id ?? null,
    };
    return E.right(JSON.stringify(list));
  });

/**
 * `GET /v1/models/{id}`: one item of that list, so a model that is not listed is not found here. The id may contain
 * slashes, and may be percent-encoded or not.
 */
export const modelDetails = (ports: ModelsPorts) => (context: RequestContext, spelledId: string) =>
  answerInFlight(ports, context, (caller) => {
    const model = ports.findModel(caller, spelledId) ?? ports.findModel(caller, decoded(spelledId));
    return model === undefined ? E.left(noSuchModel) : E.right(JSON.stringify(presentModel(model)));
  });

/**
 * Looking up a key uses the database, and an answer uses memory until its caller has read it: both take a place in
 * flight, and the answer also room (rule 33.49).
 */
async function answerInFlight(
  ports: ModelsPorts,
  context: RequestContext,
  answerOf: (caller: Caller) => Either<GatewayError, string>,
): Promise<void> {
  const envelope = envelopeOf(context.req);
  const lease = ports.gate.enter();
  if (lease === undefined) return sendError(context, envelope, overloaded);
  try {
    const caller = await ports.authenticate(context.req);
    if (E.isLeft(caller)) return sendError(context, envelope, caller.left);
    setLimitHeaders(ports, context, envelope, caller.right.limits);
    if (!lease.belongsTo(scopeOf(caller.right))) return sendError(context, envelope, tooManyRequests);
    const answer = answerOf(caller.right);
    if (E.isLeft(answer)) return sendError(context, envelope, answer.left);
    if (!lease.hold(answer.right.length)) return sendError(context, envelope, overloaded);
    sendJson(context.res, 200, idHeaders(context), answer.right);
    await answerFlushed(context.res);
  } finally {
    lease.release();
  }
}

const noSuchModel: GatewayError = {
  code: 'model_not_found',
  message:
    'There is no model of this name that this API key may use; `GET /v1/models` lists those that there are.',
  param: 'model',
};

/** The id unchanged when a percent sign is not followed by valid UTF-8. */
const decoded = (spelledId: string): string =>
  E.getOrElse(() => spelledId)(
    E.tryCatch(
      () => decodeURIComponent(spelledId),
      () => undefined,
    ),
  );

const presentModel = ({ id, createdAt }: Model): t.TypeOf<typeof modelBody> => ({
  id,
  object: 'model',
  created: Math.floor(createdAt.getTime() / 1000),
  owned_by: 'model-gateway',
  type: 'model',
  display_name: id,
  created_at: createdAt.toISOString(),
});

import type { IncomingMessage } from 'node:http';
import * as E from 'fp-ts/lib/Either.js';
import type * as t from 'io-ts';
import type { Caller } from '../../../domain/identity/caller.ts';
import type { Model } from '../../../domain/routing/model.ts';
import { type GatewayError, overloaded } from '../../../domain/shared/gateway-error.ts';
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
import { type LimitsPorts, setLimitHeaders } from './limit-response-headers.ts';

export interface ModelsPorts extends LimitsPorts {
  /** Admits requests while their key is looked up. */
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
export const modelsEndpoint =
  (ports: ModelsPorts) =>
  async (context: RequestContext): Promise<void> => {
    const caller = await admitted(ports, context.req);
    if (E.isLeft(caller)) return sendError(context, envelopeOf(context.req), caller.left);
    setLimitHeaders(ports, context, envelopeOf(context.req), caller.right.limits);
    const data = ports.listModels(caller.right).map(presentModel);
    const list: t.TypeOf<typeof modelListBody> = {
      object: 'list',
      data,
      has_more: false,
      first_id: data[0]?.id ?? null,
      last_id: data.at(-1)?.id ?? null,
    };
    sendJson(context.res, 200, idHeaders(context), JSON.stringify(list));
  };

/**
 * `GET /v1/models/{id}`: one item of that list, so a model that is not listed is not found here. The id may contain
 * slashes, and may be percent-encoded or not.
 */
export const modelDetails =
  (ports: ModelsPorts) =>
  async (context: RequestContext, spelledId: string): Promise<void> => {
    const envelope = envelopeOf(context.req);
    const caller = await admitted(ports, context.req);
    if (E.isLeft(caller)) return sendError(context, envelope, caller.left);
    setLimitHeaders(ports, context, envelope, caller.right.limits);
    const model =
      ports.findModel(caller.right, spelledId) ?? ports.findModel(caller.right, decoded(spelledId));
    if (model === undefined) return sendError(context, envelope, noSuchModel);
    sendJson(context.res, 200, idHeaders(context), JSON.stringify(presentModel(model)));
  };

/** Looking up a key uses the database, so it takes a place in flight. */
async function admitted(
  { gate, authenticate }: ModelsPorts,
  req: IncomingMessage,
): Promise<E.Either<GatewayError, Caller>> {
  const lease = gate.enter();
  if (lease === undefined) return E.left(overloaded);
  try {
    return await authenticate(req);
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

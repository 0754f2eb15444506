import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import { type GenerationRequest, generationRequest } from '../routing/generation-request.ts';
import { otherModels, otherModelsWatched } from '../routing/other-models.ts';
import {
  aBoolean,
  anArrayOfObjects,
  aStringOrObjects,
  type FieldShapes,
  shapeError,
  modelOf,
} from '../shared/field-shapes.ts';
import { fieldError } from '../shared/field-errors.ts';
import type { GatewayError } from '../shared/gateway-error.ts';
import { isFilled, isObject, type Json, type JsonObject, membersOf, objectsOf } from '../shared/json.ts';
import type { JsonDocument } from '../shared/json-document.ts';
import type { Watched } from '../shared/json-scan.ts';
import { below, type Place, placeIn } from '../shared/place.ts';

/** The levels of a responses body that the gateway reads or edits. */
export const responsesWatched: Watched = {
  input: { '*': { content: { '*': {} }, output: { '*': {} }, outputs: { '*': {} } } },
  tools: { '*': {} },
  tool_choice: {},
  text: { format: {} },
  prompt: { variables: {} },
  ...otherModelsWatched,
};

/** Checks what the gateway reasons about. Unknown item and tool types are left to the upstream. */
export function readResponsesRequest(document: JsonDocument): Either<GatewayError, GenerationRequest> {
  const body = document.value;
  const model = modelOf(body);
  if (E.isLeft(model)) return model;
  const error = shapeError(body, responsesShapes);
  if (error !== undefined) return E.left(error);
  if (body['background'] === true && body['stream'] !== true) return E.left(noWayBack);
  const { input, prompt, text, tools } = body;
  return E.right(
    generationRequest('responses', document, model.right, {
      tools: objectsOf(tools),
      laterTools: below('input', placeIn(input, placeOfTools)),
      visual:
        below('input', placeIn(input, placeOfVisual)) ?? below('prompt', placeInVariables(membersOf(prompt))),
      format: membersOf(text)['format'],
      fields: { json_schema: 'text.format' },
    }),
  );
}

/** The gateway has no way to fetch an answer later, or what it cost. */
const noWayBack = fieldError(
  'background',
  'needs `stream: true`: an answer that is fetched later can be neither fetched nor paid for here.',
);

/** Fields that the gateway reads. */
export const responsesShapes: FieldShapes = [
  ['input', aStringOrObjects],
  ['stream', aBoolean],
  ['tools', anArrayOfObjects],
  ...otherModels,
];

/** Items of a conversation that add tools: those found by a tool search, and those that a caller adds. */
const toolItems: ReadonlySet<Json | undefined> = new Set(['additional_tools', 'tool_search_output']);

const placeOfTools = ({ type, tools }: JsonObject): Place =>
  toolItems.has(type) && isFilled(tools) ? '.tools' : undefined;

/** Items that are visual whatever else they contain: a screenshot, or a generated image. */
const visualItems: ReadonlySet<Json | undefined> = new Set(['computer_call_output', 'image_generation_call']);

/** Parts that are images, videos or documents. Hosted code returns `image`. */
const visualParts: ReadonlySet<Json | undefined> = new Set([
  'input_image',
  'input_video',
  'input_file',
  'computer_screenshot',
  'image',
]);

/** Visual parts of a message, a tool's output, or the outputs of hosted code. */
function placeOfVisual({ type, content, output, outputs }: JsonObject): Place {
  if (visualItems.has(type)) return '';
  const place = below('.content', placeAmong(content)) ?? below('.output', placeAmong(output));
  return place ?? below('.outputs', placeAmong(outputs));
}

/** The values of a stored prompt's variables are texts or parts. */
const placeInVariables = ({ variables }: JsonObject): Place =>
  Object.values(membersOf(variables)).some((value) => placeAmong(value) !== undefined)
    ? '.variables'
    : undefined;

/** One part, or an array of parts. */
const placeAmong = (parts: Json | undefined): Place =>
  isObject(parts) ? placeOfPart(parts) : placeIn(parts, placeOfPart);

const placeOfPart = ({ type }: JsonObject): Place => (visualParts.has(type) ? '' : undefined);

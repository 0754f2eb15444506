import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import { pipe } from 'fp-ts/lib/function.js';
import { base64Of } from '../chat/data-url.ts';
import { fieldError, nameOf, unsupportedType, stringOf, unavailableField } from '../shared/field-errors.ts';
import { aString, type FieldShapes, shapeError } from '../shared/field-shapes.ts';
import type { GatewayError } from '../shared/gateway-error.ts';
import { isObject, isString, type Json, type JsonObject, membersOf, textIn } from '../shared/json.ts';
import { paragraphs, textPart } from '../shared/message-content.ts';
import { below, type Place, placeIn } from '../shared/place.ts';
import { maxBlockLevels, partsOfBlocks } from './blocks.ts';

/** Parts of a chat message's content. */
export type ContentParts = Either<GatewayError, readonly JsonObject[]>;

/** Text, images, documents and search results as chat content parts; an empty text becomes no part. */
export function contentParts(block: JsonObject, path: string): ContentParts {
  const { type, source } = block;
  if (type === 'text') return pipe(stringOf(block, 'text', path), E.map(textParts));
  if (type !== 'image' && type !== 'document' && type !== 'search_result')
    return unsupportedType(block, path);
  if (asksForCitations(block)) return E.left(unavailableField(`${path}.citations`));
  const fault = shapeError(block, headingShapes[type], `${path}.`);
  if (fault !== undefined) return E.left(fault);
  if (type === 'search_result') return searchResultParts(block, path);
  if (refusesResizing(block))
    return E.left(
      fieldError(
        `${path}.transformations.oversized_image`,
        "cannot be `error` on this model's route, where nobody knows what the upstream does with a large image.",
      ),
    );
  const at = `${path}.source`;
  if (!isObject(source)) return E.left(fieldError(at, 'must be an object.'));
  return type === 'image' ? imageParts(source, at) : documentParts(block, source, at);
}

/** What is told before the content of a block. */
const headingShapes: Readonly<Record<'image' | 'document' | 'search_result', FieldShapes>> = {
  image: [],
  document: [
    ['title', aString],
    ['context', aString],
  ],
  search_result: [
    ['title', aString],
    ['source', aString],
  ],
};

/** Chat completions have no citations: dropping the request for them would change the answer. */
const asksForCitations = ({ citations }: JsonObject): boolean =>
  isObject(citations) && citations['enabled'] === true;

const refusesResizing = ({ transformations }: JsonObject): boolean =>
  isObject(transformations) && transformations['oversized_image'] === 'error';

const textParts = (text: string): readonly JsonObject[] => (text === '' ? [] : [textPart(text)]);

const imageParts = (source: JsonObject, path: string): ContentParts =>
  pipe(
    imageUrl(source, path),
    E.map((url) => [{ type: 'image_url', image_url: { url } }]),
  );

/** An image in the request becomes a data URL; an image elsewhere keeps its URL. */
function imageUrl(source: JsonObject, path: string): Either<GatewayError, string> {
  if (source['type'] === 'url') return stringOf(source, 'url', path);
  return source['type'] === 'base64' ? dataUrl(source, path) : unsupportedType(source, path);
}

function dataUrl(source: JsonObject, path: string): Either<GatewayError, string> {
  const mediaType = nameOf(source, 'media_type', path);
  if (E.isLeft(mediaType)) return mediaType;
  return pipe(
    stringOf(source, 'data', path),
    E.chain((data) => base64Of(data, `${path}.data`, 'any')),
    E.map((data) => `data:${mediaType.right};base64,${data}`),
  );
}

/**
 * A text document becomes text, preceded by its title and context, as the messages API shows it to the model. A
 * document of blocks becomes these blocks. A document that is embedded as bytes, or referenced by URL, becomes a file
 * named by its title.
 */
function documentParts(block: JsonObject, source: JsonObject, path: string): ContentParts {
  const heading = [block['title'], block['context']].filter(isString);
  switch (textIn(source['type'])) {
    case 'text':
      return pipe(
        stringOf(source, 'data', path),
        E.map((data) => textParts(paragraphs([...heading, data]))),
      );
    case 'content':
      return pipe(
        sourceParts(source, path),
        E.map((parts) => [...textParts(paragraphs(heading)), ...parts]),
      );
    case 'base64':
      return pipe(
        dataUrl(source, path),
        E.map((file_data) => fileParts(block, { file_data })),
      );
    case 'url':
      // The messages API fetches only PDFs, whatever their name.
      return pipe(
        stringOf(source, 'url', path),
        E.map((file_data) => fileParts(block, { file_data, format: 'application/pdf' })),
      );
    default:
      return unsupportedType(source, path);
  }
}

/** A search result becomes text, preceded by its title and source, as a text document does. */
const searchResultParts = (block: JsonObject, path: string): ContentParts =>
  pipe(
    sourceParts(block, path),
    E.map((parts) => [
      ...textParts(paragraphs([block['title'], block['source']].filter(isString))),
      ...parts,
    ]),
  );

const fileParts = ({ title, context }: JsonObject, file: JsonObject): readonly JsonObject[] => [
  ...textParts(textIn(context)),
  { type: 'file', file: { filename: textIn(title) || 'document.pdf', ...file } },
];

/**
 * The place of a document that has to be fetched, if there is one: among the blocks of a message, of a tool result, or
 * of another document. Chat completions cannot express it, but providers that translate chat may.
 */
export function linkedDocument(blocks: Json | undefined, levels = maxBlockLevels): Place {
  if (levels === 0) return undefined;
  return placeIn(blocks, ({ type, source, content }) => {
    const own = type === 'document' ? membersOf(source) : {};
    return own['type'] === 'url'
      ? '.source.type'
      : (below('.content', linkedDocument(content, levels - 1)) ??
          below('.source.content', linkedDocument(own['content'], levels - 1)));
  });
}

const sourceParts = ({ content }: JsonObject, path: string): ContentParts =>
  isString(content) ? E.right(textParts(content)) : partsOfBlocks(content, `${path}.content`, contentParts);

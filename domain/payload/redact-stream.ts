import { isArray, isObject, isString, type Json, numberOf } from '../shared/json.ts';
import { jsonEdits, jsonErrorEdits } from './json-in-text.ts';
import { mappedItems, mappedMembers } from './mapped.ts';
import { type Secrets, secretEdits } from './secrets.ts';
import { editedPieces, settled } from './text-edits.ts';

/**
 * A stream tells one text in many events, and what must not be kept may stand across them: a key in one piece, its
 * value in the next. Texts in the same place of several events are read as one; what replaces a part stands in the
 * event in which the part began.
 */
export function redactedAcross(events: readonly Json[], secrets: Secrets): readonly Json[] {
  const texts = new Map<string, string[]>();
  for (const event of events)
    mapTexts(event, channelOf(event), (text, channel) => {
      const pieces = texts.get(channel);
      if (pieces === undefined) texts.set(channel, [text]);
      else pieces.push(text);
      return text;
    });
  const clean = new Map<string, Iterator<string>>();
  for (const [channel, pieces] of texts) {
    const redacted = pieces.length > 1 ? redactedPieces(pieces, secrets) : pieces;
    if (redacted !== pieces) clean.set(channel, redacted.values());
  }
  if (clean.size === 0) return events;
  return mappedItems(events, (event) =>
    mapTexts(event, channelOf(event), (text, channel) => {
      const next = clean.get(channel)?.next();
      return next === undefined || next.done === true ? text : next.value;
    }),
  );
}

/** The same pieces when nothing in them is to be replaced. */
function redactedPieces(pieces: readonly string[], secrets: Secrets): readonly string[] {
  const rules = [(text: string) => secretEdits(text, secrets), jsonErrorEdits, jsonEdits];
  return settled(
    pieces,
    (before) =>
      rules.reduce((clean, editsIn) => {
        const edits = editsIn(clean.join(''));
        return edits.length === 0 ? clean : editedPieces(clean, edits);
      }, before),
    (a, b) => a.every((piece, index) => piece === b[index]),
  );
}

/** Members of an event that say which text its pieces belong to. */
const channelKeys = ['type', 'output_index', 'content_index', 'summary_index', 'index'] as const;

/** Some upstreams name the item and not its place; some give it a new name in each event. */
function channelOf(event: Json): string {
  if (!isObject(event)) return '';
  const item = event['output_index'] === undefined ? event['item_id'] : undefined;
  return JSON.stringify([...channelKeys.map((key) => event[key] ?? null), item ?? null]);
}

/** Its texts changed, each told with the place it stands in. */
function mapTexts(value: Json, channel: string, change: (text: string, channel: string) => string): Json {
  if (isString(value)) return change(value, channel);
  if (isArray(value)) {
    let position = 0;
    return mappedItems(value, (item) => mapTexts(item, `${channel}[${indexOf(item) ?? position++}]`, change));
  }
  return isObject(value) && numberOf(value) === undefined
    ? mappedMembers(value, (inner, key) => mapTexts(inner, `${channel}.${key}`, change))
    : value;
}

/** Pieces of one choice or tool call share its index, wherever they stand in their event. */
const indexOf = (item: Json): number | undefined => (isObject(item) ? numberOf(item['index']) : undefined);

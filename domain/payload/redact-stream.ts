import { partialSecretEdits } from './partial-secrets.ts';
import { jsonEdits, jsonErrorEdits } from './json-edits.ts';
import { type Secrets, secretEdits } from './secrets.ts';
import { editedPieces, untilStable } from '../text/text-edits.ts';
import {
  Digits,
  isText,
  Items,
  changedItems,
  changedMembers,
  Members,
  printed,
  decodedText,
  valueAt,
  type Written,
} from '../text/written.ts';

/**
 * Redacts across the events of a stream. A stream spreads one text over many events, and what must be redacted may span
 * several: a key in one piece, its value in the next. The strings at the same place of several events are therefore
 * read as one. A replacement goes into the event in which the replaced part began. `isCut`: later events are missing,
 * so each text may end with part of a secret.
 */
export function redactedAcross(
  events: readonly Written[],
  secrets: Secrets,
  isCut: boolean,
): readonly Written[] {
  const channels = new Map<string, TextPlace>();
  const placeOf = (event: Written): TextPlace => placeNamed(channels, channelOf(event));
  const places = new Set<TextPlace>();
  for (const event of events)
    mapTexts(event, placeOf(event), (text, place) => {
      if (place.pieces.push(text) === 1) places.add(place);
      return text;
    });
  let isClean = true;
  for (const place of places) {
    const { pieces } = place;
    const whole = pieces.length > 1 ? redactedPieces(pieces, secrets) : pieces;
    const redacted = isCut ? withoutPartialEnd(whole, secrets) : whole;
    if (redacted === pieces) continue;
    place.clean = redacted.values();
    isClean = false;
  }
  if (isClean) return events;
  return events.map((event) =>
    mapTexts(event, placeOf(event), (text, { clean }) => {
      const next = clean?.next();
      return next === undefined || next.done === true ? text : next.value;
    }),
  );
}

/** A place in the events. The strings at the same place are read as one text. */
class TextPlace {
  readonly pieces: string[] = [];
  /** The redacted pieces, in order. */
  clean: Iterator<string> | undefined;
  readonly members = new Map<string, TextPlace>();
  readonly items = new Map<string, TextPlace>();
}

/** The place with this name, which begins here if there is none yet. */
function placeNamed(places: Map<string, TextPlace>, name: string): TextPlace {
  let place = places.get(name);
  if (place === undefined) places.set(name, (place = new TextPlace()));
  return place;
}

/** Returns the same pieces when nothing in them is redacted. */
function redactedPieces(pieces: readonly string[], secrets: Secrets): readonly string[] {
  const rules = [(text: string) => secretEdits(text, secrets), jsonErrorEdits, jsonEdits];
  return untilStable(
    pieces,
    (before) =>
      rules.reduce((clean, editsIn) => {
        const edits = editsIn(clean.join(''));
        return edits.length === 0 ? clean : editedPieces(clean, edits);
      }, before),
    (a, b) => a.every((piece, index) => piece === b[index]),
  );
}

function withoutPartialEnd(pieces: readonly string[], secrets: Secrets): readonly string[] {
  const edits = partialSecretEdits(pieces.join(''), secrets);
  return edits.length === 0 ? pieces : editedPieces(pieces, edits);
}

/** Members of an event that say which text its pieces belong to. */
const channelKeys = ['type', 'output_index', 'content_index', 'summary_index', 'index'] as const;

const nameKeys: ReadonlySet<string> = new Set([...channelKeys, 'item_id']);

/**
 * Identifies the text that an event's pieces belong to. Some upstreams give `item_id` and no `output_index`. Where
 * there is an index the id is ignored, because some upstreams change the id with each event.
 */
function channelOf(event: Written): string {
  if (!(event instanceof Members) || !event.keys.some((key) => nameKeys.has(key))) return '';
  const item = valueAt(event, 'output_index') === undefined ? valueAt(event, 'item_id') : undefined;
  return [...channelKeys.map((key) => valueAt(event, key) ?? null), item ?? null]
    .map((value) => printed(value, 'tight'))
    .join(',');
}

/** The event with its strings changed. `change` is called with each string and its place. */
function mapTexts(
  value: Written,
  place: TextPlace,
  change: (text: string, place: TextPlace) => string,
): Written {
  if (isText(value)) {
    const decoded = decodedText(value);
    const changed = change(decoded, place);
    return changed === decoded ? value : changed;
  }
  if (value instanceof Items) {
    let position = 0;
    return changedItems(value, (item) =>
      mapTexts(item, placeNamed(place.items, indexOf(item) ?? String(position++)), change),
    );
  }
  return value instanceof Members
    ? changedMembers(value, (inner, key) => mapTexts(inner, placeNamed(place.members, key), change))
    : value;
}

/** The pieces of one choice or tool call share its `index`, wherever they are in their event. */
function indexOf(item: Written): string | undefined {
  const index = item instanceof Members ? valueAt(item, 'index') : undefined;
  return index instanceof Digits ? index.text : undefined;
}

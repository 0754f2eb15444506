import { halfEdits } from './halves.ts';
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
 * A stream tells one text in many events, and what must not be kept may stand across them: a key in one piece, its
 * value in the next. Texts in the same place of several events are read as one; what replaces a part stands in the
 * event in which the part began. `isCut`: there were more events, so that half of a secret may stand at the end of
 * each.
 */
export function redactedAcross(
  events: readonly Written[],
  secrets: Secrets,
  isCut: boolean,
): readonly Written[] {
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
    const whole = pieces.length > 1 ? redactedPieces(pieces, secrets) : pieces;
    const redacted = isCut ? withoutHalf(whole, secrets) : whole;
    if (redacted !== pieces) clean.set(channel, redacted.values());
  }
  if (clean.size === 0) return events;
  return events.map((event) =>
    mapTexts(event, channelOf(event), (text, channel) => {
      const next = clean.get(channel)?.next();
      return next === undefined || next.done === true ? text : next.value;
    }),
  );
}

/** The same pieces when nothing in them is to be replaced. */
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

function withoutHalf(pieces: readonly string[], secrets: Secrets): readonly string[] {
  const edits = halfEdits(pieces.join(''), secrets);
  return edits.length === 0 ? pieces : editedPieces(pieces, edits);
}

/** Members of an event that say which text its pieces belong to. */
const channelKeys = ['type', 'output_index', 'content_index', 'summary_index', 'index'] as const;

/** Some upstreams name the item and not its place; some give it a new name in each event. */
function channelOf(event: Written): string {
  if (!(event instanceof Members)) return '';
  const item = valueAt(event, 'output_index') === undefined ? valueAt(event, 'item_id') : undefined;
  return [...channelKeys.map((key) => valueAt(event, key) ?? null), item ?? null]
    .map((value) => printed(value, 'tight'))
    .join(',');
}

/** The event with its texts changed; `change` gets each text with the channel that it belongs to. */
function mapTexts(
  value: Written,
  channel: string,
  change: (text: string, channel: string) => string,
): Written {
  if (isText(value)) {
    const decoded = decodedText(value);
    const changed = change(decoded, channel);
    return changed === decoded ? value : changed;
  }
  if (value instanceof Items) {
    let position = 0;
    return changedItems(value, (item) =>
      mapTexts(item, `${channel}[${indexOf(item) ?? position++}]`, change),
    );
  }
  return value instanceof Members
    ? changedMembers(value, (inner, key) => mapTexts(inner, `${channel}.${key}`, change))
    : value;
}

/** Pieces of one choice or tool call share its index, wherever they stand in their event. */
function indexOf(item: Written): string | undefined {
  const index = item instanceof Members ? valueAt(item, 'index') : undefined;
  return index instanceof Digits ? index.text : undefined;
}

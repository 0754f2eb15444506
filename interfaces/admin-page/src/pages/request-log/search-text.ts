/** The maximum number of places found. Beyond it a search says that there are more. */
export const maxFound = 1_000;

/** Where a text contains the words, ignoring case; empty for no words. Linear. */
export function placesOf(text: string, words: string): readonly number[] {
  if (words === '') return [];
  // If lower case has another length, case matters after all: places must be those of the text.
  const lower = text.toLowerCase();
  const [within, sought] = lower.length === text.length ? [lower, words.toLowerCase()] : [text, words];
  const places: number[] = [];
  for (let at = within.indexOf(sought); at >= 0 && places.length < maxFound; ) {
    places.push(at);
    at = within.indexOf(sought, at + sought.length);
  }
  return places;
}

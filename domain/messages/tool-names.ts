import { isString, type JsonObject, objectsOf } from '../shared/json.ts';
import { withChangedTools } from './tool-changes.ts';

/** Chat APIs refuse longer names of tools. The messages API takes twice as many characters. */
const maxChatNameChars = 64;

/** The name of a tool as chat APIs take it: a name that is too long is cut, and ends with a hash of the whole. */
export function chatToolName(name: string): string {
  if (name.length <= maxChatNameChars) return name;
  const end = `_${hashOf(name)}`;
  return name.slice(0, maxChatNameChars - end.length) + end;
}

/** FNV-1a over the code units. Two tools with the same hash and beginning would be refused upstream as one name. */
function hashOf(text: string): string {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at += 1) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  return (hash >>> 0).toString(16).padStart(8, '0');
}

/** The caller's names of tools that have another one upstream, by that name. */
export const shortenedNames = (body: JsonObject): ReadonlyMap<string, string> =>
  new Map(
    objectsOf(withChangedTools(body)['tools']).flatMap(({ name }) =>
      isString(name) && chatToolName(name) !== name ? [[chatToolName(name), name]] : [],
    ),
  );

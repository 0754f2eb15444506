import { isObject, isString, type JsonObject } from '../../../domain/shared/json.ts';

/** A turn of a converse conversation. */
export interface Turn {
  readonly role: 'user' | 'assistant';
  readonly content: readonly JsonObject[];
}

/** The turns as the platform and the model take them. */
export const converseTurns = (turns: readonly Turn[], mixedTurns: boolean): readonly JsonObject[] =>
  begunByUser(turns.flatMap((turn) => (mixedTurns ? [turn] : separated(turn)))).map(({ role, content }) => ({
    role,
    content: withWords(resultsFirst(content)),
  }));

/**
 * Whether a model takes text in a turn that has calls or results. Those of two vendors reject both, with the words
 * `Conversation blocks and tool result blocks cannot be provided in the same turn.` (rule 17.46):
 * https://github.com/strands-agents/harness-sdk/issues/1223
 */
export const takesMixedTurns = (upstreamModel: string): boolean =>
  !/(?:^|[/.])(?:meta\.llama|mistral\.)/.test(upstreamModel.toLowerCase());

const said = (role: Turn['role'], text: string): Turn => ({ role, content: [{ text }] });

/** A turn with text and with calls or results as two turns, with a turn of the other role between them. */
function separated(turn: Turn): readonly Turn[] {
  const { role, content } = turn;
  const ofTools = content.filter(isOfTools);
  const rest = content.filter((block) => !isOfTools(block));
  if (ofTools.length === 0 || rest.length === 0) return [turn];
  return role === 'user'
    ? [{ role, content: ofTools }, said('assistant', 'Understood.'), { role, content: rest }]
    : [{ role, content: rest }, said('user', 'Go on.'), { role, content: ofTools }];
}

/**
 * The platform requires that the user begins (rule 17.47). Chat clients may begin with a greeting of the assistant, or
 * with what is left of a longer conversation: https://github.com/deepgram/deepgram-python-sdk/issues/760
 */
const begunByUser = (turns: readonly Turn[]): readonly Turn[] =>
  turns[0]?.role === 'assistant' ? [said('user', 'Begin.'), ...turns] : turns;

/** Tool results come before the user's other content: the platform requires them directly after the calls. */
const resultsFirst = (content: readonly JsonObject[]): readonly JsonObject[] => [
  ...content.filter(isResult),
  ...content.filter((block) => !isResult(block)),
];

/** The platform takes no document without a text in the same turn, so documents alone get one with their names. */
function withWords(content: readonly JsonObject[]): readonly JsonObject[] {
  const first = content.findIndex(isDocument);
  if (first < 0 || content.some(({ text }) => text !== undefined)) return content;
  const names = content.flatMap(({ document }) =>
    isObject(document) && isString(document['name']) ? [document['name']] : [],
  );
  return [...content.slice(0, first), { text: `Attached: ${names.join(', ')}` }, ...content.slice(first)];
}

const isDocument = ({ document }: JsonObject): boolean => document !== undefined;

export const isResult = ({ toolResult }: JsonObject): boolean => toolResult !== undefined;

const isOfTools = ({ toolUse, toolResult }: JsonObject): boolean =>
  toolUse !== undefined || toolResult !== undefined;

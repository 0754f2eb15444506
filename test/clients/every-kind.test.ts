import { describe, expect, it } from '@jest/globals';
import { BadRequestError as MessagesRefusal } from '@anthropic-ai/sdk';
import { BadRequestError } from 'openai';
import { simulatedSignature } from '../support/messages-body-faults.ts';
import {
  type Answer,
  cacheKey,
  chatConversation,
  type Conversation,
  messagesConversation,
  responsesConversation,
  type Setting,
} from './conversation.ts';
import { everyKind, everyKindScene } from './every-kind-scene.ts';
import { anthropicClient } from './platform-anthropic.ts';
import { answerAfterAll, openAiClient, simulatedPlace } from './platform-openai.ts';
import type { Behaviour, PlatformRoute } from './platform-scenario.ts';
import { answerTo, hello, pixel, reasonOf, simulatedReasoning, toolInput, toolNames } from './scenario.ts';

/** The request succeeds. */
const ok = 'ok';
/** The request is refused with a 400 that names the capability, and nothing is sent upstream. */
const no = (capability: string) => ({ refused: capability });
type No = ReturnType<typeof no>;

/**
 * How reasoning is handled in a tool loop; every caller receives it. `signed`: its signature, or its
 * encrypted form, is sent back upstream. `echoed`: it is sent back as the client holds it. `shown`: nothing
 * is sent back, since preserved thinking blocks are not replayed for chat callers, and only a messages body
 * has a field for those of messages callers.
 */
type Thinking = 'signed' | 'echoed' | 'shown';

/**
 * How prompt caching is handled. `marks`, `points`: the client's marks are sent upstream, unchanged or in the
 * platform's form. `key`: the client sends a cache key, which is forwarded. `counts`: the upstream accepts no
 * marks, and reports the tokens that it read and wrote. `reads`: it reports only the tokens that it read.
 */
type Caching = 'marks' | 'points' | 'key' | 'counts' | 'reads';

type Api = 'chat' | 'responses' | 'messages';

interface Cells {
  readonly plain: typeof ok | No;
  readonly stream: typeof ok | No;
  readonly tools: typeof ok | No;
  readonly parallel: typeof ok | No;
  readonly thinking: Thinking | No;
  readonly schema: typeof ok | No;
  readonly vision: typeof ok | No;
  readonly caching: Caching | No;
}

const all = (thinking: Thinking, caching: Caching): Cells => ({
  plain: ok,
  stream: ok,
  tools: ok,
  parallel: ok,
  thinking,
  schema: ok,
  vision: ok,
  caching,
});

/** A family that the kind does not serve. */
const none = (capability: string): Cells => ({
  plain: no(capability),
  stream: no(capability),
  tools: no(capability),
  parallel: no(capability),
  thinking: no(capability),
  schema: no(capability),
  vision: no(capability),
  caching: no(capability),
});

const schema = no('json_schema');
const vision = no('vision');
const stream = no('stream');

const table: Readonly<Record<string, Readonly<Record<Api, Cells>>>> = {
  compat: {
    chat: all('echoed', 'marks'),
    responses: all('signed', 'key'),
    messages: all('shown', 'marks'),
  },
  serverless: {
    chat: all('echoed', 'marks'),
    responses: all('signed', 'key'),
    messages: all('shown', 'marks'),
  },
  google: {
    chat: all('signed', 'reads'),
    responses: none('responses'),
    messages: all('signed', 'reads'),
  },
  claude: {
    chat: { ...all('shown', 'marks'), vision },
    responses: none('responses'),
    messages: { ...all('signed', 'marks'), vision },
  },
  unified: {
    chat: { ...all('shown', 'points'), schema },
    responses: none('responses'),
    messages: { ...all('shown', 'points'), schema },
  },
  invoked: {
    chat: { ...all('shown', 'marks'), stream, schema },
    responses: none('responses'),
    messages: { ...all('signed', 'marks'), stream, schema },
  },
  'endpointb-messages': {
    chat: { ...all('shown', 'marks'), schema },
    responses: none('responses'),
    messages: { ...all('signed', 'marks'), schema },
  },
  'runtime-chat': {
    chat: { ...all('echoed', 'marks'), schema },
    responses: none('responses'),
    messages: { ...all('shown', 'counts'), schema },
  },
  'endpointb-chat': {
    chat: { ...all('echoed', 'marks'), schema },
    responses: none('responses'),
    messages: { ...all('shown', 'counts'), schema },
  },
  'endpointb-responses': {
    chat: none('chat_completions'),
    responses: all('signed', 'key'),
    messages: none('chat_completions'),
  },
};

const scenario = everyKindScene();

/** The member with a platform's own reasoning in chat completions; chat-style hosts have another field. */
const namespaces: Readonly<Record<string, string>> = {
  google: 'cloud_a_platform',
  claude: 'cloud_a_platform',
  unified: 'cloud_b_platform',
  invoked: 'cloud_b_platform',
  'endpointb-messages': 'cloud_b_platform',
};

interface Case {
  readonly route: PlatformRoute;
  readonly api: Api;
  readonly streamed: boolean;
}

function open({ route, api, streamed }: Case, behaviour: Behaviour, more: Partial<Setting> = {}) {
  const setting = {
    model: `${route.id}-${behaviour}`,
    stream: streamed,
    namespace: namespaces[route.id],
    ...more,
  };
  const held: Readonly<Record<Api, () => Conversation>> = {
    chat: () => chatConversation(openAiClient(scenario), setting),
    responses: () => responsesConversation(openAiClient(scenario), setting),
    messages: () => messagesConversation(anthropicClient(scenario), setting),
  };
  return held[api]();
}

const callsOf = (count: number) => toolNames.slice(0, count).map((name) => [name, toolInput]);

/** The end reason of each family: of an answer in text, and of one with tool calls. */
const ends = { chat: 'stop', responses: 'completed', messages: 'end_turn' } as const;
const callEnds = { chat: 'tool_calls', responses: 'completed', messages: 'tool_use' } as const;

/** The complete body that was last sent upstream, as text. */
const sentText = (): string => JSON.stringify(scenario.sent());

const timesIn = (text: string, part: string): number => text.split(part).length - 1;

async function plain(at: Case): Promise<void> {
  const answer = await open(at, 'plain').say(hello);
  expect(answer).toMatchObject({ text: answerTo(hello), calls: [], end: ends[at.api] });
}

async function tools(at: Case, behaviour: 'tools' | 'parallel', count: number): Promise<void> {
  const conversation = open(at, behaviour, { tools: true });
  expect(await conversation.say(hello)).toMatchObject({ calls: callsOf(count), end: callEnds[at.api] });
  expect(await conversation.handResults()).toMatchObject({
    text: answerAfterAll(at.route, toolNames.slice(0, count)),
    calls: [],
    end: ends[at.api],
  });
}

/** The values that sign reasoning, in any field: the simulations use two signatures and an encrypted form. */
const signatures = [simulatedSignature, 'c2lnbmF0dXJl', 'c2ltdWxhdGVk'];

async function thinking(at: Case, becomes: Thinking): Promise<void> {
  // A platform with its own format reasons if the request enables it; a chat-style host, if its model does.
  const behaviour = namespaces[at.route.id] === undefined ? 'reasoning-tools' : 'tools';
  const conversation = open(at, behaviour, { tools: true, thinking: true });
  for (let turn = 0; turn < 2; turn += 1) {
    expect(await conversation.say(hello)).toMatchObject({ thought: simulatedReasoning, calls: callsOf(1) });
    const { text } = await conversation.handResults();
    expect(text).toBe(answerAfterAll(at.route, toolNames.slice(0, 1)));
    const sent = sentText();
    expect(signatures.some((signature) => sent.includes(`"${signature}"`))).toBe(becomes === 'signed');
    // The `openai` client's stream helper keeps only the last piece of an unknown field.
    const echo = at.streamed ? 'answer is due.' : simulatedReasoning;
    if (becomes === 'echoed') expect(sent).toContain(echo);
    if (becomes === 'shown') expect(sent).not.toContain('answer is due.');
  }
}

async function followsSchema(at: Case): Promise<void> {
  const { text } = await open(at, 'plain', { schema: true }).say(hello);
  expect(JSON.parse(text)).toEqual(simulatedPlace);
}

async function seesImage(at: Case): Promise<void> {
  expect(await open(at, 'plain', { image: true }).say(hello)).toMatchObject({ text: answerTo(hello) });
  expect(sentText()).toContain(pixel);
}

const mark = '"cache_control":{"type":"ephemeral"}';
const point = '"cachePoint":{"type":"default"}';

async function caching(at: Case, becomes: Caching): Promise<void> {
  const conversation = open(at, 'caching', { caching: true, tools: true });
  const first = await conversation.say(hello);
  const answers: readonly Answer[] = [first, await conversation.handResults()];
  const written = becomes === 'reads' ? 0 : 20;
  // If cached tokens are counted beside those of the prompt, so are written ones.
  const prompt = at.route.cachedPrompt === 140 ? 160 : 100;
  for (const answer of answers) {
    expect(answer).toMatchObject({ prompt, read: 40 });
    expect(answer.written ?? 0).toBe(written);
  }
  // Four marks: on the system prompt, the tools, the user's message and the tool result.
  const sent = sentText();
  expect(timesIn(sent, mark)).toBe(becomes === 'marks' ? 4 : 0);
  expect(timesIn(sent, point)).toBe(becomes === 'points' ? 4 : 0);
  expect(scenario.sent()?.['prompt_cache_key']).toBe(becomes === 'key' ? cacheKey : undefined);
}

const scenes = {
  plain: (at: Case) => plain({ ...at, streamed: false }),
  stream: (at: Case) => plain({ ...at, streamed: true }),
  tools: (at: Case) => tools(at, 'tools', 1),
  parallel: (at: Case) => tools(at, 'parallel', 2),
  thinking,
  schema: followsSchema,
  vision: seesImage,
  caching,
} as const;

/** A refusal names the missing capability, precedes any upstream call, and is the client's class of 400. */
async function expectNo(at: Case, scene: keyof typeof scenes, capability: string): Promise<void> {
  const asks: Readonly<Record<keyof typeof scenes, Partial<Setting>>> = {
    plain: { stream: false },
    stream: { stream: true },
    tools: { tools: true },
    parallel: { tools: true },
    thinking: { tools: true, thinking: true },
    schema: { schema: true },
    vision: { image: true },
    caching: { caching: true, tools: true },
  };
  const error = await reasonOf(open(at, 'plain', asks[scene]).say(hello));
  expect(error).toBeInstanceOf(at.api === 'messages' ? MessagesRefusal : BadRequestError);
  expect((error as Error).message).toContain(`has no route with the capability \`${capability}\``);
  expect(scenario.seen()).toEqual([]);
}

it('the table has one row for each route of every kind, in their order', () => {
  expect(Object.keys(table)).toEqual(everyKind.map(({ id }) => id));
});

describe.each(everyKind.map((route) => [route.id, route] as const))('a route to %s', (id, route) => {
  const { chat, responses, messages } = table[id]!;
  for (const [api, cells] of Object.entries({ chat, responses, messages }) as [Api, Cells][]) {
    const ways = cells.stream === ok ? [false, true] : [false];
    for (const scene of Object.keys(scenes) as (keyof Cells)[]) {
      const cell = cells[scene];
      if (typeof cell === 'object') {
        it(`${api}, ${scene}: is refused with a 400 that names \`${cell.refused}\``, () =>
          expectNo({ route, api, streamed: false }, scene, cell.refused));
        continue;
      }
      const hows = scene === 'plain' || scene === 'stream' ? [scene === 'stream'] : ways;
      it.each(hows.map((streamed) => [streamed ? 'streamed' : 'non-streamed', streamed] as const))(
        `${api}, ${scene}: ${cell}, %s`,
        (_, streamed) => {
          const at = { route, api, streamed };
          if (scene === 'thinking') return thinking(at, cells.thinking as Thinking);
          if (scene === 'caching') return caching(at, cells.caching as Caching);
          return scenes[scene](at);
        },
      );
    }
  }
});

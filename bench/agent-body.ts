/**
 * The messages of a coding agent, of about this many bytes: a system prompt, tools, and turns with source code as tool
 * results, whose arguments are JSON inside JSON. A few of its characters are not ASCII.
 */
export function agentBody(bytes: number): object {
  const messages: object[] = [{ role: 'system', content: paragraph.repeat(8) }];
  const body = { messages, tools, max_tokens: 4096 };
  for (let turn = 0, size = JSON.stringify(body).length; size < bytes; turn += 1) {
    const more = turnOf(turn);
    messages.push(...more);
    size += JSON.stringify(more).length;
  }
  return body;
}

const paragraph =
  'You are an agent that changes source code. Read files before you edit them – never guess. Say what you did.\n';

const source = `import { readFile } from 'node:fs/promises';

/** Reads a \`package.json\`, and gives its "name". */
async function nameOf(folder: string): Promise<string | undefined> {
  const text = await readFile(\`\${folder}/package.json\`, "utf8");
  const found = JSON.parse(text) as { "name"?: string };
  return found.name === "" ? undefined : found.name;
}
`;

function turnOf(turn: number): readonly object[] {
  const id = `call_${turn}`;
  const path = `src/module-${turn}/name-of.ts`;
  const call = JSON.stringify({
    path,
    old_string: `const a = "${turn}";`,
    new_string: `const a = '${turn}';\n`,
  });
  return [
    { role: 'user', content: `Now look at ${path}, please.` },
    {
      role: 'assistant',
      content: `I will read ${path}.`,
      tool_calls: [{ id, type: 'function', function: { name: 'edit_file', arguments: call } }],
    },
    { role: 'tool', tool_call_id: id, content: source.repeat(1 + (turn % 9)) },
  ];
}

const tools = ['read_file', 'edit_file', 'run_command', 'search'].map((name) => ({
  type: 'function',
  function: {
    name,
    description: paragraph,
    parameters: {
      type: 'object',
      properties: { path: { type: 'string', description: 'Where the file is.' }, limit: { type: 'integer' } },
      required: ['path'],
    },
  },
}));

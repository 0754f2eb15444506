import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { CreateMessageRequestSchema, ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import type { TestGateway } from '../support/gateway.ts';
import { everythingServer, type RunningServer, stdioServer } from '../support/mcp-servers.ts';
import { mcpScene } from './mcp-scene.ts';

const { gateway: start, client, records } = mcpScene();
const running: RunningServer[] = [];
let gateway: TestGateway;
let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'mcp-files-'));
  await writeFile(path.join(folder, 'hello.txt'), 'hello from a file');
  running.push(
    await everythingServer(),
    await stdioServer('@modelcontextprotocol/server-memory'),
    await stdioServer('@modelcontextprotocol/server-filesystem', [folder]),
  );
  const [everything, memory, files] = running;
  gateway = await start([
    { id: 'everything', url: everything!.url, denied_tools: ['get-env'] },
    { id: 'memory', url: memory!.url },
    { id: 'files', display_name: 'Files', url: files!.url, allowed_tools: ['read_*', 'list_*'] },
  ]);
});
afterAll(async () => {
  for (const server of running) await server.stop();
});

describe('published servers behind the gateway', () => {
  let everything: Client;
  const asked: string[] = [];
  beforeAll(async () => {
    everything = await client(gateway, 'everything', { capabilities: { sampling: {}, elicitation: {} } });
    everything.setRequestHandler(CreateMessageRequestSchema, async () => {
      asked.push('sampling');
      return { model: 'none', role: 'assistant', content: { type: 'text', text: 'sampled' } };
    });
    everything.setRequestHandler(ElicitRequestSchema, async () => {
      asked.push('elicitation');
      return { action: 'accept', content: { name: 'A' } };
    });
  });

  it('list their tools without those that the policy denies', async () => {
    const { tools } = await everything.listTools();
    const names = tools.map(({ name }) => name);
    expect(names).toContain('echo');
    expect(names).not.toContain('get-env');
  });

  it('list and return their resources and prompts', async () => {
    const { resources } = await everything.listResources();
    expect(resources.length).toBeGreaterThan(0);
    const { contents } = await everything.readResource({ uri: resources[0]!.uri });
    expect(contents.length).toBeGreaterThan(0);
    const { prompts } = await everything.listPrompts();
    expect(prompts.map(({ name }) => name)).toContain('simple-prompt');
    expect((await everything.getPrompt({ name: 'simple-prompt' })).messages.length).toBeGreaterThan(0);
  });

  it('answer calls, each of which writes a record', async () => {
    const result = await everything.callTool({ name: 'echo', arguments: { message: 'hello there' } });
    expect(JSON.stringify(result.content)).toContain('hello there');
    const [row] = await records(1, `tool_id = 'everything/echo'`);
    expect(row).toMatchObject({
      server_id: 'everything',
      status: 'success',
      policy_result: 'allowed',
      error_code: null,
      arguments_json: { message: 'hello there' },
    });
    expect(row?.user_id).not.toBeNull();
    expect(JSON.stringify(row?.result_json)).toContain('hello there');
  });

  it('send progress notifications during a call', async () => {
    const seen: number[] = [];
    await everything.callTool(
      { name: 'trigger-long-running-operation', arguments: { duration: 1, steps: 4 } },
      undefined,
      {
        onprogress: ({ progress }) => void seen.push(progress),
      },
    );
    expect(seen).toEqual([1, 2, 3, 4]);
  });

  it('send sampling and elicitation requests to the client and get its answers', async () => {
    await everything.callTool({
      name: 'trigger-sampling-request',
      arguments: { prompt: 'p', maxTokens: 10 },
    });
    await everything.callTool({ name: 'trigger-elicitation-request', arguments: {} });
    expect(asked).toEqual(['sampling', 'elicitation']);
  });

  it('have a cancelled call recorded as cancelled', async () => {
    const abort = new AbortController();
    const call = everything.callTool(
      { name: 'trigger-long-running-operation', arguments: { duration: 30, steps: 30 } },
      undefined,
      { signal: abort.signal, onprogress: () => abort.abort('enough') },
    );
    await expect(call).rejects.toThrow('enough');
    const rows = await records(
      1,
      `tool_id = 'everything/trigger-long-running-operation' and status = 'timeout'`,
    );
    expect(rows).toMatchObject([{ error_code: 'cancelled', policy_result: 'allowed' }]);
  });

  it('receive no call of a denied tool', async () => {
    await expect(everything.callTool({ name: 'get-env', arguments: {} })).rejects.toMatchObject({
      code: -32_602,
      data: { error_code: 'tool_not_allowed' },
    });
    expect(await records(1, `tool_id = 'everything/get-env'`)).toMatchObject([
      { status: 'policy_denied', policy_result: 'denied', error_code: 'tool_not_allowed' },
    ]);
  });

  it('answer 200 concurrent calls', async () => {
    const results = await Promise.all(
      Array.from({ length: 200 }, (_, n) =>
        everything.callTool({ name: 'get-sum', arguments: { a: n, b: 1 } }),
      ),
    );
    results.forEach((result, n) => expect(JSON.stringify(result.content)).toContain(String(n + 1)));
    expect(await records(200, `tool_id = 'everything/get-sum'`)).toHaveLength(200);
  });

  it('keep state in a session (server-memory)', async () => {
    const memory = await client(gateway, 'memory');
    await memory.callTool({
      name: 'create_entities',
      arguments: { entities: [{ name: 'gateway', entityType: 'thing', observations: ['relays'] }] },
    });
    const graph = await memory.callTool({ name: 'read_graph', arguments: {} });
    expect(JSON.stringify(graph)).toContain('relays');
  });

  it('list and run only the allowed tools (server-filesystem)', async () => {
    const files = await client(gateway, 'files');
    const names = (await files.listTools()).tools.map(({ name }) => name);
    expect(names.every((name) => /^(?:read|list)_/.test(name))).toBe(true);
    const read = await files.callTool({
      name: 'read_text_file',
      arguments: { path: path.join(folder, 'hello.txt') },
    });
    expect(JSON.stringify(read.content)).toContain('hello from a file');
    await expect(
      files.callTool({ name: 'write_file', arguments: { path: path.join(folder, 'x'), content: '' } }),
    ).rejects.toMatchObject({ data: { error_code: 'tool_not_allowed' } });
  });

  it('a tool error is returned to the caller and recorded as upstream_failed', async () => {
    const files = await client(gateway, 'files');
    const read = await files.callTool({ name: 'read_text_file', arguments: { path: '/not/allowed' } });
    expect(read.isError).toBe(true);
    expect(await records(1, `tool_id = 'files/read_text_file' and status <> 'success'`)).toMatchObject([
      { status: 'upstream_error', error_code: 'upstream_failed', policy_result: 'allowed' },
    ]);
  });
});

import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, describe, expect, it } from '@jest/globals';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import type { Page, Route } from 'playwright-core';
import { transportOf } from '../e2e/mcp-scene.ts';
import { basicConfig } from '../support/gateway.ts';
import { listening, sdkServer } from '../support/mcp-servers.ts';
import { keyboardPerson } from './keyboard-person.ts';
import { pageScene } from './page-scene.ts';
import { axeInBothThemes, whileFailing } from './report-pages.ts';
import { count, rowsOf } from './requests-scene.ts';

const own = await sdkServer(() => {
  const server = new McpServer({ name: 'own', version: '1' });
  server.registerTool('read_file', { title: 'Read it', inputSchema: {} }, () => ({ content: [] }));
  server.registerTool('read_secret', { inputSchema: {} }, () => ({ content: [] }));
  server.registerTool('write', { inputSchema: {} }, () => ({ content: [] }));
  return server;
});
let refusal = 401;
const refusing = await listening((_req, res) => void res.writeHead(refusal).end());
const dead = await listening(() => undefined);
await dead.stop();
afterAll(async () => {
  await own.stop();
  await refusing.stop();
});

const scene = pageScene((upstream, key) =>
  basicConfig(upstream, key, {
    user: { team: 'platform' },
    more: {
      service_accounts: [{ id: 'worker', team: 'platform' }],
      mcp_servers: [
        {
          id: 'files',
          display_name: 'Our files',
          url: own.url,
          auth: { mode: 'bearer', token: 'a-token-of-the-server-0123456789' },
          allowed_owners: ['team:platform', 'user:a@example.com', 'service_account:worker'],
          allowed_tools: ['read_*'],
          denied_tools: ['read_secret'],
        },
        { id: 'refusing', url: refusing.url },
        { id: 'dead', url: dead.url },
      ],
    },
  }),
);

const root = '/mcp-servers';
const listRoute = '**/api/v1/admin/mcp-servers?*';
const oneRoute = '**/api/v1/admin/mcp-servers/*';
const row = (page: Page, name: string) => rowsOf(page).filter({ hasText: name });
const drawerOf = (page: Page, name: string) =>
  page.getByRole('dialog', { name: `MCP server ${name}`, exact: true });
const hrefs = (page: Page, name: string) =>
  page.getByRole('link', { name, exact: true }).getAttribute('href');

async function callTool(): Promise<void> {
  const client = new Client({ name: 'test', version: '1' });
  await client.connect(transportOf(scene.gateway(), 'files', scene.key));
  await client.callTool({ name: 'read_file', arguments: {} });
  await client.close();
  for (let tries = 0; tries < 1000; tries += 1) {
    if ((await scene.query('select from mcp_tool_invocations')).length > 0) return;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  throw new Error('the call left no record');
}

describe('the list of MCP servers', () => {
  it('is linked in the navigation, and shows each server with health, calls, tool rules and owners, with links', async () => {
    await callTool();
    const page = await scene.open('/');
    await page.getByRole('navigation', { name: 'Pages', exact: true }).getByText('MCP servers').click();
    await page.getByText('3 servers, changed in the configuration file').waitFor();
    await row(page, 'Our files').getByRole('link', { name: '1', exact: true }).waitFor();
    await row(page, 'Our files').getByText('healthy').waitFor();
    expect(await row(page, 'Our files').getByRole('cell').allInnerTexts()).toEqual([
      'Our files files',
      'healthy',
      '1',
      '1 pattern, 1 denied',
      'bearer token',
      own.url,
      'team platform, person a@example.com, service account worker',
    ]);
    await row(page, dead.url).getByRole('link', { name: '0', exact: true }).waitFor();
    await row(page, dead.url).getByText('upstream unreachable').waitFor();
    expect(await row(page, dead.url).getByRole('cell').allInnerTexts()).toEqual([
      'dead',
      'upstream unreachable',
      '0',
      'all',
      'none',
      dead.url,
      'every key',
    ]);
    expect(await hrefs(page, 'platform')).toBe('/admin/teams?open=platform');
    expect(await hrefs(page, 'a@example.com')).toBe('/admin/people?email=a%40example.com');
    expect(await hrefs(page, 'worker')).toBe('/admin/service-accounts?open=worker');
    await row(page, 'Our files').getByRole('link', { name: '1', exact: true }).click();
    await page.waitForURL(/mcp-invocations\?server_id=files&range=24h$/);
    await count(page, 1);
    await rowsOf(page).getByRole('link', { name: 'Our files' }).click();
    await drawerOf(page, 'Our files').getByText('healthy').waitFor();
  });

  it('checks the health of every server on load and on `Check again`, and reuses it after navigation', async () => {
    const page = await scene.open('/');
    const asked: string[] = [];
    page.on('request', (request) => {
      if (/\/admin\/mcp-servers\/\w+$/.test(request.url())) asked.push(request.url());
    });
    await scene.open(root);
    await row(page, 'Our files').getByText('healthy').waitFor();
    await row(page, refusing.url).getByText('upstream unauthorized').waitFor();
    await row(page, dead.url).getByText('upstream unreachable').waitFor();
    expect(asked).toHaveLength(3);
    refusal = 500;
    await page.getByRole('button', { name: 'Check again' }).click();
    await row(page, refusing.url).getByText('upstream protocol').waitFor();
    await page.getByRole('button', { name: 'Check again' }).waitFor();
    expect(asked).toHaveLength(6);
    refusal = 401;
    await row(page, refusing.url).click();
    await drawerOf(page, 'refusing').getByText('upstream unauthorized').waitFor();
    await page.keyboard.press('Escape');
    await row(page, refusing.url).getByText('upstream unauthorized').waitFor();
    // A return within a minute shows the known health without another check.
    const before = asked.length;
    await page.getByRole('navigation', { name: 'Pages', exact: true }).getByText('Teams').click();
    await page.getByRole('navigation', { name: 'Pages', exact: true }).getByText('MCP servers').click();
    await row(page, 'Our files').getByText('healthy').waitFor();
    expect(asked).toHaveLength(before);
    page.removeAllListeners('request');
  });

  it('checks three servers at a time, and starts no further check after navigation to another page', async () => {
    const page = await scene.open('/');
    const held: Route[] = [];
    await page.route(listRoute, async (route) => {
      const answer = await route.fetch();
      const { data, meta } = (await answer.json()) as {
        data: { items: { server_id: string }[] };
        meta: object;
      };
      const items = Array.from({ length: 5 }, (_, n) => ({ ...data.items[0], server_id: `server-${n}` }));
      await route.fulfill({ json: { data: { ...data, items, total: 5 }, meta } });
    });
    await page.route(oneRoute, (route) => void held.push(route));
    await scene.open(root);
    await count(page, 5);
    await page.getByText('checking…').nth(2).waitFor();
    await page.waitForTimeout(200);
    expect(held).toHaveLength(3);
    expect(await page.getByText('not checked yet').count()).toBe(2);
    await held[0]?.fulfill({ status: 500, json: {} });
    await page.getByText('could not be checked').waitFor();
    await page.waitForTimeout(200);
    expect(held).toHaveLength(4);
    await page.getByRole('navigation', { name: 'Pages', exact: true }).getByText('Teams').click();
    // The address changes before the page does.
    await page.getByRole('heading', { name: 'Teams', level: 1 }).waitFor();
    await held[1]?.fulfill({ status: 500, json: {} }).catch(() => undefined);
    await page.waitForTimeout(200);
    expect(held).toHaveLength(4);
    await page.unroute(listRoute);
    await page.unroute(oneRoute);
  });

  it('opens a server that the search finds by id or by name', async () => {
    for (const [typed, id] of [
      ['our fi', 'files'],
      ['refus', 'refusing'],
    ] as const) {
      const page = await scene.open('/audit');
      await page.keyboard.press('/');
      await page.getByRole('dialog').getByRole('combobox').fill(typed);
      await page.getByRole('listbox').getByRole('group', { name: 'MCP servers' }).waitFor();
      await page.keyboard.press('Enter');
      await page.waitForURL(`**/admin/mcp-servers?open=${id}`);
    }
  });

  it('shows how to configure a first server if empty, and an error with request id and retry button', async () => {
    const page = await scene.open('/');
    const none = { items: [], page: 1, page_size: 50, total: 0, total_is_lower_bound: false };
    await page.route(listRoute, (route) =>
      route.fulfill({ json: { data: none, meta: { generated_at: '2026-01-01T00:00:00.000Z' } } }),
    );
    await scene.open(root);
    await page.getByText('There are no MCP servers yet').waitFor();
    expect(await page.getByLabel('Configuration that adds an MCP server').innerText()).toContain(
      'mcp_servers:\n  - id: files',
    );
    expect(await axeInBothThemes(page)).toEqual([]);
    await page.unroute(listRoute);
    await whileFailing(page, listRoute, async () => {
      await scene.open(root);
      await page.getByText('Something broke.').waitFor();
      await page.getByText('Request id request-of-the-fault').waitFor();
    });
    await page.getByRole('button', { name: 'Try again' }).click();
    await count(page, 3);
  });
});

describe('an MCP server', () => {
  it('is checked when opened, and shows health, settings without the token, and why each tool is open or closed', async () => {
    const page = await scene.open(`${root}?open=files`);
    const drawer = drawerOf(page, 'Our files');
    const health = drawer.getByRole('region', { name: 'Health' }).getByRole('status');
    await health.getByText(/^answered in [\d,]+ ms, revision \d{4}-\d\d-\d\d, at/).waitFor();
    const tools = drawer.getByRole('region', { name: '3 tools, 1 open' });
    const cells = async (name: string) =>
      (await tools.getByRole('row').filter({ hasText: name }).getByRole('cell').allInnerTexts()).map((text) =>
        text.trim(),
      );
    expect(await cells('read_file')).toEqual([
      'read_file',
      'open',
      'allowed by read_*',
      'Calls',
      'Read it',
      'files__read_file',
    ]);
    expect((await cells('read_secret')).slice(1, 3)).toEqual(['closed', 'denied by read_secret']);
    expect((await cells('write')).slice(1, 3)).toEqual(['closed', 'not in allowed_tools']);
    expect(await hrefs(page, 'Calls of read_file')).toBe(
      '/admin/observability/mcp-invocations?tool_id=files%2Fread_file',
    );
    expect(await hrefs(page, 'All its calls')).toBe('/admin/observability/mcp-invocations?server_id=files');
    const told = await drawer.getByRole('region', { name: 'In the configuration file' }).innerText();
    for (const fact of [own.url, 'Streamable HTTP', 'bearer token', '60.0 s', '1,048,576 bytes', 'read_*'])
      expect(told).toContain(fact);
    expect(told).not.toContain('a-token-of-the-server');
  });

  it('that fails shows the reason, and the new reason after `Check again`', async () => {
    const page = await scene.open(`${root}?open=dead`);
    await drawerOf(page, 'dead').getByText('upstream unreachable').waitFor();
    await drawerOf(page, 'dead').getByText('The MCP server could not be reached').waitFor();
    expect(await page.getByRole('region', { name: /tools?,/ }).count()).toBe(0);
    await scene.open(`${root}?open=refusing`);
    const drawer = drawerOf(page, 'refusing');
    await drawer.getByText('The server does not accept the credentials of the gateway.').waitFor();
    refusal = 500;
    await drawer.getByRole('button', { name: 'Check again' }).click();
    await drawer.getByText('(status 500)').waitFor();
    refusal = 401;
  });

  it('shows its configuration during a check and if the check fails, and recovers on `Try again`', async () => {
    const page = await scene.open('/');
    let answer = (): void => undefined;
    const held = new Promise<void>((resolve) => {
      answer = resolve;
    });
    await page.route(oneRoute, async (route) => {
      await held;
      await route.continue();
    });
    await scene.open(`${root}?open=files`);
    const drawer = drawerOf(page, 'Our files');
    await drawer.getByText('Waiting for the answer of the server…').waitFor();
    await drawer.getByText('bearer token').waitFor();
    answer();
    await drawer.getByText('healthy').waitFor();
    await page.unroute(oneRoute);
    await whileFailing(page, oneRoute, async () => {
      await scene.open(`${root}?open=files`);
      await drawer.getByText('Something broke.').waitFor();
      await drawer.getByText('bearer token').waitFor();
    });
    await drawer.getByRole('button', { name: 'Try again' }).click();
    await drawer.getByText('healthy').waitFor();
  });

  it('that is not in the configuration is reported as such, with a link to its logged calls', async () => {
    const page = await scene.open(`${root}?open=gone`);
    await page.getByText('MCP server gone is not in the configuration').waitFor();
    expect(await hrefs(page, 'Its logged calls')).toBe('/admin/observability/mcp-invocations?server_id=gone');
  });

  it('shows the client settings from `docs/mcp.md`, for its own path and for `/mcp`', async () => {
    const docs = await readFile(path.join(import.meta.dirname, '..', '..', 'docs', 'mcp.md'), 'utf8');
    const [alone = '', codex = '', opencode = '', , together = ''] = [
      ...docs
        .replaceAll('http://127.0.0.1:8080', scene.gateway().url)
        .matchAll(/```(?:sh|toml|json|ts)\n([^]*?)\n```/g),
    ].map(([, text = '']) => text.replace('gwk_…', '$GATEWAY_API_KEY'));
    const page = await scene.open(`${root}?open=files`);
    const shown = (name: string) => page.getByLabel(`${name}: what to paste`).innerText();
    await page.getByRole('region', { name: 'How to connect' }).waitFor();
    expect(await page.getByLabel('Address').inputValue()).toBe(`${scene.gateway().url}/mcp/files`);
    expect(await shown('Claude Code')).toBe(alone);
    await page.getByRole('tab', { name: 'Codex' }).click();
    expect(await shown('Codex')).toBe(codex);
    await page.getByRole('tab', { name: 'opencode' }).click();
    expect(JSON.parse(await shown('opencode'))).toEqual(JSON.parse(opencode));
    await page.getByLabel('Path').selectOption('/mcp');
    await page.getByRole('tab', { name: 'Claude Code' }).click();
    expect(await shown('Claude Code')).toBe(together);
  });

  it('is opened, checked again and closed by keyboard, and the focus returns to its row', async () => {
    const page = await scene.open(root);
    await count(page, 3);
    const { key, tabTo, pressOn } = keyboardPerson(page);
    await tabTo(rowsOf(page).first());
    await key('ArrowDown');
    await key('ArrowDown');
    await key('Enter');
    await drawerOf(page, 'dead').getByText('upstream unreachable').waitFor();
    await Promise.all([
      page.waitForResponse((answer) => answer.url().endsWith('/mcp-servers/dead')),
      pressOn(page.getByRole('button', { name: 'Check again' })),
    ]);
    await pressOn(page.getByRole('tab', { name: 'Claude Code' }), 'ArrowRight');
    await page.getByLabel('Codex: what to paste').waitFor();
    await key('Escape');
    await drawerOf(page, 'dead').waitFor({ state: 'detached' });
    expect(await page.evaluate('document.activeElement.innerText')).toContain(dead.url);
  });
});

describe('the page of MCP servers', () => {
  it('has no axe-core violations in the list and the drawers, in both themes', async () => {
    const page = await scene.open(root);
    await count(page, 3);
    await row(page, dead.url).getByText('upstream unreachable').waitFor();
    expect(await axeInBothThemes(page)).toEqual([]);
    for (const [id, name, word] of [
      ['files', 'Our files', 'healthy'],
      ['dead', 'dead', 'upstream unreachable'],
    ] as const) {
      await scene.open(`${root}?open=${id}`);
      await drawerOf(page, name).getByText(word).waitFor();
      expect(await axeInBothThemes(page)).toEqual([]);
    }
  });

  it('does not scroll sideways at 360 px, nor do its drawers', async () => {
    const page = await scene.open(root);
    await page.setViewportSize({ width: 360, height: 800 });
    await count(page, 3);
    const over = (selector: string) =>
      page.evaluate(
        `(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)(document.querySelector('${selector}'))`,
      );
    expect(await over('html')).toBe(0);
    for (const [id, name] of [
      ['files', 'Our files'],
      ['dead', 'dead'],
    ] as const) {
      await scene.open(`${root}?open=${id}`);
      await drawerOf(page, name).getByRole('button', { name: 'Check again' }).waitFor();
      expect([id, await over('dialog'), await over('html')]).toEqual([id, 0, 0]);
    }
    await page.setViewportSize({ width: 1280, height: 800 });
  });
});

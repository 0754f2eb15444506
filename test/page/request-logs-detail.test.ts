import { describe, expect, it } from '@jest/globals';
import type { Locator, Page } from 'playwright-core';
import { axeViolations } from './page-scene.ts';
import { requestsScene, tool } from './requests-scene.ts';

const scene = requestsScene();
const root = '/observability/request-logs';
const said = (page: Page) => page.getByRole('list', { name: 'Conversation' });

/** The text of a loaded request within the drawer or the page. */
async function contentOf(frame: Locator): Promise<string | null> {
  await frame.getByRole('list', { name: 'Conversation' }).getByText('Hello d-1', { exact: true }).waitFor();
  await frame.getByText('None is known.').waitFor();
  return frame.locator('.detail').textContent();
}

const firstToken = (page: Page) =>
  page.locator('dl.pairs > div').filter({ hasText: 'First token' }).locator('dd').innerText();

const chat = (over: object, id: string, headers: Readonly<Record<string, string>> = {}) =>
  scene.ask(
    '/v1/chat/completions',
    { model: 'fast', messages: [{ role: 'user', content: `Hello ${id}` }], ...over },
    { 'x-request-id': id, ...headers },
  );

describe('one request', () => {
  it('has the same content in a drawer and on its own page, with links to its MCP calls and to requests with its tag', async () => {
    await chat({ model: 'thinker', stream: true, tools: [tool] }, 'd-1', {
      'x-gateway-tags': 'customer=acme',
    });
    const id = await scene.stored('d-1');
    const page = await scene.open(`${root}?open=${id}`);
    const inDrawer = await contentOf(page.getByRole('dialog', { name: 'Request' }));
    expect(inDrawer).toContain('thinker → up');
    await page.getByRole('link', { name: 'Open as a page' }).click();
    await page.waitForURL((url) => url.pathname === `/admin${root}/${id}`);
    // The address changes before the page does: until then the row of the list has this text too.
    await page.getByRole('dialog', { name: 'Request' }).waitFor({ state: 'detached' });
    expect(await contentOf(page.getByRole('main'))).toBe(inDrawer);
    await page.goBack();
    await page.getByRole('dialog', { name: 'Request' }).waitFor();
    await scene.open(`${root}/${id}`);
    const links = page.getByRole('navigation', { name: 'Related' });
    expect(await links.getByRole('link', { name: 'Its MCP calls' }).getAttribute('href')).toBe(
      '/admin/observability/mcp-invocations?request_id=d-1',
    );
    const { api_key_id: key } =
      (await scene.query<{ api_key_id: string }>('select api_key_id from api_keys'))[0] ?? {};
    expect(await links.getByRole('link', { name: 'The key' }).getAttribute('href')).toBe(
      `/admin/keys?open=${key}`,
    );
    await page.getByRole('link', { name: 'acme' }).click();
    await page.waitForURL((url) => url.search === '?tag_key=customer&tag_value=acme');
  });

  it('shows its timeline and its tool counts, with `n/a` for what was not counted and `0` for zero', async () => {
    await chat({ tools: [tool] }, 'd-2');
    const page = await scene.open(`${root}/${await scene.stored('d-2')}`);
    const timeline = page.getByRole('region', { name: 'Timeline' });
    await timeline.getByText('Admission').waitFor();
    await timeline.getByText('Attempt 1: simulated-fast at up, success 200').waitFor();
    await timeline.getByText('Settled in the ledger and recorded').waitFor();
    expect(await timeline.getByText('First token').count()).toBe(0);
    expect(await firstToken(page)).toBe('–');
    const tools = (await page.getByRole('region', { name: 'Tools and MCP' }).innerText()).split('\n');
    expect(tools.filter((line) => line !== '')).toEqual([
      'Tools and MCP',
      'Tools offered',
      '1',
      'Tools called',
      '0',
      'MCP servers referred to',
      'n/a',
      'Tools filtered out',
      'n/a',
    ]);
  });

  it('that was streamed shows the time to its first token in figures and timeline, and `n/a` if unknown', async () => {
    await chat({ model: 'thinker', stream: true }, 'd-first');
    const id = await scene.stored('d-first');
    const page = await scene.open(`${root}/${id}`);
    const steps = page.getByRole('region', { name: 'Timeline' }).getByRole('listitem');
    await steps.getByText('First token').waitFor();
    expect((await steps.allInnerTexts()).map((text) => text.split(/[:\n]/)[0])).toEqual([
      'Admission',
      'Attempt 1',
      'First token',
      'Settled in the ledger and recorded',
    ]);
    expect(await firstToken(page)).toMatch(/^[\d,]+ ms$/);
    await scene.query('update request_logs set first_token_ms = null where request_log_id = $1', [id]);
    await page.reload();
    await steps.getByText('Settled').waitFor();
    expect(await firstToken(page)).toBe('n/a');
  });

  it('that was refused shows that nothing was sent upstream, and one that failed shows the provider error', async () => {
    await chat({ model: 'nowhere' }, 'd-404');
    const page = await scene.open(`${root}/${await scene.logIdOf('d-404')}`);
    await page.getByText('Refused before anything was sent upstream').waitFor();
    await chat({ model: 'broken' }, 'd-502');
    await scene.open(`${root}/${await scene.stored('d-502')}`);
    await page.getByText('provider error 500 upstream_error: The model is on fire').waitFor();
    await said(page).getByText('The model is on fire').waitFor();
    await page.getByText('Recorded, not in the ledger').waitFor();
  });

  it('shows a conversation with collapsed reasoning, tool calls with results, and redaction and truncation marks', async () => {
    const messages = [
      { role: 'system', content: 'Be brief' },
      {
        role: 'user',
        content: [
          { type: 'text', text: `My key is ${scene.key}` },
          { type: 'image_url', image_url: { url: `data:image/png;base64,${'A'.repeat(2000)}` } },
        ],
      },
      {
        role: 'assistant',
        content: null,
        tool_calls: [
          { id: 'c1', type: 'function', function: { name: 'look_up', arguments: '{"order":"1"}' } },
        ],
      },
      { role: 'tool', tool_call_id: 'c1', content: 'on its way' },
      { role: 'user', content: 'Go on' },
    ];
    await chat({ model: 'thinker', stream: true, messages, tools: [tool] }, 'd-3');
    const page = await scene.open(`${root}/${await scene.stored('d-3')}`);
    const turns = said(page).locator('> li');
    await turns.first().waitFor();
    expect(await turns.locator('h4').allInnerTexts()).toEqual([
      'System',
      'User',
      'Assistant',
      'User',
      'Assistant answered',
    ]);
    expect(await turns.nth(2).innerText()).toMatch(/look_up[^]*on its way/);
    expect(await turns.nth(1).locator('mark').allInnerTexts()).toEqual([
      'REDACTED',
      'TRUNCATED 2000 characters',
    ]);
    expect(await turns.nth(1).locator('mark').first().getAttribute('title')).toContain('credential');
    expect(await page.content()).not.toContain(scene.key.split('.')[1]);
    await page.getByText('request cut off').waitFor();
    const reasoning = turns.nth(4).locator('details');
    expect(await reasoning.getAttribute('open')).toBeNull();
    await reasoning.locator('summary').click();
    await reasoning.getByText('simulated reasoning').waitFor();
  });

  it.each([
    [
      '/v1/messages',
      { model: 'caller', max_tokens: 50, tools: [{ name: 'look_up', input_schema: { type: 'object' } }] },
    ],
    [
      '/v1/responses',
      { model: 'caller', tools: [{ type: 'function', name: 'look_up', parameters: { type: 'object' } }] },
    ],
  ])('shows a conversation of %s, non-streamed and streamed', async (path, body) => {
    for (const stream of [false, true]) {
      const id = `d${path}-${stream}`.replaceAll('/', '-');
      const turn = [{ role: 'user', content: 'Find it' }];
      const asked = path === '/v1/messages' ? { messages: turn } : { input: turn };
      expect(await scene.ask(path, { ...body, ...asked, stream }, { 'x-request-id': id })).toBe(200);
      const page = await scene.open(`${root}/${await scene.stored(id)}`);
      await said(page).getByText('Find it').waitFor();
      await said(page).locator('li', { hasText: 'Assistant answered' }).getByText('look_up').waitFor();
    }
  });

  it('shows the input texts and the vectors of an embeddings request', async () => {
    const body = { model: 'fast', input: ['first', 'second'] };
    expect(await scene.ask('/v1/embeddings', body, { 'x-request-id': 'd-emb' })).toBe(200);
    const page = await scene.open(`${root}/${await scene.stored('d-emb')}`);
    await said(page).getByText('second').waitFor();
    await said(page).getByText('8 numbers').first().waitFor();
  });

  it('has searchable raw JSON exactly as stored, and a curl command without the key', async () => {
    await chat({ messages: [{ role: 'user', content: "It's here" }], seed: 42 }, 'd-4');
    const id = await scene.stored('d-4');
    await scene.query(
      `update request_log_payloads
       set request_json = replace(request_json::text, '"seed":42', '"seed":9007199254740993')::json
       where request_log_id = $1`,
      [id],
    );
    const page = await scene.open(`${root}/${id}`);
    await page.getByText('Raw JSON, as stored').click();
    const raw = page.getByRole('region', { name: 'Request', exact: true });
    await raw.getByText('9007199254740993').waitFor();
    await raw.getByLabel('Search').fill('ROLE');
    await raw.getByText('1 of 1').waitFor();
    expect(await raw.locator('mark.current').innerText()).toBe('role');
    await raw.getByLabel('Search').fill('nowhere to be found');
    await raw.getByText('Not found').waitFor();
    await page.getByText('Send it again with curl').click();
    const curl = await page.getByLabel('curl', { exact: true }).innerText();
    expect(curl).toContain(`${scene.gateway().url}/v1/chat/completions`);
    expect(curl).toContain('9007199254740993');
    expect(curl).toContain(String.raw`It'\''s here`);
    expect(curl).not.toContain('gwk_');
  });

  it('says that the curl command is not the same request only if a part of it was hidden or cut off', async () => {
    await chat({ metadata: { password: 'swordfish' } }, 'd-hidden');
    await chat({}, 'd-whole');
    const noteOf = async (id: string) => {
      const page = await scene.open(`${root}/${await scene.stored(id)}`);
      await page.getByText('Send it again with curl').click();
      return page.getByText('The key is not included').innerText();
    };
    expect(await noteOf('d-hidden')).toContain('this is not the same request');
    expect(await noteOf('d-whole')).toBe('The key is not included: set GATEWAY_API_KEY.');
  });

  it('shows why it has no payload, and a message if it does not exist', async () => {
    await chat({}, 'd-5');
    const id = await scene.stored('d-5');
    await scene.query('delete from request_log_payloads where request_log_id = $1', [id]);
    const page = await scene.open(`${root}/${id}`);
    await page.getByText('were kept, and have been deleted since').waitFor();
    await page.getByText('capture_mode redacted_payloads; at most request 65,536 bytes').waitFor();
    await scene.open(`${root}/00000000-0000-7000-8000-000000000000`);
    await page.getByText('This request does not exist, or has been deleted').waitFor();
  });

  it('falls back to raw JSON if its payload cannot be shown as a conversation', async () => {
    await chat({}, 'd-6');
    const id = await scene.stored('d-6');
    await scene.query(
      `update request_log_payloads set request_json = '{"body": [1, "x"]}', response_json = '"odd"' where request_log_id = $1`,
      [id],
    );
    const page = await scene.open(`${root}/${id}`);
    await page.getByText('It cannot be shown as a conversation').waitFor();
    await page.getByRole('region', { name: 'Answer' }).getByText('"odd"').waitFor();
  });

  it.each(['light', 'dark'])('has no axe-core violations in drawer and page (%s theme)', async (theme) => {
    await chat({ model: 'thinker', stream: true, tools: [tool] }, `d-axe-${theme}`);
    const id = await scene.stored(`d-axe-${theme}`);
    const page = await scene.open(`${root}/${id}`);
    await page.evaluate(`localStorage.setItem('gateway.theme', '${theme}')`);
    await page.reload();
    await said(page).waitFor();
    for (const fold of await page.locator('details.fold > summary').all()) await fold.click();
    expect(await axeViolations(page)).toEqual([]);
    await scene.open(`${root}?open=${id}`);
    await said(page).waitFor();
    expect(await axeViolations(page)).toEqual([]);
    await page.evaluate(`localStorage.removeItem('gateway.theme')`);
  });
});

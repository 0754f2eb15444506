import { beforeAll, describe, expect, it } from '@jest/globals';
import { mcpErrors } from '../../domain/mcp/mcp-error.ts';
import { errorWords } from '../../interfaces/admin-page/src/pages/mcp-invocations/error-words.ts';
import { axeViolations } from './page-scene.ts';
import { searchOf } from './report-pages.ts';
import { count, requestsScene, rowsOf } from './requests-scene.ts';

const scene = requestsScene();
const root = '/observability/mcp-invocations';

const ids: Record<string, string> = {};

const hello = { model: 'fast', messages: [{ role: 'user', content: 'Hi' }] };

beforeAll(async () => {
  await scene.ask('/v1/chat/completions', hello, { 'x-request-id': 'r-1' });
  ids['log'] = await scene.logIdOf('r-1');
  const [known] = await scene.query<{ user: string; key: string }>(
    'select user_id::text as user, api_key_id::text as key from request_logs limit 1',
  );
  ids['user'] = known?.user ?? '';
  ids['key'] = known?.key ?? '';
  ids['first'] = await scene.mcpCall({
    request_id: 'r-1',
    request_log_id: ids['log'],
    user_id: ids['user'],
    api_key_id: ids['key'],
    owner_kind: 'user',
    latency_ms: 0,
    arguments_json: '{"arguments": {"n": 9007199254740993, "token": "[REDACTED]"}}',
    result_json: '{"result": "some [TRUNCATED 3000 characters]"}',
    result_truncated: true,
  });
  ids['second'] = await scene.mcpCall({
    request_id: 'r-2',
    team_id: 'platform',
    owner_kind: 'team',
    server_id: 'shop',
    server_display_name: null,
    tool_id: 'shop/buy',
    tool_display_name: null,
    status: 'policy_denied',
    policy_result: 'denied',
    error_code: 'not_granted',
    occurred_at: new Date(Date.now() - 3 * 3_600_000).toISOString(),
  });
});

describe('the calls of MCP tools', () => {
  it('are those of one request if the address names it, with a link to the request', async () => {
    const page = await scene.open(`${root}?request_id=r-1`);
    await count(page, 1);
    expect(await rowsOf(page).first().innerText()).toMatch(
      /success[^]*allowed[^]*Files[^]*Read a file[^]*0 ms/,
    );
    await rowsOf(page).first().getByRole('link', { name: 'r-1' }).click();
    await page.waitForURL((url) => url.href.endsWith('/admin/observability/request-logs?request_id=r-1'));
  });

  it.each([
    ['Request id', 'request_id', 'r-2'],
    ['Server id', 'server_id', 'shop'],
    ['Tool id', 'tool_id', 'shop/buy'],
    ['Person id', 'user_id', 'user'],
    ['Team id', 'team_id', 'platform'],
    ['Key id', 'api_key_id', 'key'],
    ['Request log id', 'request_log_id', 'log'],
    ['Call id', 'mcp_tool_invocation_id', 'second'],
  ])('are filtered by %s, with the filter in the address', async (label, name, value) => {
    const page = await scene.open(root);
    await count(page, 2);
    const field = page.locator('.filters').getByLabel(label, { exact: true }).first();
    if (!(await field.isVisible())) await page.getByText('More filters').click();
    await field.fill(ids[value] ?? value);
    await page.waitForURL((url) => url.searchParams.get(name) === (ids[value] ?? value));
    await count(page, 1);
  });

  it('are filtered by status, policy, a long request id and time', async () => {
    const page = await scene.open(root);
    await count(page, 2);
    await page.locator('.filters').getByLabel('Status').selectOption('policy_denied');
    await count(page, 1);
    expect(await rowsOf(page).innerText()).toContain('policy denied: not_granted');
    await page
      .locator('label.filter', { hasText: /^Policy/ })
      .locator('select')
      .selectOption('allowed');
    await page.getByText('No call matches all filters').waitFor();
    expect(searchOf(page)).toEqual({ status: 'policy_denied', policy_result: 'allowed' });
    await scene.open(`${root}?range=1h`);
    await count(page, 1);
    await scene.open(`${root}?request_id_sha256=${'a'.repeat(64)}`);
    await page.getByText('No call matches all filters').waitFor();
  });

  it('link to their server; those at `/mcp` for which no server was found show `/mcp` without a link', async () => {
    ids['union'] = await scene.mcpCall({
      request_id: 'r-union',
      server_id: '*',
      server_display_name: null,
      tool_id: '*/nothing',
      tool_display_name: null,
      status: 'timeout',
      error_code: 'cancelled',
    });
    const page = await scene.open(`${root}?server_id=files`);
    await count(page, 1);
    await rowsOf(page).getByRole('link', { name: 'Files' }).click();
    await page.waitForURL((url) => url.href.endsWith('/admin/mcp-servers?open=files'));
    await page.getByText('MCP server files is not in the configuration').waitFor();
    await page.getByRole('link', { name: 'Its logged calls' }).click();
    await count(page, 1);
    await scene.open(`${root}?open=${ids['union']}`);
    const drawer = page.getByRole('dialog', { name: 'MCP call' });
    await drawer.getByText('the caller cancelled it').waitFor();
    expect(await drawer.locator('.badge').first().getAttribute('class')).toBe('badge plain');
    const row = rowsOf(page).filter({ hasText: 'r-union' });
    expect(await row.innerText()).toMatch(/timeout: cancelled[^]*\/mcp/);
    expect(await row.getByRole('link').count()).toBe(1);
    await scene.query('delete from mcp_tool_invocations where mcp_tool_invocation_id = $1', [ids['union']]);
  });

  it('have a text for every MCP error of the gateway', () => {
    expect(Object.keys(errorWords).toSorted()).toEqual(Object.keys(mcpErrors).toSorted());
  });

  it('show the error of an invalid filter at its field alone', async () => {
    const page = await scene.open(`${root}?user_id=me`);
    await page.locator('.typed-filter', { hasText: 'Person id' }).getByRole('alert').waitFor();
    expect(await page.getByRole('alert').count()).toBe(1);
  });

  it('open by keyboard, with arguments and result as stored, and redaction and truncation marks', async () => {
    const page = await scene.open(root);
    await count(page, 2);
    await rowsOf(page).first().focus();
    await page.keyboard.press('Enter');
    const drawer = page.getByRole('dialog', { name: 'MCP call' });
    const given = drawer.getByRole('region', { name: 'Arguments' });
    await given.getByText('9007199254740993').waitFor();
    expect(await given.locator('mark').getAttribute('title')).toContain('credential');
    const result = drawer.getByRole('region', { name: 'Result' });
    expect(await result.locator('mark').innerText()).toBe('TRUNCATED 3000 characters');
    await drawer.getByText('Result was larger than 16 KiB.').waitFor();
    expect(await drawer.getByRole('link', { name: 'Its request' }).getAttribute('href')).toBe(
      `/admin/observability/request-logs/${ids['log']}`,
    );
    expect(searchOf(page)).toEqual({ open: ids['first'] });
    await page.keyboard.press('Escape');
    await drawer.waitFor({ state: 'detached' });
    expect(await page.evaluate('document.activeElement.tagName')).toBe('TR');
  });

  it('are listed in the detail of their request, and link back to it', async () => {
    const page = await scene.open(`/observability/request-logs/${ids['log']}`);
    const calls = page.getByRole('region', { name: 'MCP calls of this request' });
    expect(await calls.getByRole('listitem').first().innerText()).toMatch(/success[^]*→[^]*0 ms/);
    expect(await calls.getByRole('listitem').count()).toBe(1);
    await calls.getByRole('link').click();
    await page.waitForURL((url) => url.search === `?request_log_id=${ids['log']}&open=${ids['first']}`);
    await page.getByRole('dialog', { name: 'MCP call' }).getByRole('link', { name: 'Its request' }).click();
    await page.waitForURL((url) => url.pathname.endsWith(`/request-logs/${ids['log']}`));
    await scene.ask('/v1/chat/completions', hello, { 'x-request-id': 'r-none' });
    await scene.open(`/observability/request-logs/${await scene.logIdOf('r-none')}`);
    await calls.getByText('None is known.').waitFor();
  });

  it('show a message if one does not exist, and an error with a retry button', async () => {
    const page = await scene.open(`${root}?open=00000000-0000-7000-8000-000000000000`);
    await page.getByText('This call does not exist, or has been deleted').waitFor();
    const route = '**/api/v1/admin/observability/mcp-invocations?*';
    await page.route(route, (call) =>
      call.fulfill({ status: 500, json: { error: { message: 'It broke', code: 'internal_error' } } }),
    );
    await scene.open(root);
    await page.getByText('It broke').waitFor();
    await page.unroute(route);
    await page.getByRole('button', { name: 'Try again' }).click();
    await count(page, 2);
  });

  it.each(['light', 'dark'])(
    'have no axe-core violations in the list and the drawer, in the %s theme',
    async (theme) => {
      const page = await scene.open(root);
      await page.evaluate(`localStorage.setItem('gateway.theme', '${theme}')`);
      await page.reload();
      await count(page, 2);
      await page.getByText('More filters').click();
      expect(await axeViolations(page)).toEqual([]);
      await scene.open(`${root}?open=${ids['first']}`);
      await page.getByRole('region', { name: 'Result' }).waitFor();
      expect(await axeViolations(page)).toEqual([]);
      await page.evaluate(`localStorage.removeItem('gateway.theme')`);
    },
  );
});

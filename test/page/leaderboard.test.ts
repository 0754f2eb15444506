import { beforeAll, describe, expect, it } from '@jest/globals';
import { fill, grow } from '../../bench/data-rows.ts';
import { pageScene } from './page-scene.ts';
import { axeInBothThemes, csvOf, filtersOf, searchOf, sidewaysAt360, whileFailing } from './report-pages.ts';

const scene = pageScene();

interface Board {
  readonly window_start: string;
  readonly window_end: string;
  readonly chart_users: readonly { user_name: string }[];
  readonly series: readonly { bucket_start: string; values: readonly { spend_usd: string }[] }[];
  readonly leaders: readonly {
    user_id: string;
    user_name: string;
    spend_usd: string;
    total_requests: number;
    tool_cardinality_averages: Readonly<Record<string, number | null>>;
  }[];
}
interface Usage {
  readonly window_start: string;
  readonly window_end: string;
  readonly chart_harnesses: readonly { agent_harness_label: string }[];
  readonly series: readonly { bucket_start: string; values: readonly { request_count: number }[] }[];
  readonly leaders: readonly {
    agent_harness_key: string;
    agent_harness_label: string;
    request_count: number;
  }[];
}
const root = '/api/v1/admin/observability';
const board = async (range: string) =>
  (await scene.admin('GET', `${root}/leaderboard?range=${range}`)).data as Board;
const usage = async (range: string) =>
  (await scene.admin('GET', `${root}/harness-usage?range=${range}`)).data as Usage;

describe('an empty gateway', () => {
  it('shows that no user sent a request, and that no request was logged for harnesses', async () => {
    const page = await scene.open('/observability/leaderboard');
    await page.getByText('Nobody sent a request in this period').waitFor();
    await scene.open('/observability/harnesses');
    await page.getByText('No request was logged in this period').waitFor();
  });
});

describe('a gateway with requests', () => {
  beforeAll(async () => {
    await fill(scene.databaseUrl());
    await grow(scene.databaseUrl(), 1500);
  });

  it.each(['leaderboard', 'harnesses'])('shows an error for an unknown range on %s', async (name) => {
    const page = await scene.open(`/observability/${name}?range=90d`);
    await page.getByText('`range` must be one of 7d, 31d.').waitFor();
  });

  it('ranks the first thirty users with exact spend, and links a user to the requests', async () => {
    const page = await scene.open('/observability/leaderboard');
    const { leaders, window_start: from, window_end: to } = await board('7d');
    const lines = await csvOf(page, 'Leaderboard');
    expect(lines.slice(1).map((line) => line.split(',').slice(0, 4))).toEqual(
      leaders.map((leader, index) => [
        String(index + 1),
        leader.user_name,
        leader.spend_usd,
        String(leader.total_requests),
      ]),
    );
    expect(leaders.length).toBe(30);
    const first = page.getByRole('region', { name: 'Leaderboard', exact: true }).getByRole('row').nth(1);
    const links = first.getByRole('link');
    expect(filtersOf(await links.nth(1).getAttribute('href'))).toEqual({
      user_id: leaders[0]?.user_id,
      from,
      to,
      in_ledger: 'true',
    });
  });

  it('shows unknown averages as `n/a` and zero as `0`', async () => {
    await scene.query(`update tool_cardinality_rollups set exposed_tool_sum = 0`);
    const page = await scene.open('/observability/leaderboard');
    await page.getByRole('region', { name: 'Leaderboard', exact: true }).waitFor();
    const lines = (await csvOf(page, 'Leaderboard')).slice(1);
    const averages = (await board('7d')).leaders.map((leader) => leader.tool_cardinality_averages);
    // Averages are unknown for users whose requests are not logged.
    const logged = averages.findIndex((each) => each['invoked_tool_count'] !== null);
    expect(averages[logged]).toMatchObject({ exposed_tool_count: 0, filtered_tool_count: null });
    expect(lines[logged]?.split(',').slice(5)).toEqual([
      '0',
      String(averages[logged]?.['invoked_tool_count']),
      'n/a',
      'n/a',
    ]);
  });

  it('shows the spend of the first five in buckets of 12 hours, exact for each selected by arrow keys, and as a table', async () => {
    const page = await scene.open('/observability/leaderboard');
    const { series, chart_users: users } = await board('7d');
    await page.locator('.recharts-bar-rectangle').first().waitFor();
    await page.locator('.chart svg[tabindex="0"]').focus();
    const starts = series.map(({ bucket_start: start }) => Date.parse(start));
    expect(starts).toEqual(series.map((_, index) => starts[0]! + index * 12 * 3_600_000));
    expect([series.length, users.length]).toEqual([14, 5]);
    const told = page.locator('.chart-told');
    for (const [at, { bucket_start: start, values }] of series.entries()) {
      if (at > 0) await page.keyboard.press('ArrowRight');
      await told.getByText(start.slice(5, 16).replace('T', ' ')).waitFor();
      expect(await told.locator('dd').allTextContents()).toEqual(values.map(({ spend_usd: usd }) => usd));
    }
    await page.getByText('Show as a table').click();
    expect(filtersOf(await page.locator('.same tbody a').first().getAttribute('href'))).toEqual({
      from: series[0]?.bucket_start,
      to: series[1]?.bucket_start,
      owner_kind: 'user',
      in_ledger: 'true',
    });
    expect(await csvOf(page, 'Spend of the first five, as a table')).toEqual([
      `From (UTC),${users.map(({ user_name: name }) => name).join(',')}`,
      ...series.map(({ bucket_start: start, values }) =>
        [start, ...values.map(({ spend_usd: usd }) => usd)].join(','),
      ),
    ]);
  });

  it('has the range in the address', async () => {
    const page = await scene.open('/observability/leaderboard');
    await page.getByLabel('Range').focus();
    await page.keyboard.press('ArrowDown');
    await page.waitForURL('**range=31d');
    expect(searchOf(page)).toEqual({ range: '31d' });
    await page.getByText('Show as a table').click();
    await page
      .getByText((await board('31d')).window_start.slice(0, 10))
      .first()
      .waitFor();
    await page.locator('.same tbody tr').nth(61).waitFor();
  });

  it('counts the requests of each harness, with links to them, and shows them per bucket as a table', async () => {
    const page = await scene.open('/observability/harnesses?range=31d');
    const {
      leaders,
      series,
      chart_harnesses: programs,
      window_start: from,
      window_end: to,
    } = await usage('31d');
    expect((await csvOf(page, 'Harness usage')).slice(1)).toEqual(
      leaders.map((each, index) =>
        [index + 1, each.agent_harness_label, each.agent_harness_key, each.request_count].join(','),
      ),
    );
    const first = page.getByRole('region', { name: 'Harness usage', exact: true }).getByRole('row').nth(1);
    expect(filtersOf(await first.getByRole('link').getAttribute('href'))).toEqual({
      agent_harness_key: leaders[0]?.agent_harness_key,
      from,
      to,
    });
    await page.getByText('Show as a table').click();
    expect(await csvOf(page, 'Requests of the first five, as a table')).toEqual([
      `From (UTC),${programs.map(({ agent_harness_label: label }) => label).join(',')}`,
      ...series.map(({ bucket_start: start, values }) =>
        [start, ...values.map(({ request_count: count }) => count)].join(','),
      ),
    ]);
  });

  it('shows an error with its request id, and loads after `Try again`', async () => {
    const page = scene.page();
    for (const [path, call, region] of [
      ['/observability/leaderboard?range=31d', '**/leaderboard?range=31d', 'Leaderboard'],
      ['/observability/harnesses', '**/harness-usage*', 'Harness usage'],
    ] as const) {
      await whileFailing(page, `**/api/v1/admin/observability/${call.slice(3)}`, async () => {
        await scene.open(path);
        await page.getByText('Request id request-of-the-fault').waitFor();
      });
      await page.getByRole('button', { name: 'Try again' }).click();
      await page.getByRole('region', { name: region, exact: true }).waitFor();
    }
  });

  it('has no axe-core violations, and does not scroll sideways at 360 px', async () => {
    for (const path of ['/observability/leaderboard', '/observability/harnesses']) {
      const page = await scene.open(path);
      await page.locator('.recharts-bar-rectangle').first().waitFor();
      expect(await axeInBothThemes(page)).toEqual([]);
      expect(await sidewaysAt360(page)).toBe(0);
    }
  });
});

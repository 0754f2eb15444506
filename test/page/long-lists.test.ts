import { readFile } from 'node:fs/promises';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { pageScene } from './page-scene.ts';
import { csvOf } from './report-pages.ts';

const scene = pageScene();
const root = '/api/v1/admin';
/** More than a page of budgets has (the longest pages), and more than a table of a report shows at first. */
const teams = 101;

beforeAll(async () => {
  await scene.query(
    `insert into teams (team_id, name) select 'many-' || n, 'Many ' || n from generate_series(1, $1::int) n`,
    [teams],
  );
  for (let n = 1; n <= teams; n += 1)
    await scene.admin('PUT', `${root}/spend/budgets/teams/many-${n}`, {
      cadence: 'monthly',
      amount_10000: n,
      hard_limit: false,
    });
});

describe('the CSV of a long table', () => {
  it('of a report has every row, also those not displayed yet', async () => {
    const page = await scene.open('/spend');
    await page.getByRole('button', { name: `First 100 of ${teams}: show all` }).waitFor();
    expect(await csvOf(page, 'Spend against budgets')).toHaveLength(1 + teams);
  });

  it('of budgets has the owners of every page', async () => {
    const page = await scene.open('/budgets?kind=team&state=set');
    await page.getByText(`1–100 of ${teams}`).waitFor();
    expect(await csvOf(page, 'Budgets')).toHaveLength(1 + teams);
  });

  it('of a list with pages is labelled as one page, has its number in the file name, and says that it is UTF-8', async () => {
    const page = await scene.open('/teams?name=many&page=3');
    const button = page.getByRole('button', { name: 'CSV of this page' });
    const [download] = await Promise.all([page.waitForEvent('download'), button.click()]);
    expect(download.suggestedFilename()).toBe('Teams, page 3.csv');
    expect(await readFile(await download.path(), 'utf8')).toMatch(/^\uFEFF./);
    await scene.open('/teams?name=many%201');
    await page.getByRole('button', { name: 'CSV', exact: true }).waitFor();
  });
});

describe('pages of a list of unknown length', () => {
  it('beyond the end link back to the last one, on which `Next` is disabled', async () => {
    await scene.query(
      `insert into request_logs (request_log_id, ownership_scope_key, request_id, team_id, status_code, latency_ms,
         metadata_json, occurred_at)
       select uuidv7(), 'team:many-1:actor:none', 'r-' || n, 'many-1', 200, 1, '{}', gateway_now()
       from generate_series(1, 10110) n`,
    );
    const page = await scene.open('/observability/request-logs?page=9999999');
    await page.getByText('This page is past the end of the list').waitFor();
    await page.getByRole('button', { name: 'Previous' }).click();
    await page.getByText('10,101–10,110 of more than 10,000').waitFor();
    expect(await page.getByRole('button', { name: 'Next' }).isDisabled()).toBe(true);
  });
});

describe('the models of a key', () => {
  it('are listed up to 200, and others are found by a part of the id', async () => {
    await scene.query(
      `insert into models (model_key, enabled) select 'bulk/model-' || n, true from generate_series(1001, 3100) n`,
    );
    const page = await scene.open('/keys');
    await page.getByRole('button', { name: 'New key' }).click();
    await page.getByLabel('Only these').check();
    await page.getByText('The first 200 of more than 2,000: type a part of the id.').waitFor();
    expect(await page.locator('.pick-item').count()).toBe(200);
    await page.getByLabel('Find a model').fill('model-3099');
    await page.getByLabel('bulk/model-3099').check();
    await page.getByText('1 chosen').waitFor();
    await page.getByLabel('Find a model').fill('no such model');
    await page.getByText('No model id contains this.').waitFor();
  });

  it('are shown in part, and all of them on demand', async () => {
    const ids = Array.from({ length: 60 }, (_, n) => `few/model-${n + 10}`);
    await scene.query('insert into models (model_key, enabled) select unnest($1::text[]), true', [ids]);
    await scene.admin('POST', `${root}/api-keys`, {
      name: 'many models',
      owner_kind: 'team',
      owner_id: 'platform',
      allowed_models: ids,
    });
    const page = await scene.open('/keys?name=many%20models');
    const cell = page.getByText('60 models');
    expect(await cell.getAttribute('title')).toBe(`${ids.slice(0, 20).join(', ')} and 40 more`);
    await cell.click();
    const links = page.getByRole('dialog').getByRole('link', { name: 'few/model-' });
    await links.nth(49).waitFor();
    expect(await links.count()).toBe(50);
    await page.getByRole('button', { name: 'Show all 60' }).click();
    await links.nth(59).waitFor();
  });
});

describe('pages of budgets', () => {
  it('show the first page if `page` in the address is not an integer', async () => {
    const page = await scene.open('/budgets?kind=team&state=set&page=1.5');
    await page.getByText(`1–100 of ${teams}`).waitFor();
  });

  it('beyond the end are reported as past the end, and link back to the last one', async () => {
    const page = await scene.open('/budgets?kind=team&state=set&page=40');
    await page.getByText('This page is past the end of the list').waitFor();
    await page.getByRole('button', { name: 'Previous' }).click();
    await page.getByText(`101–${teams} of ${teams}`).waitFor();
  });
});

// npm run screenshots [-- OUT [PAGE …]]: each page with drawers and dialogs, in both themes and three widths.
import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import type { Page } from 'playwright-core';
import { launchBrowser, preparePage } from '../support/browser.ts';
import { playScenes, startMcpServers } from './screenshot-scenes.ts';
import { logInAt, startStage } from './stage.ts';

const [out = 'screenshots', ...only] = process.argv.slice(2);
const ledgerRows = 30_000;

const sizes = [
  { width: 360, height: 800 },
  { width: 1280, height: 900 },
  { width: 2560, height: 1440 },
] as const;
const themes = ['light', 'dark'] as const;

/** File names, and addresses below `/admin`. */
const pages: readonly (readonly [name: string, address: string])[] = [
  ['overview', ''],
  ['requests', '/observability/request-logs'],
  ['spend', '/spend'],
  ['leaderboard', '/observability/leaderboard'],
  ['harnesses', '/observability/harnesses'],
  ['mcp', '/observability/mcp-invocations'],
  ['alerts', '/alerts'],
  ['audit', '/audit'],
  ['keys', '/keys'],
  ['people', '/people'],
  ['teams', '/teams'],
  ['service-accounts', '/service-accounts'],
  ['budgets', '/budgets'],
  ['rate-limits', '/rate-limits'],
  ['models', '/models'],
  ['providers', '/models?view=providers'],
  ['mcp-servers', '/mcp-servers'],
  ['account', '/account'],
];

const wanted = pages.filter(([name]) => only.length === 0 || only.includes(name));
const say = (line: string): void => void process.stdout.write(`${line}\n`);

const topDialog = 'dialog[open]';

/** Takes one state in every theme and width, and reports a page that scrolls sideways. */
async function shoot(page: Page, name: string): Promise<void> {
  for (const size of sizes) {
    await page.setViewportSize(size);
    // A menu that is open on a wide page is closed on a narrow one, as it is on a first visit by phone.
    await page.evaluate(
      "document.querySelectorAll('.rail-menu').forEach((menu) => { menu.open = innerWidth > 900; })",
    );
    const isWhole = (await page.locator(topDialog).count()) === 0;
    // Charts adapt to a new size a frame or two later.
    await page.waitForTimeout(150);
    const over = await page.evaluate(
      'document.documentElement.scrollWidth - document.documentElement.clientWidth',
    );
    if (typeof over === 'number' && over > 0) say(`${name} scrolls sideways by ${over} px at ${size.width}`);
    for (const theme of themes) {
      await page.evaluate(`document.documentElement.dataset.theme = '${theme}'`);
      const file = path.join(out, `${name}-${size.width}-${theme}.png`);
      await page.screenshot({ path: file, fullPage: isWhole, animations: 'disabled' });
    }
  }
  await page.setViewportSize(sizes[1]);
}

/** Waits until the page has loaded its data, or until a time limit. */
async function settled(page: Page): Promise<void> {
  await page.getByRole('heading', { level: 1 }).waitFor();
  await page.waitForLoadState('networkidle', { timeout: 3000 }).catch(() => undefined);
  await page.waitForTimeout(200);
}

/** Takes the dialog of each button whose text suggests that it opens one. */
async function shootDialogs(page: Page, within: string, name: string): Promise<void> {
  const depth = await page.locator(topDialog).count();
  const buttons = page
    .locator(`${within} button:enabled`)
    .filter({ hasText: /…$|^(New|Set|Try|Change|End) / });
  for (let index = 0; index < (await buttons.count()); index += 1) {
    const button = buttons.nth(index);
    const says = ((await button.textContent()) ?? '').trim();
    await button.click();
    await page.waitForTimeout(150);
    if ((await page.locator(topDialog).count()) <= depth) continue;
    await shoot(page, `${name}-${says.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-')}`);
    await page.keyboard.press('Escape');
    await page.waitForTimeout(100);
  }
}

async function shootPage(page: Page, url: string, name: string, address: string): Promise<void> {
  await page.goto(`${url}/admin${address}`);
  await settled(page);
  await shoot(page, name);
  await shootDialogs(page, 'main', name);
  const rows = page.locator('main tr.opens');
  if ((await rows.count()) === 0) return;
  await rows.first().focus();
  await page.keyboard.press('Enter');
  await settled(page);
  await shoot(page, `${name}-open`);
  if ((await page.locator(topDialog).count()) > 0) await shootDialogs(page, topDialog, `${name}-open`);
}

async function shootEachPage(page: Page, url: string, before = ''): Promise<void> {
  for (const [name, address] of wanted) {
    try {
      await shootPage(page, url, before + name, address);
      say(`${before}${name}`);
    } catch (error) {
      process.exitCode = 1;
      say(`${before}${name} FAILED: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
}

const refusal = {
  status: 503,
  headers: { 'x-request-id': '0198f3c1-7d0a-7bbb-8000-000000000001' },
  contentType: 'application/json',
  body: JSON.stringify({
    error: {
      message: 'The database does not answer. Nothing was changed.',
      type: 'internal_error',
      param: null,
      code: 'store_unavailable',
    },
  }),
};

await mkdir(out, { recursive: true });
await preparePage();
const mcpServers = await startMcpServers();
const stage = await startStage(ledgerRows, 'redacted_payloads', mcpServers.configured);
const browser = await launchBrowser();
try {
  await playScenes(stage);
  const context = await browser.newContext({ reducedMotion: 'reduce' });
  const page = await context.newPage();
  await page.goto(`${stage.url}/admin`);
  await page.getByLabel('Password').waitFor();
  await shoot(page, 'login');
  await logInAt(page, stage.url);
  await shootEachPage(page, stage.url);
  if (wanted.some(([name]) => name === 'mcp-servers')) {
    await page.goto(`${stage.url}/admin/mcp-servers?open=tickets`);
    await page.getByRole('dialog').getByText('upstream unreachable').waitFor();
    await shoot(page, 'mcp-servers-unreachable');
  }

  await page.goto(`${stage.url}/admin`);
  await settled(page);
  await page.keyboard.press('/');
  await page.getByRole('combobox').fill('ada');
  await page.getByRole('listbox').getByRole('option').first().waitFor();
  await shoot(page, 'search');
  await page.keyboard.press('Escape');

  if (only.length === 0) {
    await page.keyboard.press('?');
    await shoot(page, 'help');
    await page.route('**/api/v1/admin/**', (route) => route.fulfill(refusal));
    for (const [name, address] of wanted) {
      await page.goto(`${stage.url}/admin${address}`);
      // The page retries twice before it shows the error.
      await page
        .getByRole('alert')
        .first()
        .waitFor({ timeout: 10_000 })
        .catch(() => undefined);
      await shoot(page, `error-${name}`);
    }
    say('errors');
    const other = await (await browser.newContext({ reducedMotion: 'reduce' })).newPage();
    const empty = await stage.emptyGateway();
    await logInAt(other, empty);
    await shootEachPage(other, empty, 'empty-');
  }
} finally {
  await browser.close();
  await stage.stop();
  await mcpServers.stop();
}

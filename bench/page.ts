// npm run bench:page [-- --rows N --seconds S --rounds R]: the size of the admin page, how soon it responds, and what
// it costs concurrent callers of models.
import { stat } from 'node:fs/promises';
import { loadavg } from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { Pool } from 'undici';
import { becomesTrue, launchBrowser, preparePage } from '../test/support/browser.ts';
import { logInAt, startStage, type Stage } from '../test/page/stage.ts';
import { numbersOf } from '../test/support/given-number.ts';
import { median, percentile, post } from './load.ts';

const { values } = parseArgs({
  options: {
    rows: { type: 'string', default: '5000000' },
    seconds: { type: 'string', default: '20' },
    rounds: { type: 'string', default: '3' },
  },
});
const { rows, seconds, rounds } = numbersOf(values, 'rows', 'seconds', 'rounds');

const maxScriptBytes = 150 * 1024;
const maxInteractiveMs = 1000;
const loads = 7;
const callers = 16;
/** For somebody who looks at each page for a moment. */
const clickEveryMs = 1000;

const dist = path.join(import.meta.dirname, '..', 'interfaces', 'admin-page', 'dist');
const out = (line: string): void => void process.stdout.write(`${line}\n`);

/** The scripts of a loaded page by name, with their gzip sizes in bytes. */
async function scriptsOf(page: Page): Promise<readonly (readonly [name: string, bytes: number])[]> {
  const urls: unknown = await page.evaluate(
    "performance.getEntriesByType('resource').map(({ name }) => name).filter((name) => name.endsWith('.js'))",
  );
  const names = Array.isArray(urls) ? [...new Set(urls.map((url) => path.basename(String(url))))] : [];
  return Promise.all(
    names.map(async (name) => [name, (await stat(path.join(dist, 'assets', `${name}.gz`))).size] as const),
  );
}

interface Load {
  /** Milliseconds from the navigation until the page is rendered and responds to keys. */
  readonly interactiveMs: number;
  /** The same until its data is there too. */
  readonly wholeMs: number;
  readonly scripts: Awaited<ReturnType<typeof scriptsOf>>;
}

const sinceNavigation = async (page: Page): Promise<number> =>
  Number(await page.evaluate('performance.now()'));

/** One load with an empty browser cache and a session. */
async function load(
  browser: Browser,
  url: string,
  session: Awaited<ReturnType<BrowserContext['storageState']>>,
) {
  const context = await browser.newContext({ storageState: session, reducedMotion: 'reduce' });
  const page = await context.newPage();
  await page.goto(`${url}/admin`, { waitUntil: 'commit' });
  await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
  await page.keyboard.press('/');
  await page.getByRole('combobox').waitFor();
  const interactiveMs = await sinceNavigation(page);
  const scripts = await scriptsOf(page);
  await page.keyboard.press('Escape');
  await becomesTrue(page, "document.querySelectorAll('main .waiting').length === 0");
  const wholeMs = await sinceNavigation(page);
  await context.close();
  const loaded: Load = { interactiveMs, wholeMs, scripts };
  return loaded;
}

async function measureLoads(browser: Browser, stage: Stage, page: Page): Promise<void> {
  const session = await page.context().storageState();
  await load(browser, stage.url, session);
  const measured: Load[] = [];
  for (let count = 0; count < loads; count += 1) measured.push(await load(browser, stage.url, session));
  const scripts = measured[0]?.scripts ?? [];
  const bytes = scripts.reduce((sum, [, size]) => sum + size, 0);
  for (const [name, size] of scripts) out(`  ${name}: ${size} bytes`);
  const interactive = measured.map(({ interactiveMs }) => interactiveMs);
  const whole = measured.map(({ wholeMs }) => wholeMs);
  out(`first load: ${bytes} bytes of gzipped script in ${scripts.length} files (limit ${maxScriptBytes})`);
  out(
    `interactive after ${median(interactive).toFixed(0)} ms (worst of ${loads}: ${Math.max(...interactive).toFixed(0)} ms, ` +
      `limit ${maxInteractiveMs}), with its data after ${median(whole).toFixed(0)} ms`,
  );
  if (bytes >= maxScriptBytes || median(interactive) >= maxInteractiveMs) process.exitCode = 1;
}

interface Rate {
  readonly perSecond: number;
  readonly p50: number;
  readonly p99: number;
}

const body = JSON.stringify({ model: 'fast', messages: [{ role: 'user', content: 'Hello there' }] });

/** Callers of a model for this many seconds, each of which sends its next request when it has its answer. */
async function callModels(stage: Stage): Promise<Rate> {
  const pool = new Pool(stage.url, { connections: callers });
  const target = { url: stage.url, headers: { authorization: `Bearer ${stage.keys.person}` } };
  const times: number[] = [];
  const until = performance.now() + seconds * 1000;
  const caller = async (): Promise<void> => {
    while (performance.now() < until) {
      const { status, firstByteMs } = await post(pool, target, body);
      if (status !== 200) throw new Error(`status ${status}`);
      times.push(firstByteMs);
    }
  };
  await Promise.all(Array.from({ length: callers }, caller));
  await pool.close();
  return { perSecond: times.length / seconds, p50: percentile(times, 0.5), p99: percentile(times, 0.99) };
}

/** Clicks through the rail. The returned function stops it and returns how many pages were opened. */
function clickAround(page: Page): () => Promise<number> {
  const over = new AbortController();
  const clicking = (async () => {
    const links = page.getByRole('navigation', { name: 'Pages' }).getByRole('link');
    let opened = 0;
    while (!over.signal.aborted) {
      await links.nth(opened % (await links.count())).click();
      opened += 1;
      await page.waitForTimeout(clickEveryMs);
    }
    return opened;
  })();
  return () => {
    over.abort();
    return clicking;
  };
}

/**
 * A browser on the same machine takes CPU from the gateway whatever it requests. So there are three kinds of rounds:
 * nobody at the page, somebody whose answers are replayed in the browser, and somebody who sends requests to the
 * gateway. The cost of the page is the difference between the last two.
 */
async function measureCalls(stage: Stage, page: Page): Promise<void> {
  const recorded = new Map<string, Awaited<ReturnType<typeof page.request.get>>>();
  const playRecord = () =>
    page.route('**/api/**', async (route) => {
      const url = route
        .request()
        .url()
        .replaceAll(/\d{4}-\d\d-\d\dT[^&]*/g, '');
      const response = recorded.get(url) ?? (await route.fetch());
      recorded.set(url, response);
      await route.fulfill({ response });
    });
  const withClicks = async () => {
    const stop = clickAround(page);
    const rate = await callModels(stage);
    await stop();
    return rate;
  };
  await playRecord();
  await withClicks();
  await page.unroute('**/api/**');
  const kinds = {
    'nobody at the page': () => callModels(stage),
    'somebody, answered by the browser itself': async () => {
      await playRecord();
      const rate = await withClicks();
      await page.unroute('**/api/**');
      return rate;
    },
    'somebody who clicks through the pages': withClicks,
  };
  const rates = new Map<string, Rate[]>(Object.keys(kinds).map((name) => [name, []]));
  for (let round = 0; round < rounds; round += 1)
    for (const [name, measure] of Object.entries(kinds)) rates.get(name)?.push(await measure());
  for (const [name, found] of rates) {
    const [perSecond, p50, p99] = (['perSecond', 'p50', 'p99'] as const).map((each) =>
      median(found.map((rate) => rate[each])),
    );
    out(
      `model calls, ${name}: ${perSecond?.toFixed(0)} a second, p50 ${p50?.toFixed(2)} ms, p99 ${p99?.toFixed(2)} ms`,
    );
  }
}

await preparePage();
const stage = await startStage(rows, 'summary_only');
const browser = await launchBrowser();
try {
  const page = await (await browser.newContext({ reducedMotion: 'reduce' })).newPage();
  await logInAt(page, stage.url);
  out(`${rows} ledger rows`);
  await measureLoads(browser, stage, page);
  await measureCalls(stage, page);
  out(`load average of this minute: ${loadavg()[0]?.toFixed(1)}`);
} finally {
  await browser.close();
  await stage.stop();
}

import { execFile } from 'node:child_process';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import chromiumPackage from '@sparticuz/chromium';
import { type Browser, chromium, type Page } from 'playwright-core';

const run = promisify(execFile);
const buildScript = path.join(import.meta.dirname, '..', '..', 'interfaces', 'admin-page', 'build.ts');

// The page is drawn by the processor in any case: without the graphics stack only once, and not for an
// emulated device, too.
chromiumPackage.setGraphicsMode = false;

/** A headless Chromium from an npm package: nothing has to be installed on the machine. */
export async function launchBrowser(): Promise<Browser> {
  return chromium.launch({
    executablePath: await chromiumPackage.executablePath(),
    args: chromiumPackage.args.filter((arg) => arg !== '--single-process' && arg !== '--no-zygote'),
    headless: true,
  });
}

/** What the suites of the page share, made once per run: the built page and the unpacked browser. */
export async function preparePage(): Promise<void> {
  // A process of its own, as for users: in a test process the bundler uses the development build of React.
  await run(process.execPath, [buildScript], { env: { PATH: process.env['PATH'] } });
  await chromiumPackage.executablePath();
}

/**
 * Waits until an expression is true on a page; false: it was not within 20 seconds. The browser's own way of waiting evaluates text
 * within the page, which the policy of the page forbids.
 */
export async function becomesTrue(page: Page, expression: string): Promise<boolean> {
  const deadline = performance.now() + 20_000;
  while (performance.now() < deadline) {
    if (await page.evaluate<boolean>(expression)) return true;
    await sleep(20);
  }
  return false;
}

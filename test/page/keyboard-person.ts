import { expect } from '@jest/globals';
import type { Locator, Page } from 'playwright-core';
import { axeViolations } from './page-scene.ts';

/** More tab stops than any page has. */
const mostStops = 150;

const hasRing = `(() => {
  const { outlineStyle, outlineWidth } = getComputedStyle(document.activeElement);
  return document.activeElement.matches(':focus-visible') && outlineStyle !== 'none' && parseFloat(outlineWidth) > 0;
})()`;

/** A user who has only a keyboard. */
export function keyboardPerson(page: Page) {
  const inDialog = page.getByRole('dialog').last();
  const button = (name: string): Locator => page.getByRole('button', { name, exact: true });
  const isFocused = async (target: Locator): Promise<boolean> =>
    (await target.and(page.locator(':focus')).count()) > 0;

  /** Presses the tab key until the target has the focus, and expects a visible focus ring. */
  async function tabTo(target: Locator): Promise<void> {
    await target.first().waitFor();
    for (let stops = 0; stops < mostStops; stops += 1) {
      if (await isFocused(target)) {
        expect([String(target), await page.evaluate(hasRing)]).toEqual([String(target), true]);
        return;
      }
      await page.keyboard.press('Tab');
    }
    throw new Error(`the tab key does not reach ${String(target)}`);
  }

  async function pressOn(target: Locator, key = 'Enter'): Promise<void> {
    await tabTo(target);
    await page.keyboard.press(key);
  }

  return {
    tabTo,
    pressOn,
    press: (name: string, key?: string) => pressOn(button(name), key),
    key: (name: string) => page.keyboard.press(name),
    /** Opens a dialog, closes it by Esc, which returns the focus, and opens it again. */
    opens: async (name: string, title: string | RegExp): Promise<void> => {
      const dialog = page.getByRole('dialog', { name: title });
      await pressOn(button(name));
      await dialog.waitFor();
      expect(await axeViolations(page)).toEqual([]);
      await page.keyboard.press('Escape');
      await dialog.waitFor({ state: 'detached' });
      expect([name, await isFocused(button(name)), await page.evaluate(hasRing)]).toEqual([name, true, true]);
      await page.keyboard.press('Space');
      await dialog.waitFor();
    },
    /** Types into a field of the open dialog, or else of the page. */
    types: async (label: string, text: string): Promise<void> => {
      const within = (await inDialog.count()) > 0 ? inDialog : page.getByRole('main');
      await tabTo(within.getByLabel(label, { exact: true }));
      await page.keyboard.press('ControlOrMeta+a');
      await page.keyboard.type(text);
    },
    /** Searches by a part of a name, and chooses the match. */
    finds: async (text: string, name: RegExp): Promise<void> => {
      await tabTo(inDialog.locator('input[type=search], [role=combobox]'));
      await page.keyboard.type(text);
      const option = inDialog.getByRole('option', { name });
      await option.or(inDialog.getByRole('button', { name })).first().waitFor();
      if ((await option.count()) > 0) await page.keyboard.press('Enter');
      else await pressOn(inDialog.getByRole('button', { name }));
    },
    sees: (text: string | RegExp) => page.getByText(text).first().waitFor(),
  };
}

export type KeyboardPerson = ReturnType<typeof keyboardPerson>;

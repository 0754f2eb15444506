import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { alertMail, type BudgetAlert, remaining } from '../../../domain/budget/alert-mail.ts';

const alert: BudgetAlert = {
  ownerKind: 'user',
  ownerName: 'Ada',
  cadence: 'weekly',
  window: { from: new Date('2027-03-01T00:00:00Z'), until: new Date('2027-03-08T00:00:00Z') },
  amount: 10_000_000_000_000n,
  spent: 8_000_000_000_001n,
  hardLimit: true,
};

/** Any string that a name may contain, including line ends, header injections and markup. */
const anyName = fc
  .array(
    fc.oneof(
      fc.string({ unit: 'binary', maxLength: 8 }),
      fc.constantFrom('\r\n', '\n', '\r', '\0', '\u0085', '\u2028', '\t', '.', '&', '<', '>', '"', "'", 'é'),
      fc.constantFrom('\r\nBcc: x@example.com', '\r\n.\r\n', '<script>', '</td>', '&lt;', '=?utf-8?q?x?='),
    ),
    { maxLength: 12 },
  )
  .map((pieces) => pieces.join(''));

describe('the mail of a budget alert', () => {
  it('states owner, window, amount, limit kind, spent, remaining and admin page URL, as text and as HTML', () => {
    const { subject, text, html } = alertMail(alert, 'https://gateway.example.com/budgets');
    expect(subject).toBe('Budget alert: user Ada has 1.999999999999 of 10 USD left');
    expect(text).toBe(
      [
        'The hard weekly budget of user Ada has 20 % or less remaining.',
        '',
        'Owner: user Ada',
        'Window: 2027-03-01T00:00:00.000Z to 2027-03-08T00:00:00.000Z (weekly, UTC)',
        'Amount: 10 USD',
        'Limit: hard (when nothing remains requests are refused; an answer that costs more than remains is blocked)',
        'Spent: 8.000000000001 USD',
        'Remaining: 1.999999999999 USD',
        'Where to look: https://gateway.example.com/budgets',
        '',
      ].join('\n'),
    );
    for (const line of text.split('\n').slice(2, -1)) {
      const colon = line.indexOf(': ');
      expect(html).toContain(
        `<tr><th align="left">${line.slice(0, colon)}</th><td>${line.slice(colon + 2)}</td></tr>`,
      );
    }
  });

  it('omits the admin page URL when none is configured', () => {
    const { text, html } = alertMail(alert, undefined);
    for (const said of [text, html]) expect(said).not.toContain('Where to look');
    expect(text).toMatch(/\nRemaining: 1\.999999999999 USD\n$/);
  });

  it('states for a soft budget that nothing is refused', () => {
    const { text, html } = alertMail({ ...alert, hardLimit: false }, 'there');
    expect(text).toMatch(/^The soft weekly budget of user Ada has 20 % or less remaining\.\n/);
    for (const said of [text, html]) {
      expect(said).toContain('soft (nothing is refused)');
      expect(said).not.toContain('hard');
    }
  });

  it('states a negative remaining amount for an overspent soft budget', () => {
    const overspent = { ...alert, ownerKind: 'team', amount: 0n, spent: 1n } as const;
    expect(remaining(overspent)).toBe(-1n);
    const { subject, text } = alertMail(overspent, '');
    expect(subject).toBe('Budget alert: team Ada has -0.000000000001 of 0 USD left');
    expect(text).toContain('\nRemaining: -0.000000000001 USD\n');
  });

  it('has a subject of one line and the same lines and tags for every owner name', () => {
    const tagsOf = (html: string) => html.match(/<[^>]*>/g);
    const linesOf = (text: string) =>
      text
        .split('\n')
        .slice(1)
        .map((line) => line.split(':')[0]);
    const plain = alertMail(alert, 'there');
    fc.assert(
      fc.property(anyName, (ownerName) => {
        const { subject, text, html } = alertMail({ ...alert, ownerName }, 'there');
        expect(subject).not.toMatch(/[\p{Cc}\u2028\u2029]/u);
        expect(text).not.toMatch(/[^\P{Cc}\n]|[\u2028\u2029]/u);
        expect(linesOf(text)).toEqual(linesOf(plain.text));
        expect(tagsOf(html)).toEqual(tagsOf(plain.html));
        expect(html).not.toMatch(/&(?!amp;|lt;|gt;|quot;|#39;)/);
      }),
    );
  });

  it('keeps the letters of an owner name in any script', () => {
    const ownerName = `Zoë O'Łukasz 李雷 🦊 <R&D> "x"`;
    const { subject, text, html } = alertMail({ ...alert, ownerName: `${ownerName}\t` }, 'there');
    expect(subject).toContain(ownerName);
    expect(text).toContain(`Owner: user ${ownerName}\n`);
    expect(html).toContain('<td>user Zoë O&#39;Łukasz 李雷 🦊 &lt;R&amp;D&gt; &quot;x&quot;</td></tr><tr>');
  });
});

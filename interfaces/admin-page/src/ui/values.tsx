import { type ReactNode, useState } from 'react';
import { grouped, usdText } from './amounts.ts';
import { Icon, type IconName } from './icons.tsx';

/** An exact amount with every stored digit. It stays text throughout. An unknown one is `n/a`. */
export const Money = ({ usd }: { readonly usd: string | null | undefined }) =>
  usd == null ? <NotAvailable /> : <span className="number">{usdText(usd)}</span>;

/** An exact amount with two to four decimals, for charts and headings. Its title has the exact one. */
export function shortUsd(usd: string): string {
  const [whole = '0', fraction = ''] = usd.split('.');
  const digits = whole.replace('-', '').length > 1 ? 2 : 4;
  const shown = fraction.slice(0, digits).padEnd(2, '0');
  const isSmall = /^-?0$/.test(whole) && /^0*$/.test(shown) && /[1-9]/.test(fraction);
  return isSmall ? `< 0.${'0'.repeat(digits - 1)}1` : `${grouped(whole)}.${shown}`;
}

/** A count with thousands separators. `null` was not recorded and is `n/a`; 0 is `0`. */
export const Count = ({ of }: { readonly of: number | string | null | undefined }) =>
  of == null ? <NotAvailable /> : <span className="number">{grouped(of)}</span>;

/** Milliseconds below ten seconds, seconds above. */
export const Duration = ({ ms }: { readonly ms: number | null | undefined }) =>
  ms == null ? <NotAvailable /> : <span className="number">{durationText(ms)}</span>;

export const durationText = (ms: number): string =>
  ms < 10_000 ? `${grouped(Math.round(ms))} ms` : `${grouped((ms / 1000).toFixed(1))} s`;

/** Not known, which differs from 0. */
export const NotAvailable = () => <span className="muted">n/a</span>;
/** Does not apply here. */
export const Dash = () => <span className="muted">–</span>;

/** An instant in UTC, with the local time in its title. */
export function Time({
  at,
  dateOnly = false,
}: {
  readonly at: string | null | undefined;
  readonly dateOnly?: boolean;
}) {
  if (at == null) return <Dash />;
  const local = new Date(at).toLocaleString(undefined, { dateStyle: 'medium', timeStyle: 'medium' });
  return (
    <time dateTime={at} title={`${local} (local time)`} className="number">
      {dateOnly ? at.slice(0, 10) : at.slice(0, 19).replace('T', ' ')}
    </time>
  );
}

/** A state, never shown by colour alone. */
export function Badge({
  tone,
  children,
}: {
  readonly tone: 'good' | 'warn' | 'bad' | 'plain';
  readonly children: ReactNode;
}) {
  const icons: Readonly<Record<string, IconName>> = { good: 'check', warn: 'warning', bad: 'error' };
  const icon = icons[tone];
  return (
    <span className={`badge ${tone}`}>
      {icon === undefined ? null : <Icon name={icon} />}
      {children}
    </span>
  );
}

/** Marks what the configuration file owns: a change on the page holds until the file is applied again. */
export const FromConfig = ({ is }: { readonly is: boolean }) =>
  is ? (
    <span
      className="badge plain"
      title="Set by the configuration file: a change here holds until the file is applied again."
    >
      file
    </span>
  ) : null;

/** Rejects also where there is no clipboard: browsers have none for pages over plain http. */
const written = async (text: string): Promise<void> => navigator.clipboard.writeText(text);

/** A button that copies, and says so. */
export function CopyButton({
  text,
  label = 'Copy',
  onCopied,
}: {
  readonly text: string;
  readonly label?: string | undefined;
  readonly onCopied?: (() => void) | undefined;
}) {
  const [state, setState] = useState<'idle' | 'copied' | 'failed'>('idle');
  const copy = async (): Promise<void> => {
    const done = await written(text).then(
      () => true,
      () => false,
    );
    setState(done ? 'copied' : 'failed');
    if (done) onCopied?.();
    setTimeout(() => setState('idle'), 2000);
  };
  const says = { idle: label, copied: 'Copied', failed: 'Select it and copy by hand' }[state];
  return (
    <button type="button" className="button quiet" onClick={() => void copy()}>
      <Icon name={state === 'copied' ? 'check' : 'copy'} />
      <span aria-live="polite">{says}</span>
    </button>
  );
}

/** An id. A long one is shortened in the middle; its title has all of it. */
export function Id({
  of,
  short = true,
}: {
  readonly of: string | null | undefined;
  readonly short?: boolean;
}) {
  if (of == null) return <Dash />;
  const shown = short && of.length > 20 ? `${of.slice(0, 8)}…${of.slice(-6)}` : of;
  return (
    <code className="id" title={of}>
      {shown}
    </code>
  );
}

/** A text to copy, in a field that selects itself. */
export function Copyable({
  text,
  label,
  block = false,
  onCopied,
}: {
  readonly text: string;
  readonly label: string;
  readonly block?: boolean;
  readonly onCopied?: (() => void) | undefined;
}) {
  return (
    <div className="copyable">
      {block ? (
        <pre aria-label={label} tabIndex={0}>
          {text}
        </pre>
      ) : (
        <input readOnly aria-label={label} value={text} onFocus={({ target }) => target.select()} />
      )}
      <CopyButton text={text} onCopied={onCopied} />
    </div>
  );
}

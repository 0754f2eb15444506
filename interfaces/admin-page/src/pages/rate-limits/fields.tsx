import { TextField } from '../../ui/fields.tsx';
import { type LimitTerms, type Measure, measures, measureTitles } from './limits.ts';

/** The typed text of each measure. */
export type Texts = Readonly<Record<Measure, string>>;

const empty: Texts = { requests_per_minute: '', tokens_per_minute: '', requests_in_flight: '' };

const textOf = (most: number | null): string => (most === null ? '' : String(most));

export const textsOf = (terms?: LimitTerms): Texts =>
  terms === undefined
    ? empty
    : {
        requests_per_minute: textOf(terms.requests_per_minute),
        tokens_per_minute: textOf(terms.tokens_per_minute),
        requests_in_flight: textOf(terms.requests_in_flight),
      };

type Read = { readonly terms: LimitTerms } | { readonly faults: Partial<Readonly<Record<Measure, string>>> };

/** The typed limit, or what is wrong with it. */
export function termsIn(texts: Texts): Read {
  const faults = Object.fromEntries(
    measures.filter((measure) => !isWhole(texts[measure].trim())).map((measure) => [measure, notWhole]),
  );
  if (Object.keys(faults).length > 0) return { faults };
  if (measures.every((measure) => texts[measure].trim() === ''))
    return { faults: { requests_per_minute: 'Set at least one of the three.' } };
  const most = (measure: Measure): number | null =>
    texts[measure].trim() === '' ? null : Number(texts[measure].trim());
  return {
    terms: {
      requests_per_minute: most('requests_per_minute'),
      tokens_per_minute: most('tokens_per_minute'),
      requests_in_flight: most('requests_in_flight'),
    },
  };
}

const notWhole = 'Type a whole number of at least 1, or leave it empty.';
const isWhole = (text: string): boolean => text === '' || /^[1-9]\d{0,14}$/.test(text);

const hints: Readonly<Record<Measure, string>> = {
  requests_per_minute: 'Counted from :00 to :59. Empty: not limited.',
  tokens_per_minute: 'Input and output of requests that end in the minute. Empty: not limited.',
  requests_in_flight: 'Admitted and not yet finished. Empty: not limited.',
};

export const TermFields = ({
  texts,
  onTexts,
  faultOf,
}: {
  readonly texts: Texts;
  readonly onTexts: (texts: Texts) => void;
  readonly faultOf: (measure: Measure) => string | undefined;
}) => (
  <>
    {measures.map((measure) => (
      <TextField
        key={measure}
        label={measureTitles[measure]}
        inputMode="numeric"
        value={texts[measure]}
        onChange={(text) => onTexts({ ...texts, [measure]: text })}
        fault={faultOf(measure)}
        hint={hints[measure]}
      />
    ))}
  </>
);

import { useState } from 'react';
import { Icon } from '../../ui/icons.tsx';
import { markedParts } from './marks.ts';

const shownChars = 3_000;

/** A text with its marks; the rest of a long one is shown on demand. */
export function MarkedText({ text, code = false }: { readonly text: string; readonly code?: boolean }) {
  const [isWhole, setWhole] = useState(false);
  const isLong = text.length > shownChars + 500;
  const shown = isLong && !isWhole ? text.slice(0, shownChars) : text;
  return (
    <>
      <div className={code ? 'said code' : 'said'}>
        {markedParts(shown).map((part, index) =>
          part.kind === 'words' ? (
            part.text
          ) : (
            // Parts of a text that does not change stay in their places.
            <Mark key={index} part={part} />
          ),
        )}
      </div>
      {isLong ? (
        <button type="button" className="button link" onClick={() => setWhole(!isWhole)}>
          {isWhole ? 'Show less' : `Show all ${text.length.toLocaleString('en')} characters`}
        </button>
      ) : null}
    </>
  );
}

export const Mark = ({ part }: { readonly part: { readonly text: string; readonly reason: string } }) => (
  <mark className="left-out" title={part.reason}>
    <Icon name={part.text === '[REDACTED]' ? 'hidden' : 'cut'} />
    {part.text.slice(1, -1)}
  </mark>
);

/** What marks of a payload mean: a title alone cannot be read on every device. */
export function MarksLegend({
  redacted,
  truncated,
}: {
  readonly redacted: number;
  readonly truncated: number;
}) {
  if (redacted + truncated === 0) return null;
  return (
    <ul className="marks-legend muted">
      {redacted === 0 ? null : (
        <li>
          <Icon name="hidden" /> {redacted} hidden: {reasonFor('[REDACTED]')}
        </li>
      )}
      {truncated === 0 ? null : (
        <li>
          <Icon name="cut" /> {truncated} cut off: {reasonFor('[TRUNCATED]')}
        </li>
      )}
    </ul>
  );
}

function reasonFor(mark: string): string {
  const part = markedParts(mark)[0];
  return part === undefined || part.kind === 'words' ? '' : part.reason;
}

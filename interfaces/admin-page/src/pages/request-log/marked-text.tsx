import { useState } from 'react';
import { grouped } from '../../ui/amounts.ts';
import { Icon } from '../../ui/icons.tsx';
import { countMarks, markedParts, reasonOf } from './marks.ts';

const shownChars = 3_000;

/** A text with its marks. The rest of a long one is shown on demand. */
export function MarkedText({ text, code = false }: { readonly text: string; readonly code?: boolean }) {
  const [isWhole, setWhole] = useState(false);
  const isLong = text.length > shownChars + 500;
  const shown = isLong && !isWhole ? text.slice(0, shownChars) : text;
  return (
    <>
      <div className={code ? 'said code' : 'said'}>
        <Marked text={shown} />
      </div>
      {isLong ? (
        <button type="button" className="button link" onClick={() => setWhole(!isWhole)}>
          {isWhole ? 'Show less' : `Show all ${grouped(text.length)} characters`}
        </button>
      ) : null}
    </>
  );
}

/** Highlights redacted and truncated places. */
export const Marked = ({ text }: { readonly text: string }) =>
  markedParts(text).map((part, index) =>
    part.kind === 'words' ? (
      part.text
    ) : (
      // An index is a stable key here, because the text does not change.
      <mark key={index} className="left-out" title={part.reason}>
        <Icon name={part.kind === 'redacted' ? 'hidden' : 'cut'} />
        {part.text.slice(1, -1)}
      </mark>
    ),
  );

/** What the marks mean. Titles alone cannot be read on every device. */
export function MarksLegend({ of: texts }: { readonly of: readonly (string | undefined)[] }) {
  const { redacted, truncated } = countMarks(texts.join('\n'));
  if (redacted + truncated === 0) return null;
  return (
    <ul className="marks-legend muted">
      {redacted === 0 ? null : (
        <li>
          <Icon name="hidden" /> {redacted} × {reasonOf('[REDACTED]')}
        </li>
      )}
      {truncated === 0 ? null : (
        <li>
          <Icon name="cut" /> {truncated} × {reasonOf('[TRUNCATED]')}
        </li>
      )}
    </ul>
  );
}

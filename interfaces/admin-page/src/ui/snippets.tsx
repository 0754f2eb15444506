import { useState } from 'react';
import { Tabs } from './tabs.tsx';
import { Copyable } from './values.tsx';

/** A text to paste into a client. */
export interface Snippet {
  readonly name: string;
  /** Where to paste it. */
  readonly place: string;
  readonly text: string;
}

/** What to paste, with a tab for each client. */
export function Snippets({
  label,
  of: snippets,
  onCopied,
}: {
  readonly label: string;
  readonly of: readonly Snippet[];
  readonly onCopied?: () => void;
}) {
  const [chosen, setChosen] = useState(0);
  return (
    <Tabs
      label={label}
      chosen={chosen}
      onChoose={setChosen}
      tabs={snippets.map(({ name, place, text }) => ({
        name,
        body: (
          <div className="stack tight">
            <p className="muted">{place}</p>
            <Copyable text={text} label={`${name}: what to paste`} block onCopied={onCopied} />
          </div>
        ),
      }))}
    />
  );
}

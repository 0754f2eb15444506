import { Dialog } from '../ui/dialog.tsx';

const keys: readonly (readonly [keys: readonly string[], act: string])[] = [
  [['/', 'Ctrl K'], 'Search'],
  [['↑', '↓', 'Home', 'End'], 'Move through a list that has focus'],
  [['Enter'], 'Open the row'],
  [['Esc'], 'Close the open dialog or panel'],
  [['?'], 'Show these shortcuts'],
];

export const HelpDialog = ({ onClose }: { readonly onClose: () => void }) => (
  <Dialog title="Keyboard shortcuts" onClose={onClose}>
    <dl className="pairs">
      {keys.map(([pressed, act]) => (
        <div key={act}>
          <dt className="keys">
            {pressed.map((key) => (
              <kbd key={key}>{key}</kbd>
            ))}
          </dt>
          <dd>{act}</dd>
        </div>
      ))}
    </dl>
  </Dialog>
);

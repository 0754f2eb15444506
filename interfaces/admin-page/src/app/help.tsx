import { Dialog } from '../ui/dialog.tsx';

const keys: readonly (readonly [keys: readonly string[], act: string])[] = [
  [['/', 'Ctrl K'], 'Search'],
  [['↑', '↓', 'Home', 'End'], 'Walk through a list, once it has the focus'],
  [['Enter'], 'Open the row'],
  [['Esc'], 'Close what is open'],
  [['?'], 'These keys'],
];

export const HelpDialog = ({ onClose }: { readonly onClose: () => void }) => (
  <Dialog title="Keyboard" onClose={onClose}>
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

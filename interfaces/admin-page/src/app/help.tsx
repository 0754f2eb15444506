import { Dialog } from '../ui/dialog.tsx';

const keys: readonly (readonly [keys: string, act: string])[] = [
  ['/ or Ctrl K', 'Search'],
  ['↑ ↓ Home End', 'Walk through a list, once it has the focus'],
  ['Enter', 'Open the row'],
  ['Esc', 'Close what is open'],
  ['?', 'These keys'],
];

export const HelpDialog = ({ onClose }: { readonly onClose: () => void }) => (
  <Dialog title="Keys" open onClose={onClose}>
    <dl className="pairs">
      {keys.map(([key, act]) => (
        <div key={key}>
          <dt>
            <kbd>{key}</kbd>
          </dt>
          <dd>{act}</dd>
        </div>
      ))}
    </dl>
  </Dialog>
);

import { useState } from 'react';
import { SelectField } from '../../ui/fields.tsx';
import { SecretDialog } from '../../ui/secret.tsx';
import { Snippets } from '../../ui/snippets.tsx';
import { useModelIds } from './models-field.tsx';
import { snippetsOf } from './snippets.ts';
import { TryKey } from './try-key.tsx';

/** A key whose secret can be seen only now. */
export interface ShownKey {
  readonly name: string;
  readonly apiKey: string;
  readonly allowedModels: readonly string[];
}

/** The secret of a key, shown only once, with places to paste it and a test request. */
export function SecretShown({
  title,
  shown: { apiKey, allowedModels },
  onClose,
}: {
  readonly title: string;
  readonly shown: ShownKey;
  readonly onClose: () => void;
}) {
  const enabled = useModelIds();
  const [chosen, setChosen] = useState<string>();
  const models = allowedModels.length === 0 ? (enabled.data?.ids ?? []) : allowedModels;
  const model = chosen ?? models[0];
  return (
    <SecretDialog title={title} label="API key" secret={apiKey} onClose={onClose}>
      {(onCopied) => (
        <>
          {model === undefined ? null : (
            <SelectField
              label="Model of the examples"
              value={model}
              onChange={setChosen}
              options={models.map((value) => ({ value, label: value }))}
            />
          )}
          <Snippets
            label="Where to paste it"
            of={snippetsOf({ origin: window.location.origin, key: apiKey, model: model ?? 'your-model' })}
            onCopied={onCopied}
          />
          {model === undefined ? null : <TryKey apiKey={apiKey} model={model} />}
        </>
      )}
    </SecretDialog>
  );
}

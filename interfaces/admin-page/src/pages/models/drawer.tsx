import { useState } from 'react';
import { Drawer } from '../../ui/dialog.tsx';
import { Loaded } from '../../ui/loaded.tsx';
import { Pair } from '../../ui/pair.tsx';
import { Badge, Id, Time } from '../../ui/values.tsx';
import { Errors, Requests } from './last-day.tsx';
import { byPriority, useModel } from './models.ts';
import { RouteDetail } from './route.tsx';
import { TryModel } from './try.tsx';

/** A model with all of its routes. */
export function ModelDrawer({ id, onClose }: { readonly id: string; readonly onClose: () => void }) {
  const query = useModel(id);
  const [tried, setTried] = useState<number | 'any'>();
  const model = query.data;
  return (
    <>
      <Drawer title={`Model ${id}`} onClose={onClose}>
        <Loaded query={query} what="the model">
          {(model) => (
            <>
              <div className="actions">
                <button type="button" className="button primary" onClick={() => setTried('any')}>
                  Try this model
                </button>
              </div>
              <dl className="pairs">
                <Pair name="Id">
                  <Id of={model.model_key} short={false} />
                </Pair>
                <Pair name="State">
                  {model.enabled ? (
                    <Badge tone="good">enabled</Badge>
                  ) : (
                    <Badge tone="plain">disabled: no longer in the file</Badge>
                  )}
                </Pair>
                <Pair name="Known since (UTC)">
                  <Time at={model.created_at} />
                </Pair>
                <Pair name="Logged requests, last 24 hours">
                  <Requests day={model.last_day} search={{ model_key: model.model_key }} />
                </Pair>
                <Pair name="Errors among them">
                  <Errors day={model.last_day} search={{ model_key: model.model_key }} />
                </Pair>
              </dl>
              <h3>
                {model.routes.length === 1
                  ? 'Its route'
                  : `Its ${model.routes.length} routes, in the order requests try them`}
              </h3>
              {byPriority(model.routes).map((route) => (
                <RouteDetail key={route.position} route={route} onTry={() => setTried(route.position)} />
              ))}
            </>
          )}
        </Loaded>
      </Drawer>
      {model === undefined || tried === undefined ? null : (
        <TryModel model={model} route={tried} onClose={() => setTried(undefined)} />
      )}
    </>
  );
}

import { useState } from 'react';
import { Drawer } from '../../ui/dialog.tsx';
import { Failed, Waiting } from '../../ui/states.tsx';
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
      <Drawer title={`Model ${id}`} open onClose={onClose}>
        {model === undefined ? (
          query.error === null ? (
            <Waiting for="the model" />
          ) : (
            <Failed error={query.error} again={() => void query.refetch()} />
          )
        ) : (
          <>
            <div className="actions">
              <button type="button" className="button primary" onClick={() => setTried('any')}>
                Try this model
              </button>
            </div>
            <dl className="pairs">
              <div>
                <dt>Id</dt>
                <dd>
                  <Id of={model.model_key} short={false} />
                </dd>
              </div>
              <div>
                <dt>State</dt>
                <dd>
                  {model.enabled ? (
                    <Badge tone="good">enabled</Badge>
                  ) : (
                    <Badge tone="plain">disabled: gone from the file</Badge>
                  )}
                </dd>
              </div>
              <div>
                <dt>Known since (UTC)</dt>
                <dd>
                  <Time at={model.created_at} />
                </dd>
              </div>
              <div>
                <dt>Logged requests, last 24 hours</dt>
                <dd>
                  <Requests day={model.last_day} search={{ model_key: model.model_key }} />
                </dd>
              </div>
              <div>
                <dt>Errors among them</dt>
                <dd>
                  <Errors day={model.last_day} />
                </dd>
              </div>
            </dl>
            <h3>
              {model.routes.length === 1
                ? 'Its route'
                : `Its ${model.routes.length} routes, as a request takes them`}
            </h3>
            {byPriority(model.routes).map((route) => (
              <RouteDetail key={route.position} route={route} onTry={() => setTried(route.position)} />
            ))}
          </>
        )}
      </Drawer>
      {model === undefined || tried === undefined ? null : (
        <TryModel model={model} route={tried} onClose={() => setTried(undefined)} />
      )}
    </>
  );
}

import { Link } from '@tanstack/react-router';
import { Pair } from '../../ui/pair.tsx';
import { Badge, Money } from '../../ui/values.tsx';
import { capabilitiesOf, type Route } from './models.ts';

const yesNo = (is: boolean) => <Badge tone={is ? 'good' : 'plain'}>{is ? 'yes' : 'no'}</Badge>;

/** A route of a model: its destination, its price, and what it can do. */
export const RouteDetail = ({ route, onTry }: { readonly route: Route; readonly onTry: () => void }) => (
  <section className="route stack" aria-label={`Route ${route.position}`}>
    <header className="row">
      <h3>
        {route.provider_key} → {route.upstream_model}
      </h3>
      <RouteState route={route} />
      <span className="spring" />
      <button
        type="button"
        className="button"
        aria-label={`Try it: route ${route.position}, ${route.provider_key} to ${route.upstream_model}`}
        onClick={onTry}
      >
        Try it
      </button>
    </header>
    <dl className="pairs">
      <Pair name="Priority">
        {route.priority} <span className="muted">(number {route.position} in the file)</span>
      </Pair>
      <Pair name="Provider">
        <Link to="/models" search={{ view: 'providers' }}>
          {route.provider_key}
        </Link>{' '}
        <span className="muted">{route.provider_kind}</span>
      </Pair>
      <Pair name="Price per million tokens">
        {route.price === null ? (
          <>
            <Badge tone="warn">unpriced</Badge> {route.unpriced_reason?.replaceAll('_', ' ')}
          </>
        ) : (
          <>
            <Money usd={route.price.input_usd_per_million} /> in,{' '}
            <Money usd={route.price.output_usd_per_million} /> out{' '}
            <span className="muted">({route.price.source})</span>
          </>
        )}
      </Pair>
    </dl>
    <div
      className="table-scroll fit"
      tabIndex={0}
      role="region"
      aria-label={`Capabilities of route ${route.position}, scrolls`}
    >
      <table>
        <caption className="unseen">Capabilities of route {route.position}</caption>
        <thead>
          <tr>
            <th scope="col">Capability</th>
            <th scope="col">In the file</th>
            <th scope="col">Effective</th>
            <th scope="col">Why not</th>
          </tr>
        </thead>
        <tbody>
          {capabilitiesOf(route).map(({ name, title, configured, effective, reason }) => (
            <tr key={name}>
              <th scope="row">{title}</th>
              <td>{yesNo(configured)}</td>
              <td>{yesNo(effective)}</td>
              <td className="wrap">{reason}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
    <details>
      <summary>Compatibility, as in the file</summary>
      <pre tabIndex={0} aria-label={`Compatibility of route ${route.position}`}>
        {JSON.stringify(route.compatibility, null, 2)}
      </pre>
    </details>
  </section>
);

function RouteState({ route }: { readonly route: Route }) {
  if (!route.enabled) return <Badge tone="plain">disabled</Badge>;
  if (!route.provider_enabled) return <Badge tone="plain">provider disabled</Badge>;
  return capabilitiesOf(route).some(({ effective }) => effective) ? (
    <Badge tone="good">enabled</Badge>
  ) : (
    <Badge tone="warn">enabled, without any capability</Badge>
  );
}

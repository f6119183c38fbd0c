/** OverviewTab: what most visits want to know of an object. */
import type { KubeObject } from '../../../../../components/machinery/objects/object.ts'
import { age } from '../../../app/time.ts'
import { useNow } from '../../../parts/use-now.ts'
import { Conditions } from './conditions.tsx'
import { containersOf } from './containers.ts'
import { ObjectEvents } from './events.tsx'

function Pairs({
  title,
  pairs,
}: {
  readonly title: string
  readonly pairs: Readonly<Record<string, string>> | undefined
}) {
  const entries = Object.entries(pairs ?? {})
  if (entries.length === 0) return null
  return (
    <>
      <dt>{title}</dt>
      <dd>
        <ul class="pairs">
          {entries.map(([key, value]) => (
            <li key={key}>
              <span class="field-name">{key}</span> {value}
            </li>
          ))}
        </ul>
      </dd>
    </>
  )
}

function Containers({ object }: { readonly object: KubeObject }) {
  const containers = containersOf(object)
  return (
    <section>
      <h2>Containers</h2>
      <div class="scroll" role="region" aria-label="Containers" tabIndex={0}>
        <table class="plain">
          <thead>
            <tr>
              <th scope="col">Name</th>
              <th scope="col">State</th>
              <th scope="col">Ready</th>
              <th scope="col">Restarts</th>
              <th scope="col">Image</th>
              <th scope="col">Message</th>
            </tr>
          </thead>
          <tbody>
            {containers.map(({ name, is, state, isReady, restarts, image, message }) => (
              <tr key={`${is} ${name}`}>
                <td>
                  {name} {is !== 'container' && <span class="chip">{is}</span>}
                </td>
                <td class={isReady || state.includes('Completed') ? 'tone-good' : 'tone-warn'}>
                  {state}
                </td>
                <td>{isReady ? 'yes' : 'no'}</td>
                <td class="number">{restarts}</td>
                <td>{image}</td>
                <td class="wrap">{message}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  )
}

function Facts({ object, nowMs }: { readonly object: KubeObject; readonly nowMs: number }) {
  const { metadata } = object
  const {
    uid,
    creationTimestamp,
    deletionTimestamp,
    finalizers = [],
    labels,
    annotations,
  } = metadata
  return (
    <dl class="facts">
      {creationTimestamp && (
        <>
          <dt>Created</dt>
          <dd>
            {age(Date.parse(creationTimestamp), nowMs)} ago, {creationTimestamp}
          </dd>
        </>
      )}
      {deletionTimestamp !== undefined && (
        <>
          <dt>Being deleted</dt>
          <dd class="tone-warn">
            since {deletionTimestamp}
            {finalizers.length > 0 && `; waits for ${finalizers.join(', ')}`}
          </dd>
        </>
      )}
      <dt>UID</dt>
      <dd>
        <code>{uid}</code>
      </dd>
      <Pairs title="Labels" pairs={labels} />
      <Pairs title="Annotations" pairs={annotations} />
    </dl>
  )
}

export interface OverviewTabProps {
  readonly object: KubeObject
  readonly isPod: boolean
}

export function OverviewTab({ object, isPod }: OverviewTabProps) {
  const nowMs = useNow()
  return (
    <>
      <Facts object={object} nowMs={nowMs} />
      {isPod && <Containers object={object} />}
      <Conditions object={object} nowMs={nowMs} />
      <ObjectEvents object={object} nowMs={nowMs} />
    </>
  )
}

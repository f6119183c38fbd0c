/** Credentials: bootstrap tokens and issued certificates, with the time they have left. */
import type { JoinFacts } from '../../../protocol/lab.ts'
import { age } from '../../app/time.ts'

function Left({ untilMs, nowMs }: { readonly untilMs: number; readonly nowMs: number }) {
  if (untilMs <= nowMs) return <span class="tone-bad">expired</span>
  return <span>{age(nowMs, untilMs)} left</span>
}

interface CredentialsProps {
  readonly facts: JoinFacts
  readonly nowMs: number
}

function Tokens({ facts, nowMs }: CredentialsProps) {
  return (
    <section class="panel" aria-labelledby="tokens">
      <h2 id="tokens">Bootstrap tokens</h2>
      {facts.tokens.length === 0 && facts.notRead.length === 0 && (
        <p class="empty">None: skiff token create makes one.</p>
      )}
      <ul class="plain">
        {facts.tokens.map(({ id, usages, description, expiresMs }) => (
          <li key={id}>
            <code>{id}</code> <span class="dim">{usages.join(', ')}</span>{' '}
            {expiresMs === undefined ? (
              <span class="tone-warn">never expires</span>
            ) : (
              <Left untilMs={expiresMs} nowMs={nowMs} />
            )}
            <div class="dim">{description}</div>
          </li>
        ))}
      </ul>
    </section>
  )
}

function Certificates({ facts, nowMs }: CredentialsProps) {
  const csrs = facts.csrs.toSorted((one, other) => other.createdMs - one.createdMs)
  return (
    <section class="panel" aria-labelledby="certificates">
      <h2 id="certificates">Certificate requests</h2>
      {csrs.length === 0 && facts.notRead.length === 0 && (
        <p class="empty">None; the cluster deletes old ones.</p>
      )}
      <ul class="plain">
        {csrs.map(({ name, node, user, verdict, hasCertificate, expiresMs }) => (
          <li key={name}>
            <code>{name}</code> {node !== undefined && <strong>{node} </strong>}
            <span class={verdict?.type === 'Approved' ? 'tone-good' : 'tone-warn'}>
              {verdict?.type ?? 'Pending'}
              {verdict?.type === 'Approved' && !hasCertificate ? ', not issued' : ''}
            </span>{' '}
            {expiresMs !== undefined && <Left untilMs={expiresMs} nowMs={nowMs} />}
            <div class="dim">of {user}</div>
          </li>
        ))}
      </ul>
    </section>
  )
}

export function Credentials(props: CredentialsProps) {
  return (
    <div class="side">
      <Tokens {...props} />
      <Certificates {...props} />
      {props.facts.notRead.map((line) => (
        <p key={line} class="empty">
          Not read: {line}
        </p>
      ))}
    </div>
  )
}

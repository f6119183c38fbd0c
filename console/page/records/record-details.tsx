/** RecordDetails: everything that the journal knows of a request. */
import type { RequestRow } from '../../protocol/live.ts'
import { linkTo } from '../app/router.ts'
import { causeText, clockText, keyOf, targetOf, verbOf } from './record-text.ts'

function factsOf(record: RequestRow): [string, string][] {
  const { user, impersonator, userAgent, status, durationMs, authenticator, decision, reason } =
    record
  const { message, revisions, revision, cause, fault, dryRun, id, server } = record
  const { fieldSelector, labelSelector } = record
  const facts: [string, string | undefined][] = [
    ['Request', `${verbOf(record)} ${targetOf(record)}${dryRun === true ? ' (dry run)' : ''}`],
    ['Selector', [fieldSelector, labelSelector].filter(Boolean).join(' ') || undefined],
    ['Answer', `${status} after ${durationMs} ms${message === undefined ? '' : `: ${message}`}`],
    ['Received', clockText(record.atMs)],
    ['User', user === '' ? 'not authenticated' : user],
    ['Impersonated by', impersonator],
    ['Authenticated by', authenticator ?? 'no authenticator'],
    [
      'Authorization',
      decision === undefined
        ? 'not asked'
        : `${decision}${reason === undefined ? '' : `: ${reason}`}`,
    ],
    ['Why', cause === undefined ? undefined : causeText(cause)],
    ['Fault', fault],
    ['Revision', revisions?.join(', ') ?? revision],
    ['User agent', userAgent],
    ['API server', server],
    ['Audit-ID', id],
  ]
  return facts.filter((fact): fact is [string, string] => fact[1] !== undefined)
}

export function RecordDetails({ record }: { readonly record: RequestRow }) {
  const { group, resource, namespace, name } = record
  const place = [
    'objects',
    group === '' ? 'core' : group,
    'v1',
    resource,
    namespace === '' ? '-' : namespace,
    name,
  ]
  return (
    <>
      <dl class="facts">
        {factsOf(record).map(([label, text]) => (
          <>
            <dt>{label}</dt>
            <dd>{text}</dd>
          </>
        ))}
      </dl>
      {resource !== '' && name !== '' && (
        <p class="links">
          <a href={linkTo(place)} aria-label={`Object ${keyOf(record)}`}>
            Object
          </a>
        </p>
      )}
    </>
  )
}

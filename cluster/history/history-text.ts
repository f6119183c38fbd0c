/** history-text: the history of an object for people: a paragraph for each revision. */
import type { RequestCause } from '../../components/api/request-record.ts'
import type { ObjectHistory, ObjectRevision } from './object-history.ts'

/** `kubectl/v1.35.0` of `kubectl/v1.35.0 (linux/amd64) kubernetes/66452049`. */
const shortAgent = (userAgent: string): string => userAgent.split(' ', 1)[0] ?? ''

function causeText(cause: RequestCause): string {
  if (cause.kind === 'start') return 'it had just started'
  if (cause.kind === 'timer') return `timer: ${cause.what}`
  return `it saw ${cause.what} ${cause.key ?? ''} at revision ${cause.revision ?? ''}`
}

function byText({ author, managers }: ObjectRevision): string | undefined {
  const manager = managers.length === 0 ? [] : [`field manager ${managers.join(', ')}`]
  if (author === undefined) return manager[0]
  const { user, impersonator, userAgent } = author
  const acting = impersonator === undefined ? [] : [`impersonated by ${impersonator}`]
  const agent = userAgent === '' ? [] : [shortAgent(userAgent)]
  return [user, ...acting, ...manager, ...agent].join(', ')
}

function howText({ author, type }: ObjectRevision): string {
  const what = type === 'existing' ? 'oldest known state' : type
  if (author === undefined) return what
  const { verb, subresource } = author
  return `${what} by ${subresource === '' ? verb : `${verb} of ${subresource}`}`
}

function paragraph(revision: ObjectRevision, withDiff: boolean): string {
  const { resourceVersion, time, author, fields } = revision
  const by = byText(revision)
  const lines = [
    [resourceVersion, time ?? 'time unknown', howText(revision)].join('  '),
    ...(by === undefined ? [] : [`  by   ${by}`]),
    ...(author?.cause === undefined ? [] : [`  why  ${causeText(author.cause)}`]),
    ...(author?.fault === undefined ? [] : [`  fault  ${author.fault}`]),
  ]
  if (withDiff) {
    for (const { path, before, after } of fields) lines.push(`  ${path}: ${before} -> ${after}`)
  }
  return lines.map((line) => `${line}\n`).join('')
}

/** `withDiff`: with the fields that each revision changed. */
export function historyText(history: ObjectHistory, withDiff: boolean): string {
  const { kind, name, namespace, since, revisions, noJournal } = history
  const where = namespace === undefined ? '' : ` in namespace ${namespace}`
  const hasSome = revisions.some(({ author }) => author !== undefined)
  const lack = hasSome ? 'Some users and causes are missing' : 'No users and causes'
  const gap = noJournal === undefined ? '' : `${lack}: ${noJournal}.\n`
  const head = `${kind} ${name}${where}, since revision ${since}\n${gap}`
  return [head, ...revisions.map((one) => paragraph(one, withDiff))].join('\n')
}

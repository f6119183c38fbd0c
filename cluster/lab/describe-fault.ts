/** A fault in words: for lists, logs and titles. */
import { formatDuration } from '../../components/component-base/flags.ts'
import type { RequestAction, RequestMatch } from '../../components/component-base/request-fault.ts'
import type { FaultSpec, NetworkFault } from './fault-spec.ts'

function matchText({ verbs, resources, names, namespaces, ...by }: RequestMatch): string {
  const texts = [
    verbs?.join('/') ?? 'requests',
    resources === undefined ? [] : `of ${resources.join('/')}`,
    names === undefined ? [] : `named ${names.join('/')}`,
    namespaces === undefined ? [] : `in ${namespaces.join('/')}`,
    by.users === undefined ? [] : `by ${by.users.join('/')}`,
    by.groups === undefined ? [] : `by group ${by.groups.join('/')}`,
    by.userAgents === undefined ? [] : `from ${by.userAgents.join('/')}`,
  ]
  return texts.flat().join(' ')
}

function watchText(watch: NonNullable<RequestAction['watch']>): string {
  if ('events' in watch) return `watch events ${watch.events}`
  if ('delayMs' in watch) return `watch events ${formatDuration(watch.delayMs)} late`
  return 'no bookmarks'
}

function actionText(action: RequestAction): string {
  const { status, delayMs, cut, staleMs, watch, bytesPerSecond } = action
  if (status !== undefined) return String(status.code)
  if (delayMs !== undefined) return `${formatDuration(delayMs)} late`
  if (cut !== undefined) return `cut ${cut}`
  if (staleMs !== undefined) return `state of ${formatDuration(staleMs)} ago`
  if (watch !== undefined) return watchText(watch)
  return `${bytesPerSecond} bytes/s`
}

function networkText({ from, to, direction, action }: NetworkFault): string {
  const way = `${from} ${direction === 'one-way' ? '->' : '<->'} ${to}`
  if (typeof action === 'string') return `${way}: ${action}`
  if ('delayMs' in action) {
    const { delayMs, jitterMs } = action
    const jitter = jitterMs === undefined ? '' : ` +/- ${formatDuration(jitterMs)}`
    return `${way}: ${formatDuration(delayMs)} late${jitter}`
  }
  return 'loss' in action
    ? `${way}: loss ${action.loss}`
    : `${way}: ${action.bytesPerSecond} bytes/s`
}

/** One line without the fault's name and end. */
export function describeFault(spec: FaultSpec): string {
  switch (spec.kind) {
    case 'requests':
      return `${matchText(spec.fault.match)}: ${actionText(spec.fault.action)}`
    case 'store':
      if ('full' in spec.fault) return 'store: full'
      return 'fail' in spec.fault
        ? 'store: writes fail'
        : `store: ${formatDuration(spec.fault.delayMs)} late`
    case 'network':
      return networkText(spec.fault)
    case 'process':
      return `${spec.fault.part}: ${spec.fault.action}`
    case 'clock': {
      const { part, aheadMs } = spec.fault
      const text = formatDuration(Math.abs(aheadMs))
      return `clock of ${part}: ${text} ${aheadMs < 0 ? 'behind' : 'ahead'}`
    }
    case 'certificate':
      return `certificate of ${spec.fault.part}: ${spec.fault.is}`
    case 'node':
      return `${spec.fault.node}: ${spec.fault.is}`
  }
}

/** How often a fault has fired. */
export function firedText(fired: number): string {
  if (fired === 0) return 'never fired: nothing matched'
  return fired === 1 ? 'fired once' : `fired ${fired} times`
}

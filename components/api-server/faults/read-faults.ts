/** read-faults: the parameters of the command `faults`, checked. */
import type {
  ObeyedFaults,
  RequestAction,
  RequestFault,
  RequestMatch,
  StoreFault,
} from '../../component-base/request-fault.ts'
import {
  InvalidFaultError,
  oneFieldOf,
  readFields,
  readInteger,
  readList,
  readOneOf,
  readText,
  refuse,
  type Fields,
} from './fault-reader.ts'
import { writeVerbs } from './request-matcher.ts'

const mostFaults = 100
const delays = { least: 0, most: 24 * 60 * 60 * 1000 }
const counts = { least: 1, most: 1_000_000_000 }
const rates = { least: 1, most: 1_000_000_000 }
const seconds = { least: 0, most: 24 * 60 * 60 }

const verbs: readonly string[] = [
  'get',
  'list',
  'watch',
  'write',
  'proxy',
  'post',
  'put',
  'head',
  'options',
  '*',
].concat(writeVerbs)
const matchFields = 'users groups verbs resources namespaces names userAgents'.split(' ')
const actions = ['status', 'delayMs', 'cut', 'staleMs', 'watch', 'bytesPerSecond']
const watchActions = ['events', 'delayMs', 'bookmarks']
const storeActions = ['full', 'delayMs', 'fail']

function readMatch(value: unknown, path: string): RequestMatch {
  const fields = readFields(value, path, matchFields)
  const match: Record<string, string[]> = {}
  for (const name of matchFields) {
    if (fields[name] === undefined) continue
    const at = `${path}.${name}`
    const list = readList(fields[name], at, (item, place) =>
      name === 'verbs' ? readOneOf(item, place, verbs) : readText(item, place),
    )
    if (list.length === 0)
      throw new InvalidFaultError(`${at}: is empty, so nothing matches: leave it out to match all`)
    match[name] = list
  }
  return match
}

function readStatus(value: unknown, path: string): NonNullable<RequestAction['status']> {
  const { code, retryAfterSeconds } = readFields(value, path, ['code', 'retryAfterSeconds'])
  const status = { code: readOneOf(code, `${path}.code`, [409, 410, 429, 500, 503, 504] as const) }
  if (retryAfterSeconds === undefined) return status
  const after = readInteger(retryAfterSeconds, `${path}.retryAfterSeconds`, seconds)
  return { ...status, retryAfterSeconds: after }
}

function readWatch(value: unknown, path: string): NonNullable<RequestAction['watch']> {
  const fields = readFields(value, path, watchActions)
  switch (oneFieldOf(fields, path, watchActions)) {
    case 'events': {
      const kinds = ['drop', 'expire', 'end', 'repeat'] as const
      return { events: readOneOf(fields['events'], `${path}.events`, kinds) }
    }
    case 'delayMs':
      return { delayMs: readInteger(fields['delayMs'], `${path}.delayMs`, delays) }
    default:
      return { bookmarks: readOneOf(fields['bookmarks'], `${path}.bookmarks`, ['withhold']) }
  }
}

function readAction(value: unknown, path: string): RequestAction {
  const fields = readFields(value, path, actions)
  const name = oneFieldOf(fields, path, actions)
  const at = `${path}.${name}`
  switch (name) {
    case 'status':
      return { status: readStatus(fields['status'], at) }
    case 'cut':
      return { cut: readOneOf(fields['cut'], at, ['before', 'during', 'after'] as const) }
    case 'watch':
      return { watch: readWatch(fields['watch'], at) }
    case 'bytesPerSecond':
      return { bytesPerSecond: readInteger(fields['bytesPerSecond'], at, rates) }
    case 'staleMs':
      return { staleMs: readInteger(fields['staleMs'], at, delays) }
    default:
      return { delayMs: readInteger(fields['delayMs'], at, delays) }
  }
}

/** What requests an action can happen to; undefined: any. */
function verbsOf({ watch, staleMs }: RequestAction): readonly string[] | undefined {
  if (watch !== undefined) return ['watch']
  return staleMs === undefined ? undefined : ['get', 'list', 'watch']
}

function refuseVerbs(match: RequestMatch, action: RequestAction, path: string): void {
  const able = verbsOf(action)
  if (able === undefined || match.verbs === undefined) return
  if (match.verbs.some((verb) => verb === '*' || able.includes(verb))) return
  const [name = ''] = Object.keys(action)
  refuse(`${path}.match.verbs`, match.verbs, `${name} happens to ${able.join(', ')} only`)
}

const commonFields = ['id', 'action', 'times', 'chance', 'seed']

function readCommon(fields: Fields, path: string): Pick<RequestFault, 'id' | 'times' | 'chance'> {
  const { times, chance, seed } = fields
  if (chance !== undefined && !(typeof chance === 'number' && chance >= 0 && chance <= 1))
    refuse(`${path}.chance`, chance, 'it must be a number from 0 to 1')
  return {
    id: readText(fields['id'], `${path}.id`),
    ...(times === undefined ? {} : { times: readInteger(times, `${path}.times`, counts) }),
    ...(chance === undefined ? {} : { chance: chance as number }),
    ...(seed === undefined
      ? {}
      : { seed: readInteger(seed, `${path}.seed`, { least: 0, most: 2 ** 32 - 1 }) }),
  }
}

function readRequestFault(value: unknown, path: string): RequestFault {
  const fields = readFields(value, path, [...commonFields, 'match'])
  const match = readMatch(fields['match'] ?? {}, `${path}.match`)
  const action = readAction(fields['action'], `${path}.action`)
  refuseVerbs(match, action, path)
  return { ...readCommon(fields, path), match, action }
}

function readStoreFault(value: unknown, path: string): StoreFault {
  const fields = readFields(value, path, commonFields)
  const at = `${path}.action`
  const action = readFields(fields['action'], at, storeActions)
  const name = oneFieldOf(action, at, storeActions)
  const common = readCommon(fields, path)
  if (name === 'delayMs')
    return { ...common, action: { delayMs: readInteger(action[name], `${at}.${name}`, delays) } }
  readOneOf(action[name], `${at}.${name}`, [true])
  return { ...common, action: name === 'full' ? { full: true } : { fail: true } }
}

/** Throws an InvalidFaultError for what is invalid. Whoever has the faults obeyed has made sure that none contradicts another. */
export function readFaults(params: unknown): ObeyedFaults {
  const fields = readFields(params, 'faults', ['requests', 'store'])
  const requests = readList(fields['requests'] ?? [], 'requests', readRequestFault)
  const store = readList(fields['store'] ?? [], 'store', readStoreFault)
  const all = [...requests, ...store]
  if (all.length > mostFaults)
    throw new InvalidFaultError(
      `${all.length} faults are too many: at most ${mostFaults} are allowed`,
    )
  const ids = new Set<string>()
  for (const { id } of all) {
    if (ids.has(id)) throw new InvalidFaultError(`two faults have the id ${JSON.stringify(id)}`)
    ids.add(id)
  }
  return { requests, store }
}

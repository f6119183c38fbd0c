/** The shapes of faults as users declare them, for checks and for the JSON Schema of scenario files. */
import type { FaultKind, FaultKinds } from './fault-spec.ts'
import {
  anything,
  choice,
  described,
  integer,
  object,
  oneOrMore,
  optional,
  string,
} from '../shape.ts'
import type { Shape } from '../shape.ts'

/** A number that `test` accepts. */
function number(what: string, keywords: object, test: (value: number) => boolean): Shape<number> {
  return {
    what,
    schema: { type: 'number', ...keywords },
    check: (value, path, issues) => {
      if (typeof value !== 'number' || !test(value)) {
        const text = typeof value === 'number' ? String(value) : JSON.stringify(value)
        issues.push({ path, message: `must be ${what}, not ${text}` })
      }
      return value as number
    },
  }
}

const positive = number(
  'a number of milliseconds above 0',
  { exclusiveMinimum: 0 },
  (value) => value > 0 && Number.isFinite(value),
)
export const weightNumber = number(
  'a number above 0',
  { exclusiveMinimum: 0 },
  (value) => value > 0 && Number.isFinite(value),
)
const portion = number(
  'a number above 0 and at most 1',
  { exclusiveMinimum: 0, maximum: 1 },
  (value) => value > 0 && value <= 1,
)
const rate = number(
  'a number of bytes per second from 1 on',
  { minimum: 1 },
  (value) => value >= 1 && Number.isFinite(value),
)
const times = number(
  'a whole number from 1 on',
  { minimum: 1, multipleOf: 1 },
  (value) => Number.isInteger(value) && value >= 1,
)
const offset = number(
  'a number of milliseconds other than 0',
  {},
  (value) => value !== 0 && Number.isFinite(value),
)

/** A mapping with exactly one of these fields. */
function oneField<T>(shape: Shape<T>): Shape<T> {
  const names = Object.keys(shape.fields ?? {})
  return {
    ...shape,
    schema: { ...shape.schema, minProperties: 1, maxProperties: 1 },
    check: (value, path, issues) => {
      const before = issues.length
      const checked = shape.check(value, path, issues)
      const given = Object.keys(checked as object)
      if (issues.length === before && given.length !== 1) {
        const found = given.length === 0 ? 'nothing' : given.join(' and ')
        issues.push({ path, message: `must have one of ${names.join(', ')}, not ${found}` })
      }
      return checked
    },
  }
}

const texts = optional(oneOrMore(string))
const requestVerbs = [
  'get',
  'list',
  'watch',
  'create',
  'update',
  'patch',
  'delete',
  'deletecollection',
] as const
export const requestMatch = object({
  users: described('User names; * stands for any text, here and below.', texts),
  groups: described('Groups of the user.', texts),
  verbs: described(
    'As in RBAC; write stands for all that change something.',
    optional(oneOrMore(choice(...requestVerbs, 'write', '*'))),
  ),
  resources: described('Such as pods, deployments.apps or pods/status.', texts),
  namespaces: texts,
  names: described('Names of objects.', texts),
  userAgents: described('The User-Agent header.', texts),
})

const codes = [409, 410, 429, 500, 503, 504] as const
const statusCode: Shape<(typeof codes)[number]> = {
  what: `one of ${codes.join(', ')}`,
  schema: { enum: codes },
  check: (value, path, issues) => {
    if (!(codes as readonly unknown[]).includes(value)) {
      const message = `must be one of ${codes.join(', ')}, not ${JSON.stringify(value)}`
      issues.push({ path, message })
    }
    return value as (typeof codes)[number]
  },
}

export const requestAction = oneField(
  object({
    status: described(
      'Requests get this status without being handled.',
      optional(object({ code: statusCode, retryAfterSeconds: optional(integer) })),
    ),
    delayMs: described('Requests are handled this much later.', optional(positive)),
    cut: described(
      'The connection ends before anything is done, in the middle of the answer, or after the work and before the answer.',
      optional(choice('before', 'during', 'after')),
    ),
    staleMs: described('Gets and lists show the state of this long ago.', optional(positive)),
    watch: described(
      'What becomes of watches.',
      optional(
        oneField(
          object({
            events: optional(choice('drop', 'expire', 'end', 'repeat')),
            delayMs: optional(positive),
            bookmarks: optional(choice('withhold')),
          }),
        ),
      ),
    ),
    bytesPerSecond: described('Answers are written this slowly.', optional(rate)),
  }),
)

/** Only `true` is a value. */
const yes: Shape<true> = {
  what: 'true',
  schema: { const: true },
  check: (value, path, issues) => {
    if (value !== true) issues.push({ path, message: `must be true, not ${JSON.stringify(value)}` })
    return true
  },
}

const networkActions = ['cut', 'half-open'] as const
const measuredNetworkAction = object({
  delayMs: optional(positive),
  jitterMs: optional(positive),
  loss: optional(portion),
  bytesPerSecond: optional(rate),
})
const networkAction: Shape<FaultKinds['network']['action']> = {
  what: 'cut, half-open, or a mapping with delayMs, loss or bytesPerSecond',
  schema: { anyOf: [{ enum: networkActions }, measuredNetworkAction.schema] },
  check: (value, path, issues) => {
    if (typeof value !== 'object' || value === null) {
      const known = networkActions.find((one) => one === value)
      if (known === undefined) {
        const message = `must be ${networkAction.what}, not ${JSON.stringify(value)}`
        issues.push({ path, message })
      }
      return known ?? 'cut'
    }
    const action = measuredNetworkAction.check(value, path, issues)
    const given = Object.keys(action).filter((name) => name !== 'jitterMs')
    if (given.length !== 1) {
      const found = given.length === 0 ? 'none' : given.join(' and ')
      issues.push({ path, message: `must have one of delayMs, loss, bytesPerSecond, not ${found}` })
    }
    if (action.jitterMs !== undefined && action.delayMs === undefined)
      issues.push({ path: [...path, 'jitterMs'], message: 'goes with delayMs only' })
    return action as FaultKinds['network']['action']
  },
}

const part = described('A component or a node.', string)

/** What each kind of fault has in its field `fault`. */
export const faultShapes: { readonly [K in FaultKind]: Shape<FaultKinds[K]> } = {
  requests: object({ match: requestMatch, action: requestAction }) as Shape<FaultKinds['requests']>,
  store: oneField(
    object({ full: optional(yes), delayMs: optional(positive), fail: optional(yes) }),
  ) as Shape<FaultKinds['store']>,
  network: object({
    from: part,
    to: part,
    direction: optional(choice('one-way', 'both')),
    action: networkAction,
  }),
  process: object({ part, action: choice('kill', 'freeze', 'starve', 'lose-lease') }),
  clock: object({ part, aheadMs: described('Negative: behind.', offset) }),
  certificate: object({ part, is: choice('expired', 'not-yet-valid', 'of-another-authority') }),
  node: object({
    node: string,
    is: choice(
      'memory-pressure',
      'disk-pressure',
      'pid-pressure',
      'runtime-down',
      'rebooted',
      'disk-lost',
    ),
  }),
}

export const faultKinds = Object.keys(faultShapes) as FaultKind[]

/** What every fault has. */
export const faultFields = {
  name: described('In messages, and to heal it.', optional(string)),
  kind: choice(...faultKinds),
  times: described('It ends after it has fired this often.', optional(times)),
  forMs: described("It ends after this time of the cluster's clock.", optional(positive)),
  chance: described('The part of matching requests that it fires for.', optional(portion)),
  seed: described('Which these are.', optional(integer)),
  fault: anything,
}

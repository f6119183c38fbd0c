/** The flags of `skiff fault add`, and the fault that they declare. */
import { defineFlags, flag } from '../../components/component-base/flags.ts'
import type { FlagValues } from '../../components/component-base/flags.ts'
import { ClusterError } from '../cluster-error.ts'
import { checkFault } from '../lab/check-fault.ts'
import { faultKinds } from '../lab/fault-shape.ts'
import type { FaultKind, FaultSpec } from '../lab/fault-spec.ts'
import { nearestName } from '../../components/component-base/flags.ts'

/** Of every kind. */
const endFlags = defineFlags({
  as: flag.string('Name of the fault; by default its kind and a number.'),
  times: flag.int('requests, store, network: it ends after it has fired this often.'),
  for: flag.duration("It ends after this time of the cluster's clock."),
})

/** Which requests, or which part. */
const whereFlags = defineFlags({
  user: flag.list('requests: names of users; * stands for any text, here and below.', []),
  group: flag.list('requests: groups of the user.', []),
  verb: flag.list('requests: verbs as in RBAC; write stands for all that change something.', []),
  resource: flag.list('requests: such as pods, deployments.apps or pods/status.', []),
  namespace: flag.list('requests: namespaces.', []),
  object: flag.list('requests: names of objects.', []),
  'user-agent': flag.list('requests: User-Agent headers.', []),
  chance: flag.float('requests, store: the part of them that it fires for, such as 0.1.'),
  seed: flag.int('requests, store: which these are.'),
  from: flag.string('network: the part whose messages it concerns.'),
  to: flag.string('network: the part that they go to.'),
  part: flag.string('process, clock, certificate: a component or a node.'),
  node: flag.string('node: the node.'),
})

/** What happens. */
const actionFlags = defineFlags({
  status: flag.int('requests: they get this status: 409, 410, 429, 500, 503 or 504.'),
  'retry-after': flag.int('requests: the Retry-After of that status, in seconds.'),
  delay: flag.duration('requests, store, network: how much later.'),
  cut: flag.string(
    'requests: when their connection ends: before, during or after. network: one-way or both.',
  ),
  stale: flag.duration('requests: gets and lists show the state of this long ago.'),
  watch: flag.string('requests: events of watches: drop, expire, end or repeat.'),
  'watch-delay': flag.duration('requests: events of watches come this much later.'),
  'no-bookmarks': flag.bool('requests: watches get no bookmarks.', false),
  rate: flag.int('requests, network: bytes per second.'),
  full: flag.bool('store: it has no space left.', false),
  fail: flag.bool('store: writes fail.', false),
  'half-open': flag.bool('network: connections stay open and carry nothing.', false),
  jitter: flag.duration('network: how much the delay varies.'),
  loss: flag.float('network: the part of packets that are lost, such as 0.05.'),
  'one-way': flag.bool('network: only from --from to --to.', false),
  action: flag.string('process: kill, freeze, starve or lose-lease.'),
  ahead: flag.duration('clock: how far it is ahead; negative: behind.'),
  is: flag.string(
    'certificate: expired, not-yet-valid or of-another-authority. node: memory-pressure, disk-pressure, pid-pressure, runtime-down, rebooted or disk-lost.',
  ),
})

export const faultFlags = defineFlags({ ...endFlags, ...whereFlags, ...actionFlags })

type Given = FlagValues<typeof faultFlags>
type Name = keyof Given

const ofKind: Readonly<Record<FaultKind, readonly Name[]>> = {
  requests: [
    ...(['user', 'group', 'verb', 'resource', 'namespace', 'object', 'user-agent'] as const),
    ...(['chance', 'seed', 'status', 'retry-after', 'delay', 'cut', 'stale', 'watch'] as const),
    ...(['watch-delay', 'no-bookmarks', 'rate'] as const),
  ],
  store: ['chance', 'seed', 'full', 'delay', 'fail'],
  network: ['from', 'to', 'one-way', 'cut', 'half-open', 'delay', 'jitter', 'loss', 'rate'],
  process: ['part', 'action'],
  clock: ['part', 'ahead'],
  certificate: ['part', 'is'],
  node: ['node', 'is'],
}

function isGiven(value: Given[Name]): boolean {
  return value !== undefined && value !== false && !(Array.isArray(value) && value.length === 0)
}

/** Only the fields that were given. */
function fields(of: Readonly<Record<string, Given[Name] | object>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(of).filter(([, value]) => isGiven(value as Given[Name])))
}

const wrapped = (value: Record<string, unknown>): object | undefined =>
  Object.keys(value).length === 0 ? undefined : value

function requestsOf(given: Given): object {
  const match = fields({
    users: given.user,
    groups: given.group,
    verbs: given.verb,
    resources: given.resource,
    namespaces: given.namespace,
    names: given.object,
    userAgents: given['user-agent'],
  })
  const status = fields({ code: given.status, retryAfterSeconds: given['retry-after'] })
  const watch = fields({
    events: given.watch,
    delayMs: given['watch-delay'],
    bookmarks: given['no-bookmarks'] ? 'withhold' : undefined,
  })
  const action = fields({
    status: wrapped(status) as object,
    delayMs: given.delay,
    cut: given.cut,
    staleMs: given.stale,
    watch: wrapped(watch) as object,
    bytesPerSecond: given.rate,
  })
  return { match, action }
}

function networkOf(given: Given): object {
  const { cut } = given
  if (cut !== undefined && cut !== 'one-way' && cut !== 'both')
    throw usage(`--cut of the network is one-way or both, not "${cut}"`)
  const measured = fields({
    delayMs: given.delay,
    jitterMs: given.jitter,
    loss: given.loss,
    bytesPerSecond: given.rate,
  })
  const named = [cut === undefined ? [] : ['cut'], given['half-open'] ? ['half-open'] : []].flat()
  if (named.length + (wrapped(measured) === undefined ? 0 : 1) > 1)
    throw usage(
      'one fault of the network does one thing: give one of --cut, --half-open, --delay, --loss, --rate',
    )
  const isOneWay = given['one-way'] || cut === 'one-way'
  return {
    ...fields({ from: given.from, to: given.to }),
    ...(isOneWay ? { direction: 'one-way' } : {}),
    action: named[0] ?? measured,
  }
}

function faultOf(kind: FaultKind, given: Given): object {
  switch (kind) {
    case 'requests':
      return requestsOf(given)
    case 'store':
      return fields({ full: given.full, delayMs: given.delay, fail: given.fail })
    case 'network':
      return networkOf(given)
    case 'process':
      return fields({ part: given.part, action: given.action })
    case 'clock':
      return fields({ part: given.part, aheadMs: given.ahead })
    case 'certificate':
      return fields({ part: given.part, is: given.is })
    case 'node':
      return fields({ node: given.node, is: given.is })
  }
}

function usage(message: string): ClusterError {
  return new ClusterError('usage', message, { hint: 'see: skiff fault add --help' })
}

/** The flags of a fault that were given. */
export function givenFaultFlags(given: Given): Name[] {
  return (Object.keys(faultFlags) as Name[]).filter((name) => isGiven(given[name]))
}

/** The fault that the flags declare. Throws a ClusterError of kind `usage`. */
export function faultOfFlags(word: string | undefined, given: Given): FaultSpec {
  if (word === undefined) throw usage(`name the kind of the fault: ${faultKinds.join(', ')}`)
  const kind = faultKinds.find((one) => one === word)
  if (kind === undefined) {
    const nearest = nearestName(word, faultKinds)
    const hint =
      nearest === undefined ? `kinds: ${faultKinds.join(', ')}` : `did you mean ${nearest}?`
    throw new ClusterError('usage', `unknown kind of fault "${word}"`, { hint })
  }
  const mayHave: readonly Name[] = [...(Object.keys(endFlags) as Name[]), ...ofKind[kind]]
  const wrong = givenFaultFlags(given).find((name) => !mayHave.includes(name))
  if (wrong !== undefined) {
    const kinds = faultKinds.filter((one) => ofKind[one].includes(wrong))
    throw usage(`--${wrong} goes with ${kinds.join(', ')}, not with ${kind}`)
  }
  const ends = fields({
    name: given.as,
    times: given.times,
    forMs: given.for,
    chance: given.chance,
    seed: given.seed,
  })
  return checkFault({ kind, ...ends, fault: faultOf(kind, given) }, 'the flags')
}
